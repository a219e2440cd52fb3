//! Which stored turn is the one that a source tells of: hooks, transcripts, rollouts, imports and other programs each know a part
//! of it, in any order, and some of them more than once.

use rusqlite::{Connection, Row};

use crate::pending_replies::squeeze;
use crate::row_ids::SessionRow;

/// How far apart the times may be that two sources give one and the same prompt.
pub(crate) const SAME_PROMPT_MS: i64 = 120_000;

/// What a source knows of a turn.
pub(crate) struct Told<'a> {
    /// The ids that a prompt may have been stored with.
    pub(crate) ids: [Option<&'a str>; 2],
    pub(crate) prompt: &'a str,
    pub(crate) at: i64,
}

/// Returns the turn that only hooks have told so far, now that the transcript has it.
pub(crate) fn without_transcript(
    connection: &Connection,
    session: SessionRow,
    told: &Told<'_>,
) -> rusqlite::Result<Option<i64>> {
    // A reply that a hook has told may come long after the prompt.
    let sql = "SELECT id, prompt_id, turn_id, prompt, created_at, 0 FROM turns
               WHERE session_id = ?1 AND number IS NULL AND forgotten = 0
               UNION ALL
               SELECT id, prompt_id, turn_id, prompt, created_at, 1 FROM turns
               WHERE session_id = ?1 AND turn_id BETWEEN 'hook:' AND 'hook;' AND forgotten = 0";
    let mut statement = connection.prepare_cached(sql)?;
    nearest(told, statement.query_map([session], Candidate::read)?)
}

/// Returns the turn that the transcript has brought, now that the memory is to have its prompt: the database may have been locked,
/// or the memory off.
pub(crate) fn without_memory(
    connection: &Connection,
    session: SessionRow,
    owner: SessionRow,
    told: &Told<'_>,
) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT id, prompt_id, turn_id, prompt, began_at, 0 FROM turns
               WHERE owner_id = ?2 AND began_at BETWEEN ?3 - ?4 AND ?3 + ?4 AND session_id = ?1 AND prompt_number IS NULL
               AND forgotten = 0 AND role <> 'bookmark'";
    let mut statement = connection.prepare_cached(sql)?;
    nearest(told, statement.query_map((session, owner, told.at, SAME_PROMPT_MS), Candidate::read)?)
}

struct Candidate {
    id: i64,
    /// Of the prompt and of the turn.
    ids: [Option<String>; 2],
    prompt: Option<String>,
    at: i64,
    is_late: bool,
}

impl Candidate {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let ids = [row.get(1)?, row.get(2)?];
        Ok(Self { id: row.get(0)?, ids, prompt: row.get(3)?, at: row.get(4)?, is_late: row.get(5)? })
    }

    /// Returns how far it is from being the turn: whether its id is not known to be the same, and the time between; `None` if it
    /// is another one.
    fn distance(&self, told: &Told<'_>) -> Option<(bool, u64)> {
        let is_same_id = self.ids.iter().flatten().any(|id| told.ids.contains(&Some(id.as_str())));
        let is_other_id = !is_same_id && self.ids[0].is_some() && told.ids[0].is_some();
        let apart = self.at.abs_diff(told.at);
        let is_near = is_same_id || self.is_late || apart <= SAME_PROMPT_MS.unsigned_abs();
        let is_same = self.prompt.as_deref().is_some_and(|prompt| squeeze(prompt) == squeeze(told.prompt));
        (!is_other_id && is_near && is_same).then_some((!is_same_id, apart))
    }
}

fn nearest(
    told: &Told<'_>,
    candidates: impl Iterator<Item = rusqlite::Result<Candidate>>,
) -> rusqlite::Result<Option<i64>> {
    let mut best = None;
    for candidate in candidates {
        let candidate = candidate?;
        let distance = candidate.distance(told);
        if let Some(distance) = distance
            && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, candidate.id));
        }
    }
    Ok(best.map(|(_, id)| id))
}
