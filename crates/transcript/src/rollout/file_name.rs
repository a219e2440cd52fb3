//! The ids in the name of a rollout's file.

use std::path::Path;

/// The beginning of the name of a rollout's file.
const PREFIX: &str = "rollout-";

/// The length of a UUID.
const UUID_CHARS: usize = 36;

/// The ids in the name of a rollout's file: `rollout-TIME-SESSION.jsonl`, and after a rewind
/// `rollout-TIME-SESSION_ROLLOUT.jsonl`. A compressed file also has the extension `zst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RolloutName<'a> {
    /// Codex's id of the session.
    pub session: &'a str,
    /// The id of the rollout; for the first rollout of a session, that of the session.
    ///
    /// These ids begin with the time, so that their order is that in which the rollouts of a session were begun.
    pub rollout: &'a str,
}

impl<'a> RolloutName<'a> {
    /// Parses the name of the file at `path`; returns `None` where it is not that of a rollout.
    pub fn of(path: &'a Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl")?.strip_prefix(PREFIX)?;
        let (first, later) = stem.split_once('_').map_or((stem, None), |(first, later)| (first, Some(later)));
        let session = first.get(first.len().checked_sub(UUID_CHARS)?..)?;
        Some(Self { session, rollout: later.unwrap_or(session) })
    }
}
