//! The baton: a note that says whose memory the project's next session inherits.

use std::fmt;

use longhaul_core::Millis;

/// How long a baton waits for somebody to take it.
pub(crate) const TTL_MS: u64 = 60 * 60 * 1000;

/// The commands that pass a baton, and what they are called in the record.
const COMMANDS: [(&str, BatonTrigger); 4] = [
    ("/tl", BatonTrigger::Tl),
    ("/longhaul:tl", BatonTrigger::Tl),
    ("/longhaul-handoff:tl", BatonTrigger::Tl),
    ("/clear", BatonTrigger::Clear),
];

/// What made a session pass its baton.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatonTrigger {
    /// The user typed `/tl`, perhaps to go on elsewhere.
    Tl,
    /// The user typed `/clear`, in a client that sends it to the prompt hook.
    Clear,
    /// The session ended with reason `clear`.
    SessionEnd,
    /// The context was full, and the session goes on by itself.
    Continuation,
}

impl BatonTrigger {
    /// Every trigger.
    pub const ALL: [Self; 4] = [Self::Tl, Self::Clear, Self::SessionEnd, Self::Continuation];

    /// Returns the trigger as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tl => "tl",
            Self::Clear => "clear",
            Self::SessionEnd => "session_end",
            Self::Continuation => "continuation",
        }
    }

    /// Reads a stored trigger.
    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trigger| trigger.as_str() == text)
    }
}

impl fmt::Display for BatonTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A baton as it is stored: one for each project and client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baton {
    /// The session that passes it.
    pub session: String,
    /// The client that ran that session (`CLAUDE_PID`), 0 where unknown.
    pub client_pid: u32,
    /// Why it was passed.
    pub trigger: BatonTrigger,
    /// When.
    pub at: Millis,
}

impl Baton {
    /// Returns whether nobody may take it any more.
    ///
    /// A time that lies ahead was written before the clock was set back: such a baton is as good as new.
    pub fn is_expired(&self, now: Millis) -> bool {
        now.since(self.at) > TTL_MS
    }
}

/// Returns what a prompt triggers, where it is one of the baton commands.
///
/// The command stands alone or before a space or newline; `/tldr`, `/cleared` and `/clearcache` are other commands.
pub fn baton_command(prompt: &str) -> Option<BatonTrigger> {
    let prompt = prompt.trim();
    let command = prompt.split([' ', '\n', '\r', '\t']).next()?;
    COMMANDS.into_iter().find(|(name, _)| *name == command).map(|(_, trigger)| trigger)
}
