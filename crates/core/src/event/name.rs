//! The names of the hook events.

use std::fmt;

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
