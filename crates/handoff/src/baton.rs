//! The baton: a record of the session that the project's next session continues.

use std::cmp::Reverse;
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

longhaul_core::named! {
    /// What made a session leave a baton.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum BatonTrigger {
        /// The user typed `/tl`, possibly to continue in another window.
        Tl = "tl",
        /// The user typed `/clear`, in a version that sends it to the prompt hook.
        Clear = "clear",
        /// The session ended with reason `clear`.
        SessionEnd = "session_end",
        /// The context was nearly full, and a continuation cleared the session.
        Continuation = "continuation",
        /// A limit of what a session may spend was reached, and stopped it.
        Limit = "limit",
    }
}

impl BatonTrigger {
    /// Returns whether the baton is meant for whatever session comes next, so that a session of any agent in the project may take it.
    ///
    /// The other batons only connect two sessions of the same agent.
    pub fn is_on_purpose(self) -> bool {
        match self {
            // Whoever goes on after a limit may open another window, while the old one still waits.
            Self::Tl | Self::Limit => true,
            Self::Clear | Self::SessionEnd | Self::Continuation => false,
        }
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

// Choosing the baton that a starting session takes.

/// Whether the client process that left a baton is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientProcess {
    /// It is running.
    Alive,
    /// It has ended.
    Gone,
    /// Its process id is not known.
    Unknown,
}

/// A baton of the project, with the state of the client process that left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatonOffer {
    /// The baton.
    pub baton: Baton,
    /// The state of the process `baton.client_pid`.
    pub client: ClientProcess,
}

/// The session that starts and takes a baton.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatonTaker<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The process id of its client (`CLAUDE_PID`); 0 where unknown.
    pub client_pid: u32,
    /// The current time.
    pub now: Millis,
    /// Whether only batons that the user asked for are taken.
    pub only_on_purpose: bool,
}

impl<'a> BatonTaker<'a> {
    /// Returns the session that starts at `now`, in a client whose process id is unknown.
    pub fn new(session: &'a str, now: Millis) -> Self {
        Self { session, client_pid: 0, now, only_on_purpose: false }
    }
}

longhaul_core::named! {
    /// Why no baton was taken.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
    #[error("{}", self.as_str())]
    #[non_exhaustive]
    pub enum NoBaton {
        /// There is none for this session.
        None = "no_baton",
        /// There was one, but it has expired.
        Expired = "expired",
        /// The only one was left by the session itself, for another session.
        SelfHandoff = "self_handoff",
        /// There is none, and no other session of the project is known.
        NoSession = "no_baton_no_session",
        /// There is none, and no turn of another session of the project is known.
        NoTurns = "no_baton_no_turns",
        /// There is none, and every other session of the project is already inherited, in use, or not older than this one.
        NoneFree = "no_baton_none_free",
    }
}

/// The batons to take and to discard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatonChoice {
    /// The indexes of the offers to try, in this order; or why there is none.
    pub taken: Result<Vec<usize>, NoBaton>,
    /// The indexes of the expired offers that this session could have taken. They are to be discarded.
    pub expired: Vec<usize>,
}

/// Chooses among the project's batons. Call it in the transaction that deletes the chosen and expired ones.
///
/// A baton of the session's own client process comes first, so that two windows of one project that are cleared at the same
/// time do not swap. Then comes the newest baton whose client process is gone or unknown, or that was left on purpose, by
/// `/tl`, which may be meant for any window and any agent. Other batons are only for the agent that left them. A baton that the session left itself is neither taken nor discarded: a resumed or compacted
/// session starts again with the same id, and its baton is for another session.
pub fn choose(offers: &[BatonOffer], taker: BatonTaker<'_>) -> BatonChoice {
    let own_client = |offer: &BatonOffer| taker.client_pid != 0 && offer.baton.client_pid == taker.client_pid;
    let open = |offer: &BatonOffer| {
        let is_free = match offer.client {
            ClientProcess::Gone | ClientProcess::Unknown => true,
            ClientProcess::Alive => own_client(offer),
        };
        let is_same_agent = agent_of(&offer.baton.session) == agent_of(taker.session);
        offer.baton.trigger.is_on_purpose() || (is_free && is_same_agent && !taker.only_on_purpose)
    };
    let mut order: Vec<usize> = (0..offers.len()).filter(|index| open(&offers[*index])).collect();
    order.sort_by_key(|index| (!own_client(&offers[*index]), Reverse(offers[*index].baton.at)));
    let (own, others): (Vec<usize>, Vec<usize>) =
        order.into_iter().partition(|index| offers[*index].baton.session == taker.session);
    let (expired, fresh): (Vec<usize>, Vec<usize>) =
        others.into_iter().partition(|index| offers[*index].baton.is_expired(taker.now));
    let none = match (expired.is_empty(), own.is_empty()) {
        (false, _) => NoBaton::Expired,
        (true, false) => NoBaton::SelfHandoff,
        (true, true) => NoBaton::None,
    };
    BatonChoice { taken: if fresh.is_empty() { Err(none) } else { Ok(fresh) }, expired }
}
