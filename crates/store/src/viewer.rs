//! What the viewer in a browser shows: pages of records, sessions with their counts, the timeline of one session, and days.
//!
//! Everything here only reads, through connections that stay open for long and use little memory.

use std::path::Path;
use std::time::Duration;

use longhaul_core::Millis;
use longhaul_core::clock::DAY_MS;
use longhaul_memory::Kind;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Row, params_from_iter};

use crate::lock_queue::LockQueue;
use crate::memory::records::{RawText, raw_chars, record, texts};
use crate::memory::session_row::project_row;
use crate::recall::Candidate;
use crate::recall::key::Key;
use crate::row_ids::{ProjectRow, Time};
use crate::sql::Sql;
use crate::sync::HOST_NAME;
use crate::{Record, RecordId, Store, StoreError, What, cannot};

impl Store {
    /// Opens an existing database for reading, over a long time and with little memory.
    pub fn open_to_read(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let open = |error| StoreError::open(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(open)?;
        let lock_queue = LockQueue::install(&mut connection, path, patience).map_err(open)?;
        crate::keep_statements(&connection).map_err(open)?;
        // Half a megabyte: the system caches the file's pages anyway.
        connection.execute_batch("PRAGMA cache_size = -512; PRAGMA mmap_size = 0;").map_err(open)?;
        // A reader does not update the schema, so it must refuse one that it does not know.
        crate::schema::must_be_current(&connection, path)?;
        Ok(Self { connection, lock_queue })
    }

    /// Returns whether the database has the schema of this version. A newer version may have changed it since it was opened.
    pub fn is_current(&self) -> Result<bool, StoreError> {
        crate::schema::is_current(&self.connection).map_err(cannot("read the version of the database"))
    }

    /// Returns a number that changes when another connection has written.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        self.connection
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(cannot("read whether the database has changed"))
    }

    /// Reads pages into the cache from now on, instead of mapping the file: the memory of the process then does not grow with
    /// the file.
    pub fn read_without_mapping(&self) -> Result<(), StoreError> {
        self.connection.execute_batch("PRAGMA mmap_size = 0;").map_err(cannot("set how the database is read"))
    }

    pub fn set_cache(&self, kibibytes: u32) -> Result<(), StoreError> {
        self.connection
            .pragma_update(None, "cache_size", -i64::from(kibibytes))
            .map_err(cannot("set the size of the cache"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub record: Record,
    /// Bytes of the whole record, raw tool text included.
    pub bytes: u64,
}

/// Which records a page has.
#[derive(Debug, Clone, Default)]
pub struct Only<'a> {
    pub project_key: Option<&'a str>,
    pub session: Option<&'a str>,
    /// Observations of these kinds; empty for all.
    pub kinds: &'a [Kind],
    /// Stored before the one with this number.
    pub before: Option<i64>,
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Newest {
    /// The newest prompt's number; 0 where there is none.
    pub prompt: i64,
    pub observation: i64,
    pub summary: i64,
    /// When a summary was last written. An old summary may be rewritten.
    pub summary_at: Millis,
}

impl Store {
    /// Returns a page of records without their raw text, the last stored first.
    pub fn entries(&self, what: What, only: &Only<'_>) -> Result<Vec<Entry>, StoreError> {
        let (sql, values) = page(what, only);
        self.list_entries(what, &sql, values)
    }

    /// Returns records with their raw text, in the order asked for; those that are not there are left out.
    pub fn whole_entries(&self, ids: &[RecordId]) -> Result<Vec<Entry>, StoreError> {
        let read = |id: &RecordId| entry(&self.connection, *id, RawText::With).transpose();
        ids.iter().filter_map(read).collect::<Result<_, _>>().map_err(cannot("read the records"))
    }

    pub fn newest(&self) -> Result<Newest, StoreError> {
        self.try_to("look for the newest records", |connection| {
            let number = |sql: &str| connection.one(sql, []).map(Option::<i64>::unwrap_or_default);
            let summary_at = number(
                "SELECT max((SELECT max(created_at) FROM session_summaries WHERE project_id = p.id))
                 FROM projects p WHERE p.project_key IS NOT NULL",
            )?;
            Ok(Newest {
                prompt: number("SELECT max(id) FROM prompts")?,
                observation: number("SELECT max(id) FROM observations")?,
                summary: number("SELECT max(id) FROM session_summaries")?,
                summary_at: Millis(summary_at.unsigned_abs()),
            })
        })
    }

    /// Returns the last `most` records that were stored after `since`, the oldest first.
    pub fn entries_since(&self, what: What, since: &Newest, most: usize) -> Result<Vec<Entry>, StoreError> {
        let (most, after) = (Value::from(most as i64), |id: i64| Value::from(id));
        let by_number = |table: &str| format!("SELECT id FROM {table} WHERE id > ?1 ORDER BY id DESC LIMIT ?2");
        let (sql, values) = match what {
            What::Prompt => (by_number("prompts"), vec![after(since.prompt), most]),
            What::Observation => (by_number("observations"), vec![after(since.observation), most]),
            // Project by project: the index by time begins with the project.
            What::Summary => (
                "SELECT t.id FROM projects p CROSS JOIN session_summaries t ON t.project_id = p.id
                 AND t.created_at > ?1 WHERE p.project_key IS NOT NULL ORDER BY t.created_at DESC LIMIT ?2"
                    .to_owned(),
                vec![after(i64::try_from(since.summary_at.0).unwrap_or(i64::MAX)), most],
            ),
        };
        let mut found = self.list_entries(what, &sql, values)?;
        found.reverse();
        Ok(found)
    }

    fn list_entries(&self, what: What, sql: &str, values: Vec<Value>) -> Result<Vec<Entry>, StoreError> {
        self.try_to("list the records", |connection| {
            let ids: Vec<i64> = connection.all(sql, params_from_iter(values))?;
            let read = |id: i64| entry(connection, RecordId { what, id }, RawText::Without).transpose();
            ids.into_iter().filter_map(read).collect()
        })
    }
}

/// Returns the statement for a page. It has only the conditions that are asked for, so that SQLite uses the right index.
fn page(what: What, only: &Only<'_>) -> (String, Vec<Value>) {
    let mut terms = vec!["1".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    let mut add = |term: &str, value: Value| {
        values.push(value);
        terms.push(term.replace('?', &format!("?{}", values.len())));
    };
    if let Some(before) = only.before {
        add("t.id < ?", before.into());
    }
    if let Some(key) = only.project_key {
        add("t.project_id = (SELECT id FROM projects WHERE project_key = ?)", key.to_owned().into());
    }
    if let Some(session) = only.session {
        add("t.session_id = (SELECT id FROM sessions WHERE session_id = ?)", session.to_owned().into());
    }
    if what == What::Observation && !only.kinds.is_empty() {
        let kinds: Vec<&str> = only.kinds.iter().map(|kind| kind.as_str()).collect();
        // Names of our own: nothing in them needs quoting.
        terms.push(format!("t.kind IN ('{}')", kinds.join("','")));
    }
    values.push((only.limit as i64).into());
    // The plus keeps SQLite from using another index than that of the session's rows.
    let order = if only.session.is_some() { "+t.id" } else { "t.id" };
    let sql = format!(
        "SELECT t.id FROM {} t WHERE {} ORDER BY {order} DESC LIMIT ?{}",
        what.table(),
        terms.join(" AND "),
        values.len()
    );
    (sql, values)
}

fn entry(connection: &Connection, id: RecordId, raw: RawText) -> rusqlite::Result<Option<Entry>> {
    let Some(record) = record(connection, id, raw)? else { return Ok(None) };
    let Some(stored) = Candidate::stored(connection, Key::new(0, id.what, id.id))? else { return Ok(None) };
    Ok(Some(Entry { record, bytes: stored.line(connection)?.chars }))
}

/// A session, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOverview {
    pub id: i64,
    pub session: String,
    /// The other host on which it ran; `None` for this one.
    pub host: Option<String>,
    pub project: String,
    pub project_key: String,
    pub project_path: String,
    /// `initialized`, `active` or `completed`.
    pub status: String,
    pub end_reason: Option<String>,
    pub first_prompt: Option<String>,
    pub last_prompt: Option<String>,
    /// The session that has inherited it.
    pub merged_into: Option<String>,
    pub created_at: Millis,
    pub completed_at: Option<Millis>,
    /// When something of it was last stored.
    pub last_at: Millis,
    pub counts: Counts,
    /// Bytes of everything in its turns.
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub prompts: u64,
    pub observations: u64,
    pub summaries: u64,
    pub turns: u64,
    pub bookmarks: u64,
}

const SESSION_COLUMNS: &str = "s.id, s.session_id, s.project, s.project_key, s.project_path, s.status, s.end_reason,
    -- A first prompt that no hook has reported is taken from the memory, or from the turns.
    coalesce(s.first_user_prompt,
        (SELECT t.prompt FROM prompts t WHERE t.session_id = s.id ORDER BY t.prompt_number LIMIT 1),
        (SELECT t.prompt FROM turns t WHERE t.session_id = s.id AND t.replaced = 0 AND t.number IS NOT NULL AND t.prompt IS NOT NULL
         ORDER BY t.number LIMIT 1)),
    coalesce(s.last_prompt,
        (SELECT t.prompt FROM prompts t WHERE t.session_id = s.id ORDER BY t.prompt_number DESC LIMIT 1)),
    s.merged_into, s.created_at, s.completed_at,
    (SELECT count(*) FROM prompts t WHERE t.session_id = s.id),
    (SELECT count(*) FROM observations t WHERE t.session_id = s.id),
    (SELECT count(*) FROM session_summaries t WHERE t.session_id = s.id),
    (SELECT count(*) FROM turns t WHERE t.session_id = s.id AND t.number IS NOT NULL AND t.replaced = 0 AND t.role <> 'bookmark'),
    (SELECT count(*) FROM bookmarks t WHERE t.session_id = s.session_id),
    (SELECT coalesce(sum(t.chars), 0) FROM turns t WHERE t.session_id = s.id AND t.replaced = 0),
    max(s.created_at, coalesce(s.completed_at, 0),
        coalesce((SELECT max(t.created_at) FROM observations t WHERE t.session_id = s.id), 0),
        coalesce((SELECT max(t.created_at) FROM prompts t WHERE t.session_id = s.id), 0),
        coalesce((SELECT max(t.created_at) FROM session_summaries t WHERE t.session_id = s.id), 0)),
    (SELECT iif(h.name = '', 'host', h.name) FROM sync_hosts h WHERE h.id = s.host_id AND h.is_own = 0)";

impl Store {
    /// Returns a page of sessions, the newest first, of a project or of all; `before` is the time and number of a session.
    pub fn session_overviews(
        &self,
        project_key: Option<&str>,
        before: Option<(Millis, i64)>,
        limit: usize,
    ) -> Result<Vec<SessionOverview>, StoreError> {
        let (at, id) = before.map_or((i64::MAX, i64::MAX), |(at, id)| (at.0 as i64, id));
        let sql = format!(
            "SELECT {SESSION_COLUMNS} FROM sessions s
             WHERE (?1 IS NULL OR s.project_key = ?1) AND (s.created_at, s.id) < (?2, ?3)
             ORDER BY s.created_at DESC, s.id DESC LIMIT ?4"
        );
        self.connection
            .all_with(&sql, (project_key, at, id, limit as i64), read_session)
            .map_err(cannot("list the sessions"))
    }

    pub fn session_overview(&self, session: &str) -> Result<Option<SessionOverview>, StoreError> {
        let sql = format!("SELECT {SESSION_COLUMNS} FROM sessions s WHERE s.session_id = ?1");
        self.connection.first_with(&sql, [session], read_session).map_err(cannot("read the session"))
    }
}

fn read_session(row: &Row<'_>) -> rusqlite::Result<SessionOverview> {
    let count = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(SessionOverview {
        id: row.get(0)?,
        session: row.get(1)?,
        host: row.get(19)?,
        project: row.get(2)?,
        project_key: row.get(3)?,
        project_path: row.get(4)?,
        status: row.get(5)?,
        end_reason: row.get(6)?,
        first_prompt: row.get(7)?,
        last_prompt: row.get(8)?,
        merged_into: row.get(9)?,
        created_at: Millis(count(10)?),
        completed_at: row.get::<_, Option<Time>>(11)?.map(Millis::from),
        counts: Counts {
            prompts: count(12)?,
            observations: count(13)?,
            summaries: count(14)?,
            turns: count(15)?,
            bookmarks: count(16)?,
        },
        bytes: count(17)?,
        last_at: Millis(count(18)?),
    })
}

/// What an entry of the timeline is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MomentId {
    /// A prompt, an observation or a summary.
    Record(RecordId),
    /// The turn with this number.
    Turn(i64),
    Bookmark(i64),
}

/// An entry of the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    pub id: MomentId,
    /// When it happened, or began.
    pub at: Millis,
    /// When a turn's reply ended.
    pub until: Option<Millis>,
    pub title: String,
    pub text: String,
    /// The kind of an observation.
    pub kind: Option<Kind>,
    pub prompt_number: Option<i64>,
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
/// Each returns: number, time, end, title, text, kind, number of the prompt, whether it failed, two lists of files, bytes, host.
/// Bytes are counted as a search counts them, including what joins two columns. `?1` is the session's id, `?2` the time
/// before which entries are read, `?3` how many.
const MOMENT_SOURCES: [&str; 5] = [
    "SELECT t.id, t.created_at, NULL, t.prompt, '', '', t.prompt_number, 0, '[]', '[]', octet_length(t.prompt),
            t.host_id
     FROM prompts t WHERE t.session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND t.created_at < ?2
     ORDER BY t.created_at DESC, t.id DESC LIMIT ?3",
    "SELECT t.number, t.began_at, t.replied_at, coalesce(nullif(t.model_line, ''), t.line, t.prompt, ''),
            coalesce(t.reply, ''), '', NULL, t.interrupted OR t.failure IS NOT NULL, '[]', '[]',
            max(t.chars, octet_length(coalesce(t.prompt, '')) + octet_length(coalesce(t.reply, ''))), NULL AS host_id
     FROM turns t
     WHERE t.session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND t.replaced = 0 AND t.role <> 'bookmark'
       AND t.began_at < ?2
     ORDER BY t.began_at DESC, t.number DESC LIMIT ?3",
    "SELECT t.id, t.created_at, NULL, t.title, t.narrative, t.kind, t.prompt_number, t.kind = 'problem',
            t.files_modified, t.files_read,
            octet_length(t.title) + octet_length(t.narrative) + octet_length(t.facts)
            + octet_length(t.files_modified) + octet_length(t.files_read) + 2, t.host_id
     FROM observations t WHERE t.session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND t.created_at < ?2
     ORDER BY t.created_at DESC, t.id DESC LIMIT ?3",
    "SELECT t.id, t.created_at, NULL, coalesce(t.note, ''), coalesce(t.git_commit, ''), '', NULL, 0, '[]', '[]', 0, t.host_id
     FROM bookmarks t WHERE t.session_id = ?1 AND t.created_at < ?2 ORDER BY t.created_at DESC, t.id DESC LIMIT ?3",
    "SELECT t.id, t.created_at, NULL, t.request,
            trim(t.investigated || char(10) || t.learned || char(10) || t.completed || char(10) || t.next_steps, char(10)),
            '', t.prompt_number, 0, '[]', '[]', octet_length(t.request) + octet_length(t.investigated)
            + octet_length(t.learned) + octet_length(t.completed) + octet_length(t.next_steps) + 3, t.host_id
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
        self.try_to("read the session's timeline", |connection| {
            let mut found: Vec<Moment> = Vec::new();
            for (source, sql) in MOMENT_SOURCES.iter().enumerate() {
                let sql = format!("SELECT t.*, {HOST_NAME} FROM ({sql}) t");
                let values = (session, Time(before.unwrap_or(Millis(u64::MAX))), most as i64 + 1);
                found.extend(connection.all_with(&sql, values, |row| read_moment(source, row))?);
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
            }
            Ok((found, more))
        })
    }
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

fn read_moment(source: usize, row: &Row<'_>) -> rusqlite::Result<Moment> {
    let id: i64 = row.get(0)?;
    let record = |what: What| MomentId::Record(RecordId { what, id });
    let (modified, read_moment): (String, String) = (row.get(8)?, row.get(9)?);
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
        files: texts(&modified).into_iter().chain(texts(&read_moment)).collect(),
        bytes: row.get::<_, i64>(10)?.unsigned_abs(),
        host: row.get(12)?,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Day {
    /// Bytes of the turns that began.
    pub turn_bytes: u64,
    pub sessions: u64,
    pub prompts: u64,
    pub observations: u64,
    /// Bytes of prompts, observations and summaries.
    pub record_bytes: u64,
}

/// Each returns the day, the number of rows, and their bytes. `?1` is a project's row, `?2` its key, both NULL for all
/// projects; `?3` is the beginning of the first day, `?4` the length of a day.
const DAY_SOURCES: [&str; 5] = [
    "SELECT (t.began_at - ?3) / ?4, count(iif(t.role = 'bookmark', NULL, 1)), sum(t.chars) FROM turns t
     WHERE t.began_at >= ?3 AND t.replaced = 0 AND ?1 IS ?1
       AND (?2 IS NULL OR t.session_id IN (SELECT id FROM sessions WHERE project_key = ?2)) GROUP BY 1",
    "SELECT (t.created_at - ?3) / ?4, count(*), 0 FROM sessions t
     WHERE t.created_at >= ?3 AND ?1 IS ?1 AND (?2 IS NULL OR t.project_key = ?2) GROUP BY 1",
    "SELECT (t.created_at - ?3) / ?4, count(*), sum(octet_length(t.prompt))
     FROM projects p CROSS JOIN prompts t ON t.project_id = p.id AND t.created_at >= ?3
     WHERE p.project_key IS NOT NULL AND (?1 IS NULL OR p.id = ?1) AND ?2 IS ?2 GROUP BY 1",
    "SELECT (t.created_at - ?3) / ?4, count(*),
            sum(octet_length(t.title) + octet_length(t.narrative) + octet_length(t.facts)
                + octet_length(t.files_read) + octet_length(t.files_modified))
     FROM projects p CROSS JOIN observations t ON t.project_id = p.id AND t.created_at >= ?3
     WHERE p.project_key IS NOT NULL AND (?1 IS NULL OR p.id = ?1) AND ?2 IS ?2 GROUP BY 1",
    "SELECT (t.created_at - ?3) / ?4, count(*),
            sum(octet_length(t.request) + octet_length(t.investigated) + octet_length(t.learned)
                + octet_length(t.completed) + octet_length(t.next_steps))
     FROM projects p CROSS JOIN session_summaries t ON t.project_id = p.id AND t.created_at >= ?3
     WHERE p.project_key IS NOT NULL AND (?1 IS NULL OR p.id = ?1) AND ?2 IS ?2 GROUP BY 1",
];

impl Store {
    /// Returns what was stored on each of `days` days from `from` on, of a project or of all.
    pub fn days(&self, project_key: Option<&str>, from: Millis, days: usize) -> Result<Vec<Day>, StoreError> {
        self.try_to("count the days", |connection| {
            let mut counted = vec![Day::default(); days];
            // No project has the row 0.
            let row = |key| Ok::<_, rusqlite::Error>(project_row(connection, key)?.unwrap_or(ProjectRow(0)));
            let project = project_key.map(row).transpose()?;
            for (source, sql) in DAY_SOURCES.iter().enumerate() {
                let found: Vec<(i64, i64, Option<i64>)> =
                    connection.all(sql, (project, project_key, Time(from), DAY_MS))?;
                for (day, rows, size) in found {
                    let Some(day) = usize::try_from(day).ok().and_then(|day| counted.get_mut(day)) else { continue };
                    let (rows, size) = (rows.unsigned_abs(), size.unwrap_or_default().unsigned_abs());
                    match source {
                        0 => day.turn_bytes += size,
                        1 => day.sessions += rows,
                        2 => (day.prompts, day.record_bytes) = (day.prompts + rows, day.record_bytes + size),
                        3 => (day.observations, day.record_bytes) = (day.observations + rows, day.record_bytes + size),
                        _ => day.record_bytes += size,
                    }
                }
            }
            Ok(counted)
        })
    }
}
