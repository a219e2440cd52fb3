//! The baton: a record of the session that the project's next session continues.

use std::fmt;

use longhaul_core::Millis;

/// How long a baton can be taken, in milliseconds.
pub(crate) const TTL_MS: u64 = 60 * 60 * 1000;

/// The message to the user when a command has left a baton.
pub const BATON_WRITTEN: &str = "handed over: the next session in this project goes on from here";

/// The commands that leave a baton, with their triggers.
///
/// Those with `$` are for Codex, which accepts no unknown command that begins with a slash.
const COMMANDS: [(&str, BatonTrigger); 6] = [
    ("/tl", BatonTrigger::Tl),
    ("/longhaul:tl", BatonTrigger::Tl),
    ("/longhaul-handoff:tl", BatonTrigger::Tl),
    ("$longhaul handoff", BatonTrigger::Tl),
    ("$longhaul-handoff", BatonTrigger::Tl),
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

    /// Returns whether the user asked for the baton, so that a session of any agent in the project may take it.
    ///
    /// The other batons only connect two sessions of the same agent.
    pub fn is_on_purpose(self) -> bool {
        match self {
            Self::Tl => true,
            Self::Clear | Self::SessionEnd | Self::Continuation => false,
        }
    }

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
    let words = prompt.split_ascii_whitespace();
    let is_command = |name: &str| name.split(' ').eq(words.clone().take(name.split(' ').count()));
    COMMANDS.into_iter().find(|(name, _)| is_command(name)).map(|(_, trigger)| trigger)
}

/// Returns the name of the agent that runs a session, by the prefix of its id: `claude`, `codex` and so on.
pub(crate) fn agent_of(session: &str) -> &str {
    session.split_once(':').map_or("claude", |(agent, _)| agent)
}
