//! Hook events as the client sends them.

mod name;
mod typed;
mod wire;

pub use self::name::EventName;
pub use self::typed::{
    BackgroundTask, Common, Event, HookEvent, Other, PostToolUse, PreCompact, PreToolUse, SessionStart, Stop,
    SubagentStart, SubagentStop, UserPromptSubmit,
};
pub use self::wire::{EventError, EventWire, parse, utf8};
