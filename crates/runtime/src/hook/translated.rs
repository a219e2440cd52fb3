//! A hook for an agent whose payload was translated to Claude Code's.

use longhaul_core::event::HookEvent;
use longhaul_core::reply;

use super::{Client, Hook, JobFn, answer};
use crate::agent_call::AgentCall;
use crate::files;

impl<E: HookEvent<'static>> Hook<E> {
    /// Runs `jobs` for a payload that was read and translated already, prints the answer, and then runs `afterwards`.
    pub(crate) fn run_translated(call: AgentCall, jobs: &[JobFn<E>], afterwards: &[JobFn<E>]) {
        let held_back = call.take_held_back();
        let event = Self::event_of(call.payload.to_claude(), Client::Agent).transpose();
        let hook = event.and_then(|event| Self::assemble(event, call.env, &call.log, call.deadline, Vec::new()));
        let Some(mut hook) = hook else { return answer(reply::PLAIN) };
        if let Some(text) = held_back {
            hook.show(&text);
        }
        hook.work(jobs);
        let output = hook.reply.hook_specific_output.take();
        if let Some(mut output) = output {
            if call.payload.is_not_shown() {
                let text = output.additional_context.unwrap_or_default();
                if let Err(error) = files::replace(&call.held_back, text.as_bytes()) {
                    hook.write_error(&error);
                }
            } else {
                // The agent expects its own name of the event.
                output.hook_event_name = call.payload.theirs();
                hook.reply.hook_specific_output = Some(output);
            }
        }
        answer(&hook.reply.to_json());
        hook.work(afterwards);
        // As for Claude Code: the process ends here.
        std::mem::forget(hook);
    }
}
