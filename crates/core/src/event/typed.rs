//! The type of each hook event.

use serde_json::value::RawValue;

use super::wire::{EventError, EventWire};
use super::{BackgroundTask, Common, EndReason, EventName, StartSource};
use crate::SessionId;

/// An event type that an executable can read from its payload.
pub trait HookEvent<'a>: Sized {
    /// The event's name.
    const NAME: EventName;

    /// Builds the event from its payload.
    fn from_wire(wire: EventWire<'a>) -> Result<Self, EventError>;

    /// Returns the fields that every event has.
    fn common(&self) -> &Common;

    /// Returns the prompt, if the event is one.
    fn prompt(&self) -> Option<&str> {
        None
    }
}

macro_rules! hook_event {
    ($name:ident $(<$life:lifetime>)?, $wire:ident => { $($field:ident: $value:expr),* $(,)? } $(, $more:item)?) => {
        impl<'a> HookEvent<'a> for $name $(<$life>)? {
            const NAME: EventName = EventName::$name;

            fn from_wire(mut $wire: EventWire<'a>) -> Result<Self, EventError> {
                Ok(Self { common: Common::take(&mut $wire)?, $($field: $value),* })
            }

            fn common(&self) -> &Common {
                &self.common
            }

            $($more)?
        }
    };
}

/// A session starts: for the first time, after `/clear`, after a compaction, or because it is resumed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionStart {
    /// The fields that every event has.
    pub common: Common,
    /// How it starts.
    pub source: StartSource,
    /// The id of the model; `None` where the client does not name it.
    pub model: Option<String>,
}

hook_event!(SessionStart, wire => {
    source: StartSource::from_name(wire.source.as_deref().unwrap_or_default()),
    model: wire.model.take(),
});

/// A prompt was submitted: by the user or, for a `<task-notification>`, by Claude Code.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UserPromptSubmit {
    /// The fields that every event has.
    pub common: Common,
    /// The text of the prompt.
    pub prompt: String,
}

hook_event!(
    UserPromptSubmit,
    wire => { prompt: wire.prompt.or(wire.user_prompt).unwrap_or_default() },
    fn prompt(&self) -> Option<&str> {
        Some(&self.prompt)
    }
);

/// A tool is about to run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PreToolUse<'a> {
    /// The fields that every event has.
    pub common: Common,
    /// The tool's name.
    pub tool_name: String,
    /// The tool's input, as raw JSON.
    pub tool_input: Option<&'a RawValue>,
}

hook_event!(PreToolUse<'a>, wire => {
    tool_name: wire.tool_name.unwrap_or_default(),
    tool_input: wire.tool_input,
});

/// A tool has run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostToolUse<'a> {
    /// The fields that every event has.
    pub common: Common,
    /// The tool's name.
    pub tool_name: String,
    /// The call's id.
    pub tool_use_id: Option<String>,
    /// The tool's input, as raw JSON.
    pub tool_input: Option<&'a RawValue>,
    /// The tool's output, as raw JSON. It may be large: it is measured and copied, never parsed into a tree.
    pub tool_response: Option<&'a RawValue>,
    /// The duration of the call, in milliseconds.
    pub duration_ms: Option<u64>,
}

hook_event!(PostToolUse<'a>, wire => {
    duration_ms: wire.duration_ms,
    tool_name: wire.tool_name.unwrap_or_default(),
    tool_use_id: wire.tool_use_id,
    tool_input: wire.tool_input,
    tool_response: wire.tool_response.or(wire.tool_response_camel),
});

/// A tool has failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostToolUseFailure<'a> {
    /// The fields that every event has.
    pub common: Common,
    /// The tool's name.
    pub tool_name: String,
    /// The call's id.
    pub tool_use_id: Option<String>,
    /// The tool's input, as raw JSON.
    pub tool_input: Option<&'a RawValue>,
    /// The duration of the call, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The error message.
    pub error: Option<String>,
}

hook_event!(PostToolUseFailure<'a>, wire => {
    tool_name: wire.tool_name.unwrap_or_default(),
    tool_use_id: wire.tool_use_id,
    tool_input: wire.tool_input,
    duration_ms: wire.duration_ms,
    error: wire.error,
});

/// A dialog asks the user whether a tool may run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PermissionRequest<'a> {
    /// The fields that every event has.
    pub common: Common,
    /// The tool's name.
    pub tool_name: String,
    /// The tool's input, as raw JSON.
    pub tool_input: Option<&'a RawValue>,
}

hook_event!(PermissionRequest<'a>, wire => {
    tool_name: wire.tool_name.unwrap_or_default(),
    tool_input: wire.tool_input,
});

/// Claude Code wants the user's attention.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Notification {
    /// The fields that every event has.
    pub common: Common,
    /// The kind of notification: `permission_prompt`, `idle_prompt`, `elicitation_dialog`, …
    pub kind: Option<String>,
    /// The message.
    pub message: Option<String>,
}

hook_event!(Notification, wire => { kind: wire.notification_type, message: wire.message });

/// The turn ended in an error.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StopFailure {
    /// The fields that every event has.
    pub common: Common,
    /// The kind of error: `rate_limit`, `authentication_failed`, `server_error`, …
    pub error: Option<String>,
}

hook_event!(StopFailure, wire => { error: wire.error });

/// A session ends.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionEnd {
    /// The fields that every event has.
    pub common: Common,
    /// Why it ends.
    pub reason: EndReason,
}

hook_event!(SessionEnd, wire => { reason: EndReason::from_name(wire.reason.as_deref().unwrap_or_default()) });

/// A teammate has nothing to do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TeammateIdle {
    /// The fields that every event has.
    pub common: Common,
    /// The teammate's session, where it is not the event's own session.
    pub teammate: Option<SessionId>,
}

hook_event!(TeammateIdle, wire => { teammate: wire.teammate_id.as_deref().and_then(SessionId::new) });

/// A task of the task list was completed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskCompleted {
    /// The fields that every event has.
    pub common: Common,
}

hook_event!(TaskCompleted, wire => {});

/// A subagent starts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SubagentStart {
    /// The fields that every event has; `agent_id` is the subagent that starts.
    pub common: Common,
}

hook_event!(SubagentStart, wire => {});

/// A subagent has returned.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SubagentStop {
    /// The fields that every event has; `agent_id` is the subagent that returned.
    pub common: Common,
    /// The subagent's last reply.
    pub last_assistant_message: Option<String>,
    /// The tasks that run in the background, including the subagent itself; `None` where the payload has no list.
    pub background_tasks: Option<Vec<BackgroundTask>>,
}

hook_event!(SubagentStop, wire => {
    last_assistant_message: wire.last_assistant_message,
    background_tasks: BackgroundTask::list(wire.background_tasks),
});

/// The turn is over.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stop {
    /// The fields that every event has.
    pub common: Common,
    /// Whether the turn continued because a Stop hook had blocked its end.
    pub stop_hook_active: bool,
    /// The last reply. The transcript may not contain it yet.
    pub last_assistant_message: Option<String>,
    /// The tasks that still run in the background; `None` where the payload has no list.
    pub background_tasks: Option<Vec<BackgroundTask>>,
    /// Why the turn stopped: the values of every payload field for it. Versions use different fields.
    pub reasons: Vec<String>,
    /// Why the model ended its turn: the values of every payload field for it.
    pub end_turn_reasons: Vec<String>,
    /// Whether the payload says that the user stopped the turn.
    pub user_requested: bool,
}

hook_event!(Stop, wire => {
    stop_hook_active: wire.stop_hook_active.unwrap_or_default(),
    last_assistant_message: wire.last_assistant_message,
    background_tasks: BackgroundTask::list(wire.background_tasks),
    reasons: [wire.stop_reason, wire.stop_reason_camel, wire.reason].into_iter().flatten().collect(),
    end_turn_reasons: [wire.end_turn_reason, wire.end_turn_reason_camel].into_iter().flatten().collect(),
    user_requested: wire.user_requested.or(wire.user_requested_camel).unwrap_or_default(),
});

/// The conversation is about to be compacted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PreCompact {
    /// The fields that every event has.
    pub common: Common,
    /// What started it: `manual` or `auto`.
    pub trigger: String,
}

hook_event!(PreCompact, wire => { trigger: wire.trigger.unwrap_or_default() });

/// The conversation was compacted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostCompact {
    /// The fields that every event has.
    pub common: Common,
    /// The summary; empty where the client does not send it.
    pub compact_summary: String,
}

hook_event!(PostCompact, wire => { compact_summary: wire.compact_summary.unwrap_or_default() });
