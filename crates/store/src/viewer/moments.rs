//! One session on one axis: prompts, turns, tool calls, bookmarks and summaries.

use longhaul_core::Millis;
use longhaul_memory::Kind;
use rusqlite::{Connection, Row};

use crate::memory::records::{raw_chars, texts};
use crate::{RecordId, Store, StoreError, What, cannot};

/// What something on the axis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MomentId {
    /// A prompt, an observation or a summary.
    Record(RecordId),
    /// The turn with this number.
    Turn(i64),
    /// A bookmark.
    Bookmark(i64),
}

/// Something on the axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// Which.
    pub id: MomentId,
    /// When.
    pub at: Millis,
    /// When a turn's reply ended.
    pub until: Option<Millis>,
    /// It in one line.
    pub title: String,
    /// The rest.
    pub text: String,
    /// What an observation is about.
    pub kind: Option<Kind>,
    /// The number of the prompt.
    pub prompt_number: Option<i64>,
    /// Whether it went wrong.
    pub is_error: bool,
    /// Files that were read or changed.
    pub files: Vec<String>,
    /// Bytes of all of it.
    pub chars: u64,
}

/// Bytes are counted as a search counts them, what joins two columns included.
/// Each gives: number, time, end, title, text, kind, prompt, whether it failed, two lists of files, bytes.
/// `?1` is the session's name, `?2` the time before which, `?3` how many.
const SOURCES: [&str; 5] = [
    "SELECT t.id, t.created_at, NULL, t.prompt, '', '', t.prompt_number, 0, '[]', '[]', octet_length(t.prompt)
     FROM user_prompts t WHERE t.session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND t.created_at < ?2
     ORDER BY t.created_at DESC, t.id DESC LIMIT ?3",
    "SELECT t.turn_number, t.created_at, a.created_at, coalesce(nullif(m.summary, ''), k.summary, u.text, ''),
            coalesce(a.text, t.pending_reply, ''), '', NULL, t.interrupted OR t.failure IS NOT NULL, '[]', '[]',
            max(t.chars, octet_length(coalesce(u.text, '')) + octet_length(coalesce(a.text, t.pending_reply, '')))
     FROM turns t
     LEFT JOIN bodies u ON u.session_id = t.session_id AND u.origin_session_id = t.origin_session_id
                       AND u.turn_number = t.turn_number AND u.role = 'user'
     LEFT JOIN bodies a ON a.session_id = t.session_id AND a.origin_session_id = t.origin_session_id
                       AND a.turn_number = t.turn_number AND a.role = 'assistant'
     LEFT JOIN skeletons k ON k.session_id = t.session_id AND k.origin_session_id = t.origin_session_id
                          AND k.turn_number = t.turn_number AND k.role = 'turn'
     LEFT JOIN skeletons m ON m.session_id = t.session_id AND m.origin_session_id = t.origin_session_id
                          AND m.turn_number = t.turn_number AND m.role = 'model'
     WHERE t.origin_session_id = ?1 AND t.replaced = 0 AND t.created_at < ?2
     ORDER BY t.created_at DESC, t.turn_number DESC LIMIT ?3",
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
    /// Returns what happened in a session before a moment, the last `most` of it, the oldest first; and whether there is
    /// more from before that.
    ///
    /// What happened in the same millisecond is never torn apart, so that the first one's time is where to go on.
    pub fn moments(
        &self,
        session: &str,
        before: Option<Millis>,
        most: usize,
    ) -> Result<(Vec<Moment>, bool), StoreError> {
        let before = before.map_or(i64::MAX, |at| i64::try_from(at.0).unwrap_or(i64::MAX));
        gather(&self.connection, session, before, most).map_err(cannot("read the session's timeline"))
    }
}

fn gather(connection: &Connection, session: &str, before: i64, most: usize) -> rusqlite::Result<(Vec<Moment>, bool)> {
    let mut found: Vec<Moment> = Vec::new();
    for (source, sql) in SOURCES.iter().enumerate() {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map((session, before, most as i64 + 1), |row| read(source, row))?;
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
            moment.chars += raw_chars(connection, session, id)?;
        }
    }
    Ok((found, more))
}

/// At the same moment, a turn begins with its prompt, and a summary comes last.
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
        at: Millis(row.get::<_, i64>(1)?.unsigned_abs()),
        until: row.get::<_, Option<i64>>(2)?.map(|ms| Millis(ms.unsigned_abs())),
        title: row.get(3)?,
        text: row.get(4)?,
        kind: Kind::from_name(&row.get::<_, String>(5)?),
        prompt_number: row.get(6)?,
        is_error: row.get(7)?,
        files: texts(&modified).into_iter().chain(texts(&read)).collect(),
        chars: row.get::<_, i64>(10)?.unsigned_abs(),
    })
}
