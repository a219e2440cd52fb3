//! Turns that run by themselves, and what becomes of `/clear`.
//!
//! A prompt plays the next of the queued replies: tools return, the reply comes, Stop fires. Where a Stop hook blocks, the
//! turn goes on with the reply after that. Without a queued reply the turn waits for `StandIn::stop`, as ever.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Options, StandIn, Submission};
use crate::poll::{DEADLINE, wait_for, wait_until};

/// What the model does next: tools, then words.
#[derive(Debug, Clone)]
pub(crate) struct Reply(Value);

impl Reply {
    /// Says `text`. `{{nonce}}` in it is what followed `nonce: ` in the newest block's reason.
    pub(crate) fn new(text: &str) -> Self {
        Self(json!({ "text": text }))
    }

    /// Fails in place of a reply: StopFailure fires with `error` (`rate_limit`).
    pub(crate) fn failure(error: &str) -> Self {
        Self(json!({ "error": error }))
    }

    /// Has `n` tools return before.
    pub(crate) fn after_tools(mut self, n: usize) -> Self {
        self.0["tools"] = json!(n);
        self
    }

    /// Reports `tokens` of context for this reply only.
    pub(crate) fn using(mut self, tokens: u64) -> Self {
        self.0["tokens"] = json!(tokens);
        self
    }

    /// Puts the members of `payload` into Stop's (`background_tasks`, `stop_hook_active`, …).
    pub(crate) fn with_stop(mut self, payload: Value) -> Self {
        self.0["stop"] = payload;
        self
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

/// Who gets to see a text, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The model: `additionalContext`, or plain stdout where the event passes it on.
    AdditionalContext,
    /// The person: `systemMessage`.
    SystemMessage,
    /// The reason of a `decision: block`.
    BlockReason,
    /// The person: `stopReason` of a `continue: false`.
    StopReason,
}

/// A text in a hook's answer that the model or the person got to see.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Shown {
    /// The session whose event it was.
    pub(crate) session_id: String,
    /// The event.
    pub(crate) event: String,
    /// Who sees it.
    pub(crate) kind: Kind,
    /// The text, whole.
    pub(crate) text: String,
}

impl Options {
    /// Keeps a transcript whose replies report `tokens` of context, after `/clear` as before.
    pub(crate) fn usage(self, tokens: u64, model: &str) -> Self {
        self.set_up(usage(tokens, model))
    }

    /// Lets a typed `/clear` happen `delay` late; the screen shows nothing of it meanwhile.
    pub(crate) fn with_clear_delay(self, delay: Duration) -> Self {
        self.set_up(json!({ "do": "clears", "delay_ms": delay.as_millis() as u64 }))
    }

    /// Lets the first `n` typed `/clear`s do nothing, `u32::MAX` for all.
    pub(crate) fn swallowing_clears(self, n: u32) -> Self {
        self.set_up(json!({ "do": "clears", "swallow": n }))
    }

    /// Kills the process, with SIGKILL, as soon as SessionStart has answered after a clear.
    pub(crate) fn killed_after_clear(self) -> Self {
        self.set_up(json!({ "do": "clears", "kill": "after_session_start" }))
    }

    fn set_up(mut self, command: Value) -> Self {
        self.setup.push(command);
        self
    }
}

impl StandIn {
    /// Sets what the model says next, in place of what was still to come.
    pub(crate) fn replies<R: Into<Reply>>(&self, replies: impl IntoIterator<Item = R>) {
        let replies: Vec<Value> = replies.into_iter().map(|reply| reply.into().0).collect();
        self.ask(json!({ "do": "replies", "replies": replies }));
    }

    /// Has `program` run in place of the hooks of `event` from here on.
    pub(crate) fn use_hook(&self, event: &str, program: &Path) {
        self.ask(hook(event, program));
    }

    /// Keeps a transcript from here on.
    pub(crate) fn keep_transcript(&self) {
        self.ask(json!({ "do": "transcript" }));
    }

    /// Types `text` behind what stands in the input, and presses Enter.
    pub(crate) fn submit(&self, text: &str) {
        self.ask(json!({ "do": "submit", "text": text }));
    }

    /// Returns what the hooks' answers showed the model and the person, in order.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        let shown = self.ask(json!({ "do": "shown" }))["shown"].take();
        serde_json::from_value(shown).expect("what was shown has its members")
    }

    /// Returns the texts of that kind that hooks of `event` showed, in order.
    pub(crate) fn shown_by(&self, event: &str, kind: Kind) -> Vec<String> {
        let shown = self.shown().into_iter().filter(|shown| shown.event == event && shown.kind == kind);
        shown.map(|shown| shown.text).collect()
    }

    /// Returns the id of the session that is there now.
    pub(crate) fn session_id(&self) -> String {
        self.state().session_id
    }

    /// Waits until there is another session than at the start, or than the last call has returned, and returns its id.
    ///
    /// SessionStart may still be running then.
    #[track_caller]
    pub(crate) fn wait_for_session_change(&self, deadline: Duration) -> String {
        let mut known = self.known_session.lock().unwrap();
        *known = wait_for(deadline, "another session", || Some(self.session_id()).filter(|id| id != &*known));
        known.clone()
    }

    /// Returns everything that was submitted, the client's own commands included, with the session that was there.
    pub(crate) fn prompts(&self) -> Vec<Submission> {
        self.state().submitted
    }

    /// Waits until the hooks of `event` have answered `n` times since the start.
    #[track_caller]
    pub(crate) fn wait_for_answers(&self, event: &str, n: usize) {
        wait_until(DEADLINE, &format!("{n} answers to {event}"), || {
            self.log().iter().filter(|line| line["event"] == "hook_done" && line["name"] == event).count() >= n
        });
    }

    /// Waits until the process is gone.
    #[track_caller]
    pub(crate) fn wait_for_end(&self) {
        wait_until(DEADLINE, "the stand-in's end", || std::os::unix::net::UnixStream::connect(&self.socket).is_err());
    }
}

fn usage(tokens: u64, model: &str) -> Value {
    json!({ "do": "usage", "tokens": tokens, "model": model })
}

fn hook(event: &str, program: &Path) -> Value {
    json!({ "do": "override", "event": event, "program": program })
}
