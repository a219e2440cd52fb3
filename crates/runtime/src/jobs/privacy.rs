//! Turns of which nothing may be kept.

use longhaul_core::event::{HookEvent, SubagentStart, UserPromptSubmit};
use longhaul_core::guard::{in_subagent, is_task_notification};

use crate::private_turns::{self, PrivateTurns};
use crate::{Error, Flow, Hook};

/// Notes whether the prompt begins a private turn.
///
/// Before any other job hears of it: tools may run while they still write. A public word in the middle of a private turn
/// has that turn's id, and does not make it public; a private word in the middle of a public one makes the rest private.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let (common, prompt) = (&hook.event.common, &hook.event.prompt);
    if in_subagent(common) {
        return Ok(Flow::Next);
    }
    let known = PrivateTurns::load(&hook.home, &common.session);
    let is_private = if is_task_notification(prompt) {
        // What a private turn's subagent brings back is as private as the turn.
        known.are_named_in(prompt)
    } else {
        !prompt.trim().is_empty() && hook.keeper().clean(prompt).trim().is_empty()
    };
    if is_private {
        private_turns::begin(&hook.home, &common.session, common.prompt_id.as_deref())?;
    } else if known.is_running() && !(common.prompt_id.is_some() && known.include(common)) {
        private_turns::end(&hook.home, &common.session)?;
    }
    Ok(Flow::Next)
}

/// Notes that a subagent runs in a private turn: it may outlive it.
pub fn on_subagent_start(hook: &mut Hook<SubagentStart>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    if let Some(agent) = common.agent_id.as_deref().filter(|_| hook.is_private()) {
        private_turns::add_agent(&hook.home, &common.session, agent)?;
    }
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns whether nothing of this event's turn may be kept.
    pub(crate) fn is_private(&self) -> bool {
        let common = self.event.common();
        PrivateTurns::load(&self.home, &common.session).include(common)
    }
}
