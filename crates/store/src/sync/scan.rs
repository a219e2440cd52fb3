//! Adds what has changed in shared projects to the own log.
//!
//! Rows are read and compared without a transaction, because hooks would wait for it; what has to be added is written in small
//! ones, which check that it has not changed meanwhile.

use longhaul_core::Millis;
use longhaul_sync::{EntityId, ProjectId};
use rusqlite::Connection;

use super::circle::own_row;
use super::content;
use super::identity::{EntityTable, Identity, is_forgotten_here, to_bury};
use super::log::{LogWriter, RandomSource, digest_of};
use crate::memory::records::RawText;
use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Logged {
    /// Records of what is new or has changed.
    pub records: u64,
    pub forgotten: u64,
}

impl Store {
    /// Adds what was made, changed and forgotten in shared projects since the last call to the own log.
    ///
    /// `random` makes the random bytes of a record's id; its error ends the call. Does nothing without a circle.
    pub fn log_changes(&self, scan: Scan, random: RandomSource<'_>) -> Result<Logged, StoreError> {
        let mut logged = Logged::default();
        if own_row(&self.connection).map_err(cannot(ACTION))?.is_none() {
            return Ok(logged);
        }
        while !to_bury(&self.connection, 1).map_err(cannot(ACTION))?.is_empty()
            && self.write(ACTION, |tx| match LogWriter::open(tx, scan.now, random)? {
                Some(writer) => writer.add_forgotten(&mut logged.forgotten),
                None => Ok(false),
            })?
        {}
        for project in shared(&self.connection).map_err(cannot(ACTION))? {
            for table in EntityTable::ALL {
                let random = &mut *random;
                TableScan { store: self, scan, project: &project, table, random, logged: &mut logged }.run()?;
            }
        }
        Ok(logged)
    }

    /// Returns how many rows were made since they were last looked at for the log, at most.
    pub fn rows_to_log(&self) -> Result<u64, StoreError> {
        let mut rows = 0;
        for table in EntityTable::ALL {
            let sql = format!(
                "SELECT coalesce((SELECT max(id) FROM {}), 0) - min({}) FROM projects WHERE is_shared = 1",
                table.name(),
                cursor_of(table)
            );
            let new: Option<i64> = self.connection.one(&sql, []).map_err(cannot("count what is new for the log"))?;
            rows += new.unwrap_or_default().max(0).unsigned_abs();
        }
        Ok(rows)
    }
}

struct Shared {
    id: i64,
    project: ProjectId,
    since: Time,
}

fn shared(connection: &Connection) -> rusqlite::Result<Vec<Shared>> {
    let sql = "SELECT id, sync_id, since FROM projects WHERE is_shared = 1 AND project_key IS NOT NULL ORDER BY id";
    connection.all_with(sql, [], |row| {
        Ok(Shared { id: row.get(0)?, project: ProjectId::from_bytes(row.get(1)?), since: row.get(2)? })
    })
}

/// What is to be done about a row.
pub(super) enum ToLog {
    /// It is new or has changed.
    Add(Candidate),
    /// It was forgotten on another host, or an older database was imported: it does not come back.
    Delete { entity: EntityId, row: Identity },
}

/// A row that is to be added to the log.
pub(super) struct Candidate {
    /// The row, with the version that is in the log.
    pub(super) before: Identity,
    pub(super) entity: EntityId,
    pub(super) digest: [u8; 16],
}

/// What was found out about a row.
enum Looked {
    ToLog(ToLog),
    /// It is in the log as it is, or another host's.
    Nothing,
    /// It is looked at again later, with everything behind it: a prompt that waits for its reply.
    Later,
}

struct TableScan<'a> {
    store: &'a Store,
    scan: Scan,
    project: &'a Shared,
    table: EntityTable,
    random: RandomSource<'a>,
    logged: &'a mut Logged,
}

impl TableScan<'_> {
    /// Adds rows that were not looked at before, and those that may have changed since.
    fn run(&mut self) -> Result<(), StoreError> {
        let failed = cannot(ACTION);
        let connection = &self.store.connection;
        let (column, name) = (cursor_of(self.table), self.table.name());
        let sql = format!("SELECT {column}, (SELECT coalesce(max(id), 0) FROM {name}) FROM projects WHERE id = ?1");
        let (mut cursor, last): (i64, i64) = connection.one(&sql, [self.project.id]).map_err(&failed)?;
        let recent = Time(Millis(self.scan.now.0.saturating_sub(MAY_CHANGE_MS))).max(self.project.since);
        let values = (self.project.id, cursor, last, recent, self.project.since);
        let ids: Vec<i64> = connection.all(&rows_to_look_at(self.table), values).map_err(&failed)?;
        let mut waits = false;
        for some in ids.chunks(BATCH) {
            let (mut to_log, mut reached) = (Vec::new(), cursor);
            for id in some {
                match self.look(*id).map_err(&failed)? {
                    Looked::ToLog(found) => to_log.push(found),
                    Looked::Nothing => {}
                    Looked::Later => waits = true,
                }
                reached = if waits { reached } else { reached.max(*id) };
            }
            if !to_log.is_empty() {
                if !self.write(&to_log, (cursor, reached))? {
                    return Ok(());
                }
                cursor = reached;
            }
        }
        if !waits && last > cursor {
            self.write(&[], (cursor, last))?;
        }
        Ok(())
    }

    /// Finds out whether a row is new or has changed.
    fn look(&self, row: i64) -> rusqlite::Result<Looked> {
        let connection = &self.store.connection;
        let before = Identity::of_row(connection, self.table, row)?;
        let Some(before) = before.filter(|before| before.host.is_none()) else { return Ok(Looked::Nothing) };
        let Some(content) = content::read(connection, self.table, row, self.scan.raw_text())? else {
            return Ok(Looked::Nothing);
        };
        if before.entity.is_none() && !content.has_reply() && self.may_get_reply(row)? {
            return Ok(Looked::Later);
        }
        let entity = before.entity.unwrap_or_else(|| content.entity(row));
        if before.entity.is_none() {
            if is_forgotten_here(connection, entity)? {
                return Ok(Looked::ToLog(ToLog::Delete { entity, row: before }));
            }
            if Identity::find(connection, entity)?.is_some() {
                return Ok(Looked::Nothing);
            }
        }
        let digest = content.entry(entity, self.project.project).digest();
        if digest_of(connection, &before)?.as_deref() == Some(digest.as_slice()) {
            return Ok(Looked::Nothing);
        }
        Ok(Looked::ToLog(ToLog::Add(Candidate { before, entity, digest })))
    }

    /// Returns whether the reply to a prompt is still to be expected.
    fn may_get_reply(&self, prompt: i64) -> rusqlite::Result<bool> {
        let recent = Time(Millis(self.scan.now.0.saturating_sub(REPLY_MS)));
        let sql = "SELECT 1 FROM prompts u JOIN sessions s ON s.id = u.session_id
                   WHERE u.id = ?1 AND u.created_at >= ?2 AND s.status != 'completed' AND NOT EXISTS
                       (SELECT 1 FROM prompts l WHERE l.session_id = u.session_id AND l.prompt_number > u.prompt_number)";
        self.store.connection.has(sql, (prompt, recent))
    }

    /// Writes to the log, and how far the table was looked at now. Returns `false`, and writes nothing, if another process has
    /// changed the latter.
    fn write(&mut self, to_log: &[ToLog], (from, to): (i64, i64)) -> Result<bool, StoreError> {
        let cursor = cursor_of(self.table);
        let (project, now) = (self.project, self.scan.now);
        let (random, logged) = (&mut *self.random, &mut *self.logged);
        self.store.write(ACTION, |tx| {
            let Some(mut writer) = LogWriter::open(tx, now, random)? else { return Ok(false) };
            // Sharing it again, with more of the past, begins at the first row.
            let sql = format!(
                "UPDATE projects SET {cursor} = ?3 WHERE id = ?1 AND {cursor} = ?2 AND since = ?4 AND is_shared = 1"
            );
            if tx.run(&sql, (project.id, from, to, project.since))? == 0 {
                return Ok(false);
            }
            for row in to_log {
                logged.records += u64::from(writer.add(row)?);
            }
            writer.finish().map(|()| true)
        })
    }
}

/// Returns the statement that lists rows of a project: those behind the row `?2` and up to `?3`, and those before them from the
/// time `?4` on. `?1` is the project's number, `?5` the time from which on it is shared.
fn rows_to_look_at(table: EntityTable) -> String {
    let name = table.what().map_or(table.name(), |what| what.table());
    let of_project = match table {
        EntityTable::Bookmarks => {
            "t.session_id IN (SELECT session_id FROM sessions
                              WHERE project_key = (SELECT project_key FROM projects WHERE id = ?1))"
        }
        _ => "t.project_id = ?1",
    };
    // A summary covers its whole session, so all of it must be shared.
    let is_all_shared = match table {
        EntityTable::Summaries => {
            "AND NOT EXISTS (SELECT 1 FROM prompts u WHERE u.session_id = t.session_id AND u.created_at < ?5)
             AND NOT EXISTS (SELECT 1 FROM observations o WHERE o.session_id = t.session_id AND o.created_at < ?5)"
        }
        _ => "",
    };
    // New rows are read in the order of the table, recent ones by the index of the project's times: the plus keeps SQLite
    // from using another index.
    format!(
        "SELECT t.id FROM {name} t WHERE t.id > ?2 AND t.id <= ?3 AND +t.created_at >= ?5 AND +{of_project} {is_all_shared}
         UNION
         SELECT t.id FROM {name} t WHERE +t.id <= ?2 AND t.created_at >= ?4 AND {of_project} {is_all_shared} ORDER BY 1"
    )
}

/// Returns the column of `projects` with how far a table was looked at.
fn cursor_of(table: EntityTable) -> &'static str {
    match table {
        EntityTable::Prompts => "seen_prompts",
        EntityTable::Observations => "seen_observations",
        EntityTable::Summaries => "seen_summaries",
        EntityTable::Bookmarks => "seen_bookmarks",
    }
}
