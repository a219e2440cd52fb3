//! The timeline of one session: prompts, turns, tool calls, bookmarks and summaries.

use longhaul_core::Millis;
use longhaul_memory::Kind;
use rusqlite::{Connection, Row};

use crate::memory::records::{raw_chars, texts};
use crate::row_ids::Time;
use crate::sync::{host_of, host_of_bookmark};
use crate::{RecordId, Store, StoreError, What, cannot};

/// What an entry of the timeline is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MomentId {
    /// A prompt, an observation or a summary.
    Record(RecordId),
    /// The turn with this number.
    Turn(i64),
    /// A bookmark.
    Bookmark(i64),
}

/// An entry of the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// What it is.
    pub id: MomentId,
    /// When it happened, or began.
    pub at: Millis,
    /// When a turn's reply ended.
    pub until: Option<Millis>,
    /// It in one line.
    pub title: String,
    /// Further text.
    pub text: String,
    /// The kind of an observation.
    pub kind: Option<Kind>,
    /// The number of the prompt.
    pub prompt_number: Option<i64>,
    /// Whether it failed.
    pub is_error: bool,
    /// Files that were read or changed.
    pub files: Vec<String>,
    /// Bytes of its whole text.
    pub bytes: u64,
    /// The other machine that a record or a bookmark comes from; `None` if it was made here.
    pub host: Option<String>,
}

/// The statements that read the entries of each kind.
///
/// Each returns: number, time, end, title, text, kind, number of the prompt, whether it failed, two lists of files, bytes.
/// Bytes are counted as a search counts them, including what joins two columns. `?1` is the session's id, `?2` the time
/// before which entries are read, `?3` how many.
const SOURCES: [&str; 5] = [
    "SELECT t.id, t.created_at, NULL, t.prompt, '', '', t.prompt_number, 0, '[]', '[]', octet_length(t.prompt)
     FROM prompts t WHERE t.session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND t.created_at < ?2
     ORDER BY t.created_at DESC, t.id DESC LIMIT ?3",
    "SELECT t.number, t.began_at, t.replied_at, coalesce(nullif(t.model_line, ''), t.line, t.prompt, ''),
            coalesce(t.reply, ''), '', NULL, t.interrupted OR t.failure IS NOT NULL, '[]', '[]',
            max(t.chars, octet_length(coalesce(t.prompt, '')) + octet_length(coalesce(t.reply, '')))
     FROM turns t
     WHERE t.session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND t.replaced = 0 AND t.role <> 'bookmark'
       AND t.began_at < ?2
     ORDER BY t.began_at DESC, t.number DESC LIMIT ?3",
    "SELECT t.id, t.created_at, NULL, t.title, t.narrative, t.kind, t.prompt_number, t.kind = 'problem',
            t.files_modified, t.files_read,
            octet_length(t.title) + octet_length(t.narrative) + octet_length(t.facts)
            + octet_length(t.files_modified) + octet_length(t.files_read) + 2
     FROM observations t WHERE t.session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND t.created_at < ?2
     ORDER BY t.created_at DESC, t.id DESC LIMIT ?3",
    "SELECT t.id, t.created_at, NULL, coalesce(t.note, ''), coalesce(t.git_commit, ''), '', NULL, 0, '[]', '[]', 0
     FROM bookmarks t WHERE t.session_id = ?1 AND t.created_at < ?2 ORDER BY t.created_at DESC, t.id DESC LIMIT ?3",
    "SELECT t.id, t.created_at, NULL, t.request,
            trim(t.investigated || char(10) || t.learned || char(10) || t.completed || char(10) || t.next_steps, char(10)),
            '', t.prompt_number, 0, '[]', '[]', octet_length(t.request) + octet_length(t.investigated)
            + octet_length(t.learned) + octet_length(t.completed) + octet_length(t.next_steps) + 3
     FROM session_summaries t WHERE t.session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND t.created_at < ?2
     ORDER BY t.created_at DESC, t.id DESC LIMIT ?3",
];

impl Store {
    /// Returns the last `most` entries of a session from before a time, the oldest first; and whether there are older ones.
    ///
    /// Entries of the same millisecond are never separated, so that the time of the first is where the next page ends.
    pub fn moments(
        &self,
        session: &str,
        before: Option<Millis>,
        most: usize,
    ) -> Result<(Vec<Moment>, bool), StoreError> {
        let before = before.unwrap_or(Millis(u64::MAX));
        gather(&self.connection, session, before, most).map_err(cannot("read the session's timeline"))
    }
}

fn gather(
    connection: &Connection,
    session: &str,
    before: Millis,
    most: usize,
) -> rusqlite::Result<(Vec<Moment>, bool)> {
    let mut found: Vec<Moment> = Vec::new();
    for (source, sql) in SOURCES.iter().enumerate() {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map((session, Time(before), most as i64 + 1), |row| read(source, row))?;
        for row in rows {
            found.push(row?);
        }
    }
    found.sort_by_key(|moment| (moment.at, rank(moment.id), moment.id));
    let more = found.len() > most;
    if more {
        let cut = found.len() - most;
        let (torn, first) = (found[cut - 1].at, found[cut].at);
        found.drain(..cut);
        if torn == first && found.last().is_some_and(|last| last.at != first) {
            found.retain(|moment| moment.at != first);
        }
    }
    for moment in &mut found {
        if let MomentId::Record(RecordId { what: What::Observation, id }) = moment.id {
            moment.bytes += raw_chars(connection, id)?;
        }
        moment.host = match moment.id {
            MomentId::Record(RecordId { what, id }) => host_of(connection, what, id)?,
            MomentId::Bookmark(id) => host_of_bookmark(connection, id)?,
            MomentId::Turn(_) => None,
        };
    }
    Ok((found, more))
}

/// The order of entries of the same time: a turn begins with its prompt, and a summary comes last.
fn rank(id: MomentId) -> u8 {
    match id {
        MomentId::Turn(_) => 0,
        MomentId::Record(RecordId { what: What::Prompt, .. }) => 1,
        MomentId::Record(RecordId { what: What::Observation, .. }) => 2,
        MomentId::Bookmark(_) => 3,
        MomentId::Record(RecordId { what: What::Summary, .. }) => 4,
    }
}

fn read(source: usize, row: &Row<'_>) -> rusqlite::Result<Moment> {
    let id: i64 = row.get(0)?;
    let record = |what: What| MomentId::Record(RecordId { what, id });
    let (modified, read): (String, String) = (row.get(8)?, row.get(9)?);
    Ok(Moment {
        id: match source {
            0 => record(What::Prompt),
            1 => MomentId::Turn(id),
            2 => record(What::Observation),
            3 => MomentId::Bookmark(id),
            _ => record(What::Summary),
        },
        at: row.get::<_, Time>(1)?.into(),
        until: row.get::<_, Option<Time>>(2)?.map(Millis::from),
        title: row.get(3)?,
        text: row.get(4)?,
        kind: Kind::from_name(&row.get::<_, String>(5)?),
        prompt_number: row.get(6)?,
        is_error: row.get(7)?,
        files: texts(&modified).into_iter().chain(texts(&read)).collect(),
        bytes: row.get::<_, i64>(10)?.unsigned_abs(),
        host: None,
    })
}
