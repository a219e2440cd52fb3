//! Adds what has changed in shared projects to the own log.
//!
//! Rows are read and compared without a transaction, because hooks would wait for it; what has to be added is written in small
//! ones, which check that it has not changed meanwhile.

use longhaul_core::Millis;
use longhaul_sync::{EntityId, ProjectId, RecordId};
use rusqlite::Connection;

use super::circle::{HostRow, own_row};
use super::content;
use super::entities::{self, EntityTable, RowEntity};
use super::log::LogWriter;
use crate::memory::records::RawText;
use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot, limit};

/// How many rows are compared, and added to the log in one transaction at most: hooks wait for it.
pub(super) const BATCH: usize = 100;

/// How long a row is looked at again: a reply grows, a model rewords.
const MAY_CHANGE_MS: u64 = 48 * 60 * 60 * 1_000;

/// How long a prompt waits for its reply before it is sent without.
const REPLY_MS: u64 = 30 * 60 * 1_000;

const ACTION: &str = "add changes to the log of sync";

/// How changes are added to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// The time of this host's clock.
    pub now: Millis,
    /// Whether raw tool text is part of a record.
    pub raw: bool,
}

impl Scan {
    pub(super) fn raw_text(self) -> RawText {
        if self.raw { RawText::With } else { RawText::Without }
    }
}

/// What was added to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Logged {
    /// Records of what is new or has changed.
    pub records: u64,
    /// Entities that were forgotten.
    pub forgotten: u64,
}

impl Store {
    /// Adds what was made, changed and forgotten in shared projects since the last call to the own log.
    ///
    /// `random` makes the random bytes of a record's id. Does nothing without a circle.
    pub fn log_changes(&self, scan: Scan, random: &mut dyn FnMut() -> [u8; 10]) -> Result<Logged, StoreError> {
        let mut logged = Logged::default();
        let Some(host) = own_row(&self.connection).map_err(cannot(ACTION))? else { return Ok(logged) };
        let has_forgotten = || {
            let sql = "SELECT 1 FROM sync_entities WHERE forgotten = 1";
            self.connection.has(sql, [])
        };
        while has_forgotten().map_err(cannot(ACTION))?
            && self.write(ACTION, |tx| match LogWriter::open(tx, scan.now, random)? {
                Some(writer) => writer.add_forgotten(&mut logged.forgotten),
                None => Ok(false),
            })?
        {}
        for project in shared(&self.connection).map_err(cannot(ACTION))? {
            for table in EntityTable::ALL {
                let random = &mut *random;
                let mut run =
                    TableScan { store: self, scan, host, project: &project, table, random, logged: &mut logged };
                run.add_changed()?;
                run.add_new()?;
            }
        }
        Ok(logged)
    }

    /// Returns how many rows were made since they were last looked at for the log, at most.
    pub fn rows_to_log(&self) -> Result<u64, StoreError> {
        let count = || -> rusqlite::Result<u64> {
            let mut rows = 0;
            for table in EntityTable::ALL {
                let (name, cursor) = names(table);
                let sql = format!(
                    "SELECT coalesce((SELECT max(id) FROM {name}), 0) - min({cursor}) FROM projects WHERE is_shared = 1"
                );
                let new: Option<i64> = self.connection.one(&sql, [])?;
                rows += new.unwrap_or_default().max(0).unsigned_abs();
            }
            Ok(rows)
        };
        count().map_err(cannot("count what is new for the log of sync"))
    }
}

/// A shared project.
struct Shared {
    id: i64,
    project: ProjectId,
    key: String,
    since: Time,
}

fn shared(connection: &Connection) -> rusqlite::Result<Vec<Shared>> {
    let sql = "SELECT id, sync_id, project_key, since FROM projects
               WHERE is_shared = 1 AND project_key IS NOT NULL ORDER BY id";
    connection.all_with(sql, [], |row| {
        let project = ProjectId::from_bytes(row.get(1)?);
        Ok(Shared { id: row.get(0)?, project, key: row.get(2)?, since: row.get(3)? })
    })
}

/// What is to be done about a row.
pub(super) enum ToLog {
    /// It is new or has changed.
    Add(Candidate),
    /// It was forgotten on another host, or an older database was imported: it does not come back.
    Delete { entity: EntityId, row: i64 },
}

/// A row that is to be added to the log.
pub(super) struct Candidate {
    pub(super) row: i64,
    pub(super) entity: EntityId,
    /// The version that is in the log, with its record.
    pub(super) before: Option<(u32, RecordId)>,
    pub(super) digest: [u8; 16],
}

/// What was found out about a row.
enum Looked {
    ToLog(ToLog),
    /// It is in the log as it is, or another host's.
    Nothing,
    /// It is looked at again later.
    Later,
}

/// How far the new rows of a table were looked at: moves from the first number to the second.
struct CursorStep {
    from: i64,
    to: i64,
}

/// Looks at one table for one project.
struct TableScan<'a> {
    store: &'a Store,
    scan: Scan,
    host: HostRow,
    project: &'a Shared,
    table: EntityTable,
    random: &'a mut dyn FnMut() -> [u8; 10],
    logged: &'a mut Logged,
}

impl TableScan<'_> {
    /// Adds rows that have changed since they were first looked at.
    fn add_changed(&mut self) -> Result<(), StoreError> {
        let recent = Time(Millis(self.scan.now.0.saturating_sub(MAY_CHANGE_MS))).max(self.project.since);
        let (cursor, _) = self.cursor()?;
        let mut ids = self.ids(Pass::Changed, (0, cursor), recent)?;
        ids.sort_unstable();
        for some in ids.chunks(BATCH) {
            let mut to_log = Vec::new();
            for id in some {
                if let Looked::ToLog(found) = self.look(*id).map_err(cannot(ACTION))? {
                    to_log.push(found);
                }
            }
            self.write(&to_log, None)?;
        }
        Ok(())
    }

    /// Adds rows that were not looked at before.
    fn add_new(&mut self) -> Result<(), StoreError> {
        let (mut cursor, last) = self.cursor()?;
        let (mut after, mut reached, mut waits) = (cursor, cursor, false);
        loop {
            let ids = self.ids(Pass::New, (after, last), self.project.since)?;
            for some in ids.chunks(BATCH) {
                let mut to_log = Vec::new();
                for id in some {
                    match self.look(*id).map_err(cannot(ACTION))? {
                        Looked::ToLog(found) => to_log.push(found),
                        Looked::Nothing => {}
                        // A prompt that waits for its reply is looked at again, with everything behind it.
                        Looked::Later => waits = true,
                    }
                    after = *id;
                    reached = if waits { reached } else { after };
                }
                if !to_log.is_empty() {
                    if !self.write(&to_log, Some(CursorStep { from: cursor, to: reached }))? {
                        return Ok(());
                    }
                    cursor = reached;
                }
            }
            if ids.len() < PAGE {
                break;
            }
        }
        let reached = if waits { reached } else { last };
        if reached > cursor {
            self.write(&[], Some(CursorStep { from: cursor, to: reached }))?;
        }
        Ok(())
    }

    /// Returns up to which row the table was looked at, and its last row.
    fn cursor(&self) -> Result<(i64, i64), StoreError> {
        let (name, cursor) = names(self.table);
        let sql = format!("SELECT {cursor}, (SELECT coalesce(max(id), 0) FROM {name}) FROM projects WHERE id = ?1");
        let read = || self.store.connection.one(&sql, [self.project.id]);
        read().map_err(cannot(ACTION))
    }

    /// Returns rows of the project behind the first id and up to the second, made at `since` or later.
    fn ids(&self, pass: Pass, (after, last): (i64, i64), since: Time) -> Result<Vec<i64>, StoreError> {
        let read = || -> rusqlite::Result<Vec<i64>> {
            let mut statement = self.store.connection.prepare_cached(&rows_of_project(self.table, pass))?;
            let values = (&self.project.key, after, last, since, self.project.since);
            statement.query_map(values, |row| row.get(0))?.collect()
        };
        read().map_err(cannot(ACTION))
    }

    /// Finds out whether a row is new or has changed.
    fn look(&self, row: i64) -> rusqlite::Result<Looked> {
        let connection = &self.store.connection;
        let known = entities::of_row(connection, self.table, row)?;
        if known.as_ref().is_some_and(|known| !known.is_own) {
            return Ok(Looked::Nothing);
        }
        let Some(content) = content::read(connection, self.table, row, self.scan.raw_text())? else {
            return Ok(Looked::Nothing);
        };
        if known.is_none() && !content.has_reply() && self.may_get_reply(row)? {
            return Ok(Looked::Later);
        }
        let (entity, before) = match known {
            Some(RowEntity { entity, known, .. }) => (entity, Some(known)),
            None => (content.entity(row), None),
        };
        if before.is_none()
            && let Some(other) = entities::find_for(connection, entity, self.host)?
        {
            let is_forgotten = entities::state_if_forgotten(&other).is_some();
            return Ok(if is_forgotten { Looked::ToLog(ToLog::Delete { entity, row }) } else { Looked::Nothing });
        }
        let digest = content.entry(entity, self.project.project).digest();
        if before.as_ref().is_some_and(|before| before.digest == Some(digest)) {
            return Ok(Looked::Nothing);
        }
        let before = before.map(|before| (before.version, before.record));
        Ok(Looked::ToLog(ToLog::Add(Candidate { row, entity, before, digest })))
    }

    /// Returns whether the reply to a prompt is still to be expected.
    fn may_get_reply(&self, prompt: i64) -> rusqlite::Result<bool> {
        let recent = Time(Millis(self.scan.now.0.saturating_sub(REPLY_MS)));
        let sql = "SELECT 1 FROM prompts u JOIN sessions s ON s.id = u.session_id
                   WHERE u.id = ?1 AND u.created_at >= ?2 AND s.status != 'completed' AND NOT EXISTS
                       (SELECT 1 FROM prompts l WHERE l.session_id = u.session_id AND l.prompt_number > u.prompt_number)";
        self.store.connection.has(sql, (prompt, recent))
    }

    /// Writes to the log, and how far the table was looked at. Returns `false`, and writes nothing, if another process has
    /// changed the latter.
    fn write(&mut self, to_log: &[ToLog], step: Option<CursorStep>) -> Result<bool, StoreError> {
        if to_log.is_empty() && step.is_none() {
            return Ok(true);
        }
        let (_, cursor) = names(self.table);
        let (table, project, now) = (self.table, self.project, self.scan.now);
        let (random, logged) = (&mut *self.random, &mut *self.logged);
        self.store.write(ACTION, |tx| {
            let Some(mut writer) = LogWriter::open(tx, now, random)? else { return Ok(false) };
            if let Some(CursorStep { from, to }) = step {
                // Sharing it again, with more of the past, begins at the first row.
                let sql = format!(
                    "UPDATE projects SET {cursor} = ?3 WHERE id = ?1 AND {cursor} = ?2 AND since = ?4 AND is_shared = 1"
                );
                if tx.run(&sql, (project.id, from, to, project.since))? == 0 {
                    return Ok(false);
                }
            }
            for one in to_log {
                logged.records += u64::from(writer.add(table, one)?);
            }
            writer.finish().map(|()| true)
        })
    }
}

/// How many new rows are listed at once.
const PAGE: usize = 1_000;

/// Which rows are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Those that were not looked at before.
    New,
    /// Those that may have changed since.
    Changed,
}

/// Returns the statement that lists rows of a project: `?1` is its key, `?2` and `?3` are ids, `?4` is the earliest time, and
/// `?5` the time from which on the project is shared.
fn rows_of_project(table: EntityTable, pass: Pass) -> String {
    let (name, _) = names(table);
    let of_project = match table {
        EntityTable::Bookmarks => "t.session_id IN (SELECT session_id FROM sessions WHERE project_key = ?1)",
        _ => "t.project_id = (SELECT id FROM projects WHERE project_key = ?1)",
    };
    // A summary covers its whole session, so all of it must be shared.
    let is_all_shared = match table {
        EntityTable::Summaries => {
            "NOT EXISTS (SELECT 1 FROM prompts u WHERE u.session_id = t.session_id AND u.created_at < ?5)
             AND NOT EXISTS (SELECT 1 FROM observations o WHERE o.session_id = t.session_id AND o.created_at < ?5)"
        }
        _ => "?5 IS NOT NULL",
    };
    // New rows are read in the order of the table, recent ones by the index of the project's times: the plus keeps SQLite
    // from using another index.
    match pass {
        Pass::New => format!(
            "SELECT t.id FROM {name} t WHERE t.id > ?2 AND t.id <= ?3 AND +t.created_at >= ?4 AND +{of_project}
             AND {is_all_shared} ORDER BY t.id {}",
            limit(PAGE)
        ),
        Pass::Changed => format!(
            "SELECT t.id FROM {name} t WHERE +t.id > ?2 AND +t.id <= ?3 AND t.created_at >= ?4 AND {of_project}
             AND {is_all_shared}"
        ),
    }
}

/// Returns the table, and the column of `projects` with how far it was looked at.
fn names(table: EntityTable) -> (&'static str, &'static str) {
    match table {
        EntityTable::Prompts => ("prompts", "seen_prompts"),
        EntityTable::Observations => ("observations", "seen_observations"),
        EntityTable::Summaries => ("session_summaries", "seen_summaries"),
        EntityTable::Bookmarks => ("bookmarks", "seen_bookmarks"),
    }
}
