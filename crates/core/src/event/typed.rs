//! Events as the jobs see them.

use std::path::PathBuf;

use serde_json::value::RawValue;

use super::wire::{EventError, EventWire};
use super::{BackgroundTask, EventName, parse};
use crate::SessionId;

/// What every event carries.
#[derive(Debug, Clone)]
pub struct Common {
    /// The session, in the form that names files.
    pub session: SessionId,
    /// Where the client writes the session's transcript.
    pub transcript: Option<PathBuf>,
    /// The session's working directory.
    pub cwd: Option<PathBuf>,
    /// The prompt that the turn answers.
    pub prompt_id: Option<String>,
    /// How the client asks for permission: `default`, `acceptEdits`, `plan`, `bypassPermissions`, …
    pub permission_mode: Option<String>,
    /// The subagent inside which the event happened; `None` in the main loop.
    pub agent_id: Option<String>,
    /// That subagent's type; empty for the one that compacts.
    pub agent_type: Option<String>,
}

impl Common {
    fn take(wire: &mut EventWire<'_>) -> Result<Self, EventError> {
        let session = wire.session_id.as_deref().and_then(SessionId::new).ok_or(EventError::NoSession)?;
        Ok(Self {
            session,
            transcript: wire.transcript_path.take().map(PathBuf::from),
            cwd: wire.cwd.take().map(PathBuf::from),
            prompt_id: wire.prompt_id.take().or(wire.turn_id.take()),
            permission_mode: wire.permission_mode.take(),
            agent_id: wire.agent_id.take().filter(|id| !id.is_empty()),
            agent_type: wire.agent_type.take(),
        })
    }
}

/// An event type that an executable can ask for.
pub trait HookEvent<'a>: Sized {
    /// The event's name.
    const NAME: EventName;

    /// Builds the event from its payload.
    fn from_wire(wire: EventWire<'a>) -> Result<Self, EventError>;

    /// Returns what every event carries.
    fn common(&self) -> &Common;
}

macro_rules! hook_event {
    ($name:ident $(<$life:lifetime>)?, $wire:ident => { $($field:ident: $value:expr),* $(,)? }) => {
        impl<'a> HookEvent<'a> for $name $(<$life>)? {
            const NAME: EventName = EventName::$name;

            fn from_wire(mut $wire: EventWire<'a>) -> Result<Self, EventError> {
                Ok(Self { common: Common::take(&mut $wire)?, $($field: $value),* })
            }

            fn common(&self) -> &Common {
                &self.common
            }
        }
    };
}

/// A session begins, goes on after `/clear` or a compaction, or is resumed.
#[derive(Debug, Clone)]
pub struct SessionStart {
    /// What every event carries.
    pub common: Common,
    /// `startup`, `resume`, `clear`, `compact` or `fork`.
    pub source: String,
}

hook_event!(SessionStart, wire => { source: wire.source.unwrap_or_default() });

/// A prompt was submitted, by a person or, for a `<task-notification>`, by the client.
#[derive(Debug, Clone)]
pub struct UserPromptSubmit {
    /// What every event carries.
    pub common: Common,
    /// The text as it was typed.
    pub prompt: String,
}

hook_event!(UserPromptSubmit, wire => { prompt: wire.prompt.or(wire.user_prompt).unwrap_or_default() });

/// A tool is about to run.
#[derive(Debug, Clone)]
pub struct PreToolUse<'a> {
    /// What every event carries.
    pub common: Common,
    /// The tool.
    pub tool_name: String,
    /// Its input, as raw JSON.
    pub tool_input: Option<&'a RawValue>,
}

hook_event!(PreToolUse<'a>, wire => {
    tool_name: wire.tool_name.unwrap_or_default(),
    tool_input: wire.tool_input,
});

/// A tool has run.
#[derive(Debug, Clone)]
pub struct PostToolUse<'a> {
    /// What every event carries.
    pub common: Common,
    /// The tool.
    pub tool_name: String,
    /// The call's id.
    pub tool_use_id: Option<String>,
    /// Its input, as raw JSON.
    pub tool_input: Option<&'a RawValue>,
    /// What it returned, as raw JSON: measured and copied, never built into a tree.
    pub tool_response: Option<&'a RawValue>,
    /// How long it took, in milliseconds.
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
pub struct PostToolUseFailure<'a> {
    /// What every event carries.
    pub common: Common,
    /// The tool.
    pub tool_name: String,
    /// The call's id.
    pub tool_use_id: Option<String>,
    /// Its input, as raw JSON.
    pub tool_input: Option<&'a RawValue>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// What went wrong.
    pub error: Option<String>,
}

hook_event!(PostToolUseFailure<'a>, wire => {
    tool_name: wire.tool_name.unwrap_or_default(),
    tool_use_id: wire.tool_use_id,
    tool_input: wire.tool_input,
    duration_ms: wire.duration_ms,
    error: wire.error,
});

/// A dialog asks whether a tool may run.
#[derive(Debug, Clone)]
pub struct PermissionRequest {
    /// What every event carries.
    pub common: Common,
    /// The tool.
    pub tool_name: String,
}

hook_event!(PermissionRequest, wire => { tool_name: wire.tool_name.unwrap_or_default() });

/// The client wants the user's attention.
#[derive(Debug, Clone)]
pub struct Notification {
    /// What every event carries.
    pub common: Common,
    /// `permission_prompt`, `idle_prompt`, `elicitation_dialog`, …
    pub kind: Option<String>,
    /// What it says.
    pub message: Option<String>,
}

hook_event!(Notification, wire => { kind: wire.notification_type, message: wire.message });

/// The turn ended in an error.
#[derive(Debug, Clone)]
pub struct StopFailure {
    /// What every event carries.
    pub common: Common,
    /// `rate_limit`, `authentication_failed`, `server_error`, …
    pub error: Option<String>,
}

hook_event!(StopFailure, wire => { error: wire.error });

/// A session ends.
#[derive(Debug, Clone)]
pub struct SessionEnd {
    /// What every event carries.
    pub common: Common,
    /// `clear`, `resume`, `prompt_input_exit`, `other`, …
    pub reason: String,
}

hook_event!(SessionEnd, wire => { reason: wire.reason.unwrap_or_default() });

/// A teammate has nothing to do.
#[derive(Debug, Clone)]
pub struct TeammateIdle {
    /// What every event carries.
    pub common: Common,
    /// The teammate, where it is not the session itself.
    pub teammate: Option<SessionId>,
}

hook_event!(TeammateIdle, wire => { teammate: wire.teammate_id.as_deref().and_then(SessionId::new) });

/// A task of the task list was completed.
#[derive(Debug, Clone)]
pub struct TaskCompleted {
    /// What every event carries.
    pub common: Common,
}

hook_event!(TaskCompleted, wire => {});

/// A subagent begins.
#[derive(Debug, Clone)]
pub struct SubagentStart {
    /// What every event carries; `agent_id` is the subagent that begins.
    pub common: Common,
}

hook_event!(SubagentStart, wire => {});

/// A subagent has returned.
#[derive(Debug, Clone)]
pub struct SubagentStop {
    /// What every event carries; `agent_id` is the subagent that returned.
    pub common: Common,
    /// What it brought back.
    pub last_assistant_message: Option<String>,
    /// What runs in the background, the returning subagent itself included; `None` where the client does not say.
    pub background_tasks: Option<Vec<BackgroundTask>>,
}

hook_event!(SubagentStop, wire => {
    last_assistant_message: wire.last_assistant_message,
    background_tasks: BackgroundTask::list(wire.background_tasks),
});

/// The turn is over.
#[derive(Debug, Clone)]
pub struct Stop {
    /// What every event carries.
    pub common: Common,
    /// Whether the turn went on because a Stop hook had blocked before.
    pub stop_hook_active: bool,
    /// The last reply; the transcript lags behind it.
    pub last_assistant_message: Option<String>,
    /// What still runs in the background; `None` where the client does not say.
    pub background_tasks: Option<Vec<BackgroundTask>>,
    /// Why the turn stopped, in whichever of its fields the client says so.
    pub reasons: Vec<String>,
    /// Why the model ended its turn, likewise.
    pub end_turn_reasons: Vec<String>,
    /// Whether the client says that the user asked for the stop.
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
pub struct PreCompact {
    /// What every event carries.
    pub common: Common,
    /// `manual` or `auto`.
    pub trigger: String,
}

hook_event!(PreCompact, wire => { trigger: wire.trigger.unwrap_or_default() });

/// An event that no job needs more of than its name.
#[derive(Debug, Clone)]
pub struct Other {
    /// What every event carries.
    pub common: Common,
    /// The event.
    pub name: EventName,
}

/// Any event, for callers that do not know beforehand which one comes.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// A session begins or goes on.
    SessionStart(SessionStart),
    /// A prompt was submitted.
    UserPromptSubmit(UserPromptSubmit),
    /// A tool is about to run.
    PreToolUse(PreToolUse<'a>),
    /// A tool has run.
    PostToolUse(PostToolUse<'a>),
    /// A subagent begins.
    SubagentStart(SubagentStart),
    /// A subagent has returned.
    SubagentStop(SubagentStop),
    /// The turn is over.
    Stop(Stop),
    /// The conversation is about to be compacted.
    PreCompact(PreCompact),
    /// A tool has failed.
    PostToolUseFailure(PostToolUseFailure<'a>),
    /// A dialog asks whether a tool may run.
    PermissionRequest(PermissionRequest),
    /// The client wants the user's attention.
    Notification(Notification),
    /// The turn ended in an error.
    StopFailure(StopFailure),
    /// A session ends.
    SessionEnd(SessionEnd),
    /// A teammate has nothing to do.
    TeammateIdle(TeammateIdle),
    /// A task was completed.
    TaskCompleted(TaskCompleted),
    /// One of the others, known by name or not.
    Other(Other),
}

impl<'a> Event<'a> {
    /// Reads any payload; unknown events and fields are harmless.
    pub fn parse(text: &'a str) -> Result<Self, EventError> {
        let mut wire = parse(text)?;
        let name = EventName::from_wire(wire.hook_event_name.as_deref().unwrap_or_default());
        Ok(match name {
            EventName::SessionStart => Self::SessionStart(SessionStart::from_wire(wire)?),
            EventName::UserPromptSubmit => Self::UserPromptSubmit(UserPromptSubmit::from_wire(wire)?),
            EventName::PreToolUse => Self::PreToolUse(PreToolUse::from_wire(wire)?),
            EventName::PostToolUse => Self::PostToolUse(PostToolUse::from_wire(wire)?),
            EventName::SubagentStart => Self::SubagentStart(SubagentStart::from_wire(wire)?),
            EventName::SubagentStop => Self::SubagentStop(SubagentStop::from_wire(wire)?),
            EventName::Stop => Self::Stop(Stop::from_wire(wire)?),
            EventName::PreCompact => Self::PreCompact(PreCompact::from_wire(wire)?),
            EventName::PostToolUseFailure => Self::PostToolUseFailure(PostToolUseFailure::from_wire(wire)?),
            EventName::PermissionRequest => Self::PermissionRequest(PermissionRequest::from_wire(wire)?),
            EventName::Notification => Self::Notification(Notification::from_wire(wire)?),
            EventName::StopFailure => Self::StopFailure(StopFailure::from_wire(wire)?),
            EventName::SessionEnd => Self::SessionEnd(SessionEnd::from_wire(wire)?),
            EventName::TeammateIdle => Self::TeammateIdle(TeammateIdle::from_wire(wire)?),
            EventName::TaskCompleted => Self::TaskCompleted(TaskCompleted::from_wire(wire)?),
            name => Self::Other(Other { common: Common::take(&mut wire)?, name }),
        })
    }

    /// Returns the event's name.
    pub fn name(&self) -> EventName {
        match self {
            Self::SessionStart(_) => EventName::SessionStart,
            Self::UserPromptSubmit(_) => EventName::UserPromptSubmit,
            Self::PreToolUse(_) => EventName::PreToolUse,
            Self::PostToolUse(_) => EventName::PostToolUse,
            Self::SubagentStart(_) => EventName::SubagentStart,
            Self::SubagentStop(_) => EventName::SubagentStop,
            Self::Stop(_) => EventName::Stop,
            Self::PreCompact(_) => EventName::PreCompact,
            Self::PostToolUseFailure(_) => EventName::PostToolUseFailure,
            Self::PermissionRequest(_) => EventName::PermissionRequest,
            Self::Notification(_) => EventName::Notification,
            Self::StopFailure(_) => EventName::StopFailure,
            Self::SessionEnd(_) => EventName::SessionEnd,
            Self::TeammateIdle(_) => EventName::TeammateIdle,
            Self::TaskCompleted(_) => EventName::TaskCompleted,
            Self::Other(other) => other.name,
        }
    }
}
