//! Which session is inherited, and why not.

use std::fmt;

use longhaul_core::Millis;

/// How many merges are followed before the chain counts as broken.
pub const MAX_MERGES: usize = 10;

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChainSession {
    /// Its id.
    pub id: String,
    /// When it was first seen.
    pub created: Millis,
    /// The session that inherited it.
    pub merged_into: Option<String>,
    /// Whether a client other than the asking one is running it now.
    pub live_elsewhere: bool,
}

/// Why a chain of merges has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainError {
    /// It comes back to a session that it passed.
    Cycle,
    /// It is longer than [`MAX_MERGES`].
    TooLong,
}

/// Why a session is not inherited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is the session that would inherit.
    SelfHandoff,
    /// Nobody knows it.
    NotFound,
    /// Its memory has already gone into the session that asks, or into one that somebody else is working in.
    AlreadyMerged,
    /// It is not older than the session that would inherit.
    NotOlder,
    /// Its merges lead nowhere.
    BrokenChain(ChainError),
}

/// Follows `merged_into` from `id` to the session that holds its memory now.
///
/// `merged_into` returns where a session went, or `None` for one that is still its own. Also the way to find where a
/// late write of a merged session belongs.
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

/// Decides whom `heir` inherits when a baton names `wanted`: the end of its chain of merges, or nobody and why.
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

/// Returns the newest session that nobody inherited and nobody works in, older than `heir`: the fallback after a
/// `/clear` that left no baton.
pub fn newest_unmerged<'a>(heir: &ChainSession, sessions: &'a [ChainSession]) -> Option<&'a ChainSession> {
    sessions
        .iter()
        .filter(|session| session.merged_into.is_none() && !session.live_elsewhere && session.id != heir.id)
        .filter(|session| session.created < heir.created)
        .max_by_key(|session| session.created)
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

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
