//! Hook events as Claude Code and Codex send them.

pub mod predicates;
mod wire;

use std::fmt;
use std::path::PathBuf;

use serde_json::value::RawValue;

use self::wire::BackgroundTaskWire;
use crate::SessionId;

pub use self::wire::{EventError, EventWire, parse, parse_with_response, split_response, utf8};

// The names of the hook events.

macro_rules! event_names {
    ($($name:ident),* $(,)?) => {
        /// A hook event of Claude Code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum EventName {
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                $name,
            )*
            /// An event that this version does not know.
            Unknown,
        }

        impl EventName {
            /// Every known event.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the event called `name`; `Unknown` where there is none.
            pub fn from_wire(name: &str) -> Self {
                match name {
                    $(stringify!($name) => Self::$name,)*
                    _ => Self::Unknown,
                }
            }

            /// Returns the name under which hooks.json registers the event.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                    Self::Unknown => "Unknown",
                }
            }
        }
    };
}

event_names!(
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PostToolBatch,
    Notification,
    UserPromptSubmit,
    UserPromptExpansion,
    SessionStart,
    SessionEnd,
    Stop,
    StopFailure,
    SubagentStart,
    SubagentStop,
    PreCompact,
    PostCompact,
    PreModelSwitch,
    PostModelSwitch,
    PermissionRequest,
    PermissionDenied,
    Setup,
    TeammateIdle,
    TaskCreated,
    TaskCompleted,
    Elicitation,
    ElicitationResult,
    ConfigChange,
    WorktreeCreate,
    WorktreeRemove,
    InstructionsLoaded,
    CwdChanged,
    FileChanged,
    DirectoryAdded,
    MessageDisplay,
);

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

// The fields that every hook event has.

/// The fields that every event has.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Common {
    /// The session's id, in the form that is safe as a file name.
    pub session: SessionId,
    /// The path of the session's transcript.
    pub transcript: Option<PathBuf>,
    /// The session's working directory.
    pub cwd: Option<PathBuf>,
    /// The id of the prompt that the turn answers.
    pub prompt_id: Option<String>,
    /// The permission mode: `default`, `acceptEdits`, `plan`, `bypassPermissions`, …
    pub permission_mode: Option<String>,
    /// The id of the subagent inside which the event happened; `None` in the main conversation.
    pub agent_id: Option<String>,
    /// The subagent's type; empty for the one that compacts.
    pub agent_type: Option<String>,
}

impl Common {
    /// Returns the fields of an event of `session`, of which nothing else is known.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            transcript: None,
            cwd: None,
            prompt_id: None,
            permission_mode: None,
            agent_id: None,
            agent_type: None,
        }
    }

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

// The type of each hook event.

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
    /// The tool's output, as the text of its JSON, which need not be valid. It may be large: it is measured and copied, never
    /// parsed into a tree.
    pub tool_response: Option<&'a str>,
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

// How a session starts, and why it ends, as Claude Code names it.

/// How a session starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartSource {
    /// A new process.
    Startup,
    /// A session that was resumed.
    Resume,
    /// After `/clear`.
    Clear,
    /// After a compaction; the session is the same.
    Compact,
    /// A copy of another session.
    Fork,
    /// A name that this version does not know, or none.
    Other(String),
}

impl StartSource {
    /// Returns the source of that name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "startup" => Self::Startup,
            "resume" => Self::Resume,
            "clear" => Self::Clear,
            "compact" => Self::Compact,
            "fork" => Self::Fork,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns its name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Compact => "compact",
            Self::Fork => "fork",
            Self::Other(name) => name,
        }
    }
}

/// Why a session ends.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// `/clear`: the client goes on with a new session.
    Clear,
    /// Another session is resumed in its place.
    Resume,
    /// The user has logged out.
    Logout,
    /// The user has left the prompt.
    PromptInputExit,
    /// A name that this version does not know, or none; `other` among them.
    Other(String),
}

impl EndReason {
    /// Returns the reason of that name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "clear" => Self::Clear,
            "resume" => Self::Resume,
            "logout" => Self::Logout,
            "prompt_input_exit" => Self::PromptInputExit,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns its name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Clear => "clear",
            Self::Resume => "resume",
            Self::Logout => "logout",
            Self::PromptInputExit => "prompt_input_exit",
            Self::Other(name) => name,
        }
    }
}

// Background tasks of a session.

/// A task that runs in the background of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackgroundTask {
    /// The task's id; for a subagent, its `agent_id`.
    pub id: String,
    /// The kind of task: `subagent`, `shell`, …
    pub kind: String,
    /// Its command, or else its description; empty where the payload has neither.
    pub about: String,
}

impl BackgroundTask {
    /// Returns the tasks that are still running; `None` where the payload has no list.
    fn list(wire: Option<Vec<BackgroundTaskWire>>) -> Option<Vec<Self>> {
        let running = |task: &BackgroundTaskWire| task.status.as_deref().is_none_or(|status| status == "running");
        let task = |task: BackgroundTaskWire| Self {
            id: task.id.unwrap_or_default(),
            kind: task.kind.unwrap_or_default(),
            about: task.command.or(task.description).unwrap_or_default(),
        };
        Some(wire?.into_iter().filter(running).map(task).collect())
    }

    /// Returns whether the task can open a permission dialog; a shell command cannot.
    pub fn may_ask(&self) -> bool {
        !matches!(self.kind.as_str(), "shell" | "bash")
    }

    /// Returns whether the turn is not over while the task runs.
    ///
    /// A shell command may run forever, and a teammate waits between its tasks for messages of its lead.
    pub fn keeps_turn_open(&self) -> bool {
        self.may_ask() && self.kind != "teammate"
    }
}

// Any hook event, by its name.

/// An event of which no job needs more than the name.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Other {
    /// The fields that every event has.
    pub common: Common,
    /// The event's name.
    pub name: EventName,
}

macro_rules! events {
    ($($name:ident $(<$life:lifetime>)?),* $(,)?) => {
        /// Any event, for callers that do not know in advance which one they receive.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum Event<'a> {
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                $name($name $(<$life>)?),
            )*
            /// Any other event, known or unknown.
            Other(Other),
        }

        impl<'a> Event<'a> {
            /// Parses any payload. Unknown events become [`Event::Other`], unknown fields are ignored.
            pub fn parse(text: &'a str) -> Result<Self, EventError> {
                let mut wire = parse(text)?;
                Ok(match EventName::from_wire(wire.hook_event_name.as_deref().unwrap_or_default()) {
                    $(EventName::$name => Self::$name($name::from_wire(wire)?),)*
                    name => Self::Other(Other { common: Common::take(&mut wire)?, name }),
                })
            }

            /// Returns the event's name.
            pub fn name(&self) -> EventName {
                match self {
                    $(Self::$name(_) => EventName::$name,)*
                    Self::Other(other) => other.name,
                }
            }
        }
    };
}

events!(
    SessionStart,
    UserPromptSubmit,
    PreToolUse<'a>,
    PostToolUse<'a>,
    SubagentStart,
    SubagentStop,
    Stop,
    PreCompact,
    PostToolUseFailure<'a>,
    PermissionRequest<'a>,
    Notification,
    StopFailure,
    SessionEnd,
    TeammateIdle,
    TaskCompleted,
);

#[cfg(test)]
mod tests {
    use super::{EndReason, StartSource};

    #[test]
    fn every_name_is_kept_as_it_came() {
        for name in ["startup", "resume", "clear", "compact", "fork", "something new", ""] {
            let source = StartSource::from_name(name);
            assert_eq!(source.as_str(), name);
            assert_eq!(matches!(source, StartSource::Other(_)), matches!(name, "something new" | ""), "{name}");
        }
        for name in ["clear", "resume", "logout", "prompt_input_exit", "other", "something new"] {
            let reason = EndReason::from_name(name);
            assert_eq!(reason.as_str(), name);
            assert_eq!(matches!(reason, EndReason::Other(_)), matches!(name, "other" | "something new"), "{name}");
        }
    }
}
