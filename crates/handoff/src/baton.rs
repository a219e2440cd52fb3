//! The baton: a record of the session that the project's next session continues.

use std::fmt;

use longhaul_core::Millis;

/// How long a baton can be taken, in milliseconds.
pub(crate) const TTL_MS: u64 = 60 * 60 * 1000;

/// The commands that leave a baton, with their triggers.
const COMMANDS: [(&str, BatonTrigger); 4] = [
    ("/tl", BatonTrigger::Tl),
    ("/longhaul:tl", BatonTrigger::Tl),
    ("/longhaul-handoff:tl", BatonTrigger::Tl),
    ("/clear", BatonTrigger::Clear),
];

/// What made a session leave a baton.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatonTrigger {
    /// The user typed `/tl`, possibly to continue in another window.
    Tl,
    /// The user typed `/clear`, in a version that sends it to the prompt hook.
    Clear,
    /// The session ended with reason `clear`.
    SessionEnd,
    /// The context was nearly full, and a continuation cleared the session.
    Continuation,
}

impl BatonTrigger {
    /// Every trigger.
    pub const ALL: [Self; 4] = [Self::Tl, Self::Clear, Self::SessionEnd, Self::Continuation];

    /// Returns the stored name of the trigger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tl => "tl",
            Self::Clear => "clear",
            Self::SessionEnd => "session_end",
            Self::Continuation => "continuation",
        }
    }

    /// Returns the trigger with the stored name `text`.
    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trigger| trigger.as_str() == text)
    }
}

impl fmt::Display for BatonTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A stored baton. There is at most one for each project and client process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Baton {
    /// The session that left it.
    pub session: String,
    /// The process id of the client that ran that session (`CLAUDE_PID`); 0 where unknown.
    pub client_pid: u32,
    /// Why it was left.
    pub trigger: BatonTrigger,
    /// The time at which it was left.
    pub at: Millis,
}

impl Baton {
    /// Returns the baton that `session` left at the time `at`, in a client whose process id is unknown.
    pub fn new(session: impl Into<String>, trigger: BatonTrigger, at: Millis) -> Self {
        Self { session: session.into(), client_pid: 0, trigger, at }
    }

    /// Returns whether the baton is too old to be taken.
    ///
    /// A baton from the future was written before the clock was set back. It is not expired.
    pub fn is_expired(&self, now: Millis) -> bool {
        now.since(self.at) > TTL_MS
    }
}

/// Returns the trigger of a prompt that is a baton command; `None` for any other prompt.
///
/// The command must be followed by white space or nothing: `/tldr`, `/cleared` and `/clearcache` are other commands.
pub fn baton_command(prompt: &str) -> Option<BatonTrigger> {
    let prompt = prompt.trim();
    let command = prompt.split([' ', '\n', '\r', '\t']).next()?;
    COMMANDS.into_iter().find(|(name, _)| *name == command).map(|(_, trigger)| trigger)
}
