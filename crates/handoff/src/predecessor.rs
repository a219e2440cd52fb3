//! Which session a new session inherits: the one that a baton names, or after a `/clear` without a baton the newest one.
//! Also how many merges a chain may have.

use longhaul_core::{Millis, SessionId};

use crate::NoBaton;

/// The maximum number of merges in a chain. A longer chain counts as broken.
pub const MAX_MERGES: usize = 10;

/// A session as a link in a chain of inheritances.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ChainSession {
    /// The session's id.
    pub id: String,
    /// The time at which it was first seen.
    pub created: Millis,
    /// The session that inherited it.
    pub merged_into: Option<String>,
    /// Whether a client process other than the heir's is running it now.
    pub live_elsewhere: bool,
}

impl ChainSession {
    /// Returns a session that was not inherited, and that no other client process is running.
    pub fn new(id: impl Into<String>, created: Millis) -> Self {
        Self { id: id.into(), created, ..Self::default() }
    }
}

/// Why a chain of merges has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// It contains a cycle.
    #[error("it contains a cycle")]
    Cycle,
    /// It has more than [`MAX_MERGES`] merges.
    #[error("it has more than {MAX_MERGES} merges")]
    TooLong,
}

/// Why a session is not inherited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.as_str())]
#[non_exhaustive]
pub enum Refusal {
    /// It is the heir itself.
    SelfHandoff,
    /// It is unknown.
    NotFound,
    /// It was already inherited, by the heir itself or by a session that another client process is running.
    AlreadyMerged,
    /// It is not older than the heir.
    NotOlder,
    /// Its chain of merges has no end.
    BrokenChain(ChainError),
}

/// Follows the merges from `id` to the session that holds its memory now.
///
/// `merged_into` returns the session that inherited a session, or `None` where there is none. A late write of a merged
/// session belongs to the returned session, too.
pub fn follow(id: &str, mut merged_into: impl FnMut(&str) -> Option<String>) -> Result<String, ChainError> {
    let mut passed = vec![id.to_owned()];
    let mut current = id.to_owned();
    while let Some(next) = merged_into(&current) {
        if passed.contains(&next) {
            return Err(ChainError::Cycle);
        }
        if passed.len() > MAX_MERGES {
            return Err(ChainError::TooLong);
        }
        passed.push(next.clone());
        current = next;
    }
    Ok(current)
}

/// Returns the session that `heir` inherits when a baton names `wanted`: the end of its chain of merges.
///
/// Returns an error where that session must not be inherited.
pub fn predecessor(
    heir: &ChainSession,
    wanted: &str,
    mut find: impl FnMut(&str) -> Option<ChainSession>,
) -> Result<ChainSession, Refusal> {
    if wanted == heir.id {
        return Err(Refusal::SelfHandoff);
    }
    find(wanted).ok_or(Refusal::NotFound)?;
    let end = follow(wanted, |id| find(id)?.merged_into).map_err(Refusal::BrokenChain)?;
    if end == heir.id {
        return Err(Refusal::AlreadyMerged);
    }
    let session = find(&end).ok_or(Refusal::NotFound)?;
    if end != wanted && session.live_elsewhere {
        return Err(Refusal::AlreadyMerged);
    }
    if session.created >= heir.created {
        return Err(Refusal::NotOlder);
    }
    Ok(session)
}

/// A session of the project that could be continued after a `/clear` that left no baton.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallbackSession {
    /// The session.
    pub session: ChainSession,
    /// Whether the client process of the heir ran it.
    pub is_of_own_client: bool,
    /// Whether it has turns to hand over.
    pub has_turns: bool,
}

/// Returns the session that `heir` continues after a `/clear` that left no baton, or why there is none.
///
/// It is the newest session with turns that is older than `heir`, was not inherited, and is not in use. Sessions of the
/// heir's client process take precedence.
pub fn fall_back<'a>(heir: &ChainSession, sessions: &'a [FallbackSession]) -> Result<&'a ChainSession, NoBaton> {
    // `/clear` cannot have cleared a session of another agent.
    let agent = |session: &ChainSession| SessionId::new(&session.id).map(|id| id.client());
    let is_other = |other: &&FallbackSession| other.session.id != heir.id && agent(&other.session) == agent(heir);
    let others: Vec<&FallbackSession> = sessions.iter().filter(is_other).collect();
    let with_turns: Vec<&FallbackSession> = others.iter().copied().filter(|other| other.has_turns).collect();
    let is_free = |session: &&ChainSession| {
        session.merged_into.is_none() && !session.live_elsewhere && session.created < heir.created
    };
    let newest = |of_any_client: bool| {
        let wanted = with_turns.iter().filter(|other| of_any_client || other.is_of_own_client);
        wanted.map(|other| &other.session).filter(is_free).max_by_key(|session| session.created)
    };
    newest(false).or_else(|| newest(true)).ok_or(match (others.is_empty(), with_turns.is_empty()) {
        (true, _) => NoBaton::NoSession,
        (false, true) => NoBaton::NoTurns,
        (false, false) => NoBaton::NoneFree,
    })
}

impl Refusal {
    /// Returns the reason as `longhaul handoff log` shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SelfHandoff => "self_handoff",
            Self::NotFound => "predecessor_not_found",
            Self::AlreadyMerged => "already_merged",
            Self::NotOlder => "predecessor_not_older",
            Self::BrokenChain(ChainError::Cycle) => "merge_cycle",
            Self::BrokenChain(ChainError::TooLong) => "merge_chain_too_long",
        }
    }
}
