//! Which baton a starting session takes.

use std::cmp::Reverse;
use std::fmt;

use longhaul_core::Millis;

use crate::baton::{Baton, BatonTrigger};

/// What is known of the client that passed a baton.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientProcess {
    /// Its process runs.
    Alive,
    /// Its process is gone.
    Gone,
    /// It never said which process it is.
    Unknown,
}

/// A baton of the project, and the state of the client that passed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatonOffer {
    /// The baton.
    pub baton: Baton,
    /// The client behind `baton.client_pid`.
    pub client: ClientProcess,
}

/// The session that starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatonTaker<'a> {
    /// Its id.
    pub session: &'a str,
    /// Its client (`CLAUDE_PID`), 0 where unknown.
    pub client_pid: u32,
    /// Now.
    pub now: Millis,
}

/// Why no baton was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoBaton {
    /// There is none for this session.
    None,
    /// There was one, but it waited too long.
    Expired,
    /// The only one is the session's own, and waits for another.
    SelfHandoff,
    /// There is none, and the project has no other session that is known.
    NoSession,
    /// There is none, and of no other session of the project a turn is known.
    NoTurns,
    /// There is none, and every other session of the project is handed over, at work, or no older than this one.
    NoneFree,
}

/// What to do with the batons of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatonChoice {
    /// The offers to take, in the order in which to try them, or why none.
    pub taken: Result<Vec<usize>, NoBaton>,
    /// Offers that this session could have had but for their age: to be discarded, each with a line in the log.
    pub expired: Vec<usize>,
}

/// Chooses among the project's batons, read in the transaction that deletes what is taken or expired.
///
/// The session's own client comes first: two windows in one project that are cleared together never swap memories.
/// Else the newest baton whose client is gone or unknown, or that was passed by `/tl`, which may be meant for any
/// window. A session's own baton is neither taken nor discarded: a resumed or compacted session starts again under the
/// same id and must not eat what it left for another.
pub fn choose(offers: &[BatonOffer], taker: BatonTaker<'_>) -> BatonChoice {
    let own_client = |offer: &BatonOffer| taker.client_pid != 0 && offer.baton.client_pid == taker.client_pid;
    let open = |offer: &BatonOffer| {
        own_client(offer)
            || match offer.client {
                ClientProcess::Gone | ClientProcess::Unknown => true,
                ClientProcess::Alive => offer.baton.trigger == BatonTrigger::Tl,
            }
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

impl NoBaton {
    /// Returns the reason as `longhaul handoff log` shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "no_baton",
            Self::Expired => "expired",
            Self::SelfHandoff => "self_handoff",
            Self::NoSession => "no_baton_no_session",
            Self::NoTurns => "no_baton_no_turns",
            Self::NoneFree => "no_baton_none_free",
        }
    }
}

impl fmt::Display for NoBaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
