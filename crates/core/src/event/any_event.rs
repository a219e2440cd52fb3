//! Any hook event, by its name.

use super::typed::{
    HookEvent, Notification, PermissionRequest, PostToolUse, PostToolUseFailure, PreCompact, PreToolUse, SessionEnd,
    SessionStart, Stop, StopFailure, SubagentStart, SubagentStop, TaskCompleted, TeammateIdle, UserPromptSubmit,
};
use super::wire::EventError;
use super::{Common, EventName, parse};

/// An event of which no job needs more than the name.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Other {
    /// The fields that every event has.
    pub common: Common,
    /// The event's name.
    pub name: EventName,
}

/// Any event, for callers that do not know in advance which one they receive.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A session starts.
    SessionStart(SessionStart),
    /// A prompt was submitted.
    UserPromptSubmit(UserPromptSubmit),
    /// A tool is about to run.
    PreToolUse(PreToolUse<'a>),
    /// A tool has run.
    PostToolUse(PostToolUse<'a>),
    /// A subagent starts.
    SubagentStart(SubagentStart),
    /// A subagent has returned.
    SubagentStop(SubagentStop),
    /// The turn is over.
    Stop(Stop),
    /// The conversation is about to be compacted.
    PreCompact(PreCompact),
    /// A tool has failed.
    PostToolUseFailure(PostToolUseFailure<'a>),
    /// A dialog asks the user whether a tool may run.
    PermissionRequest(PermissionRequest<'a>),
    /// Claude Code wants the user's attention.
    Notification(Notification),
    /// The turn ended in an error.
    StopFailure(StopFailure),
    /// A session ends.
    SessionEnd(SessionEnd),
    /// A teammate has nothing to do.
    TeammateIdle(TeammateIdle),
    /// A task was completed.
    TaskCompleted(TaskCompleted),
    /// Any other event, known or unknown.
    Other(Other),
}

impl<'a> Event<'a> {
    /// Parses any payload. Unknown events become [`Event::Other`], unknown fields are ignored.
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
