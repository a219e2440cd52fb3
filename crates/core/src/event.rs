//! Hook events as Claude Code and Codex send them.

mod any_event;
mod background;
pub mod bookmark_prompt;
mod common;
mod name;
pub mod predicates;
mod start_and_end;
mod typed;
mod wire;

pub use self::any_event::{Event, Other};
pub use self::background::BackgroundTask;
pub use self::common::Common;
pub use self::name::EventName;
pub use self::start_and_end::{EndReason, StartSource};
pub use self::typed::{
    HookEvent, Notification, PermissionRequest, PostCompact, PostToolUse, PostToolUseFailure, PreCompact, PreToolUse,
    SessionEnd, SessionStart, Stop, StopFailure, SubagentStart, SubagentStop, TaskCompleted, TeammateIdle,
    UserPromptSubmit,
};
pub use self::wire::{EventError, EventWire, parse, utf8};
