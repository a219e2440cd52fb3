//! Adds what has changed in shared projects to the own log.

use std::ops::RangeInclusive;

use longhaul_core::Millis;
use longhaul_sync::{EntityId, HostId, ProjectId, Record, RecordId};
use rusqlite::{Connection, OptionalExtension};

use super::circle::{HostRow, own_row};
use super::content;
use super::entities::{self, BURIED, EntityTable, FORGOTTEN, Version};
use super::log::{DONE, NewRow, append, head};
use crate::memory::records::RawText;
use crate::row_ids::Time;
use crate::{Store, StoreError, cannot, limit};

/// How many rows are looked at in one transaction: hooks wait for it.
const BATCH: usize = 500;

/// How long a row is looked at again: a reply grows, a model rewords.
const MAY_CHANGE_MS: u64 = 48 * 60 * 60 * 1_000;

/// How long a prompt waits for its reply before it is sent without.
const REPLY_MS: u64 = 30 * 60 * 1_000;

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
        const ACTION: &str = "add changes to the log of sync";
        let mut logged = Logged::default();
        while self.write(ACTION, |tx| match LogWriter::open(tx, scan, random)? {
            Some(mut writer) => writer.add_forgotten(&mut logged),
            None => Ok(false),
        })? {}
        for project in shared(&self.connection).map_err(cannot(ACTION))? {
            for table in EntityTable::ALL {
                for pass in [Pass::New, Pass::Changed] {
                    let mut after = None;
                    loop {
                        after = self.write(ACTION, |tx| match LogWriter::open(tx, scan, random)? {
                            Some(mut writer) => writer.add_rows(&project, table, pass, after, &mut logged),
                            None => Ok(None),
                        })?;
                        if after.is_none() {
                            break;
                        }
                    }
                }
            }
        }
        Ok(logged)
    }
}

/// Which rows are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Those that were not looked at before.
    New,
    /// Those that may have changed since.
    Changed,
}

/// A shared project.
struct Shared {
    id: i64,
    project: ProjectId,
    key: String,
    since: Time,
}

fn shared(connection: &Connection) -> rusqlite::Result<Vec<Shared>> {
    let sql = "SELECT id, project, project_key, since FROM sync_projects
               WHERE is_shared = 1 AND project_key IS NOT NULL ORDER BY id";
    connection
        .prepare_cached(sql)?
        .query_map([], |row| {
            let project = ProjectId::from_bytes(row.get(1)?);
            Ok(Shared { id: row.get(0)?, project, key: row.get(2)?, since: row.get(3)? })
        })?
        .collect()
}

/// Adds to the own log.
struct LogWriter<'a> {
    connection: &'a Connection,
    scan: Scan,
    random: &'a mut dyn FnMut() -> [u8; 10],
    own: HostRow,
    host: HostId,
    /// The time of the records, by the engine's clock.
    time_ms: u64,
}

impl<'a> LogWriter<'a> {
    fn open(
        connection: &'a Connection,
        scan: Scan,
        random: &'a mut dyn FnMut() -> [u8; 10],
    ) -> rusqlite::Result<Option<Self>> {
        let Some(own) = own_row(connection)? else { return Ok(None) };
        let sql = "SELECT host, clock_ahead FROM sync_hosts WHERE id = ?1";
        let (host, ahead): ([u8; 16], i64) =
            connection.prepare_cached(sql)?.query_row([own], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let time_ms = scan.now.0.saturating_add_signed(-ahead);
        Ok(Some(Self { connection, scan, random, own, host: HostId::from_bytes(host), time_ms }))
    }

    /// Adds the tombstone of some entities that were forgotten here; returns whether there may be more.
    fn add_forgotten(&mut self, logged: &mut Logged) -> rusqlite::Result<bool> {
        let sql = format!("SELECT entity FROM sync_entities WHERE forgotten = 1 {}", limit(BATCH));
        let forgotten: Vec<EntityId> = self
            .connection
            .prepare_cached(&sql)?
            .query_map([], |row| row.get(0).map(EntityId::from_bytes))?
            .collect::<Result<_, _>>()?;
        if forgotten.is_empty() {
            return Ok(false);
        }
        for entity in &forgotten {
            let sql = "UPDATE sync_entities SET forgotten = ?2 WHERE entity = ?1 AND forgotten = ?3";
            self.connection.prepare_cached(sql)?.execute((entity.as_bytes(), BURIED, FORGOTTEN))?;
            entities::erase_in_engine(self.connection, *entity)?;
        }
        let content = Record::Forgetting(forgotten.clone()).encode();
        let id = self.new_id();
        let row = NewRow { content: Some(&content), ..NewRow::of(id, self.time_ms, DONE) };
        append(self.connection, self.own, head(self.connection, self.own)? + 1, &row)?;
        logged.forgotten += forgotten.len() as u64;
        Ok(forgotten.len() == BATCH)
    }

    /// Looks at some rows behind `after`; returns where to go on, or `None` at the end.
    fn add_rows(
        &mut self,
        project: &Shared,
        table: EntityTable,
        pass: Pass,
        after: Option<i64>,
        logged: &mut Logged,
    ) -> rusqlite::Result<Option<i64>> {
        let (name, cursor_name) = names(table);
        let sql =
            format!("SELECT {cursor_name}, (SELECT coalesce(max(id), 0) FROM {name}) FROM sync_projects WHERE id = ?1");
        let (cursor, last): (i64, i64) =
            self.connection.prepare_cached(&sql)?.query_row([project.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let ids = match pass {
            Pass::New => self.ids(project, table, pass, after.unwrap_or(cursor) + 1..=i64::MAX, project.since)?,
            Pass::Changed => {
                let recent = Time(Millis(self.scan.now.0.saturating_sub(MAY_CHANGE_MS)));
                self.ids(project, table, pass, after.unwrap_or(0) + 1..=cursor, recent.max(project.since))?
            }
        };
        let mut waits = None;
        for id in &ids {
            match self.add_row(project, table, *id)? {
                Added::Yes => logged.records += 1,
                Added::No => {}
                Added::Later => waits = waits.or(Some(*id)),
            }
        }
        let is_full = ids.len() == BATCH;
        let end = if is_full { ids.last().copied().unwrap_or(last) } else { last };
        if pass == Pass::New {
            // A prompt that waits for its reply is looked at again, with everything behind it.
            let reached = waits.map_or(end, |id| id - 1);
            let sql = format!("UPDATE sync_projects SET {cursor_name} = ?2 WHERE id = ?1 AND {cursor_name} < ?2");
            // Of an earlier batch, one may wait already: the cursor then stays where it is.
            if after.is_none_or(|after| cursor >= after) {
                self.connection.prepare_cached(&sql)?.execute((project.id, reached))?;
            }
        }
        Ok(is_full.then_some(end))
    }

    fn ids(
        &self,
        project: &Shared,
        table: EntityTable,
        pass: Pass,
        ids: RangeInclusive<i64>,
        since: Time,
    ) -> rusqlite::Result<Vec<i64>> {
        let (name, _) = names(table);
        let of_project = match table {
            EntityTable::Bookmarks => "t.session_id IN (SELECT session_id FROM sessions WHERE project_key = ?1)",
            _ => "t.project_id = (SELECT id FROM projects WHERE project_key = ?1)",
        };
        // New rows are read in the order of the table, recent ones by the index of the project's times: the plus keeps SQLite
        // from using another index.
        let (by_id, by_time) = match pass {
            Pass::New => ("", "+"),
            Pass::Changed => ("+", ""),
        };
        let sql = format!(
            "SELECT t.id FROM {name} t WHERE {by_id}t.id >= ?2 AND {by_id}t.id <= ?3 AND {by_time}t.created_at >= ?4
             AND {by_time}{of_project} ORDER BY {by_id}t.id {}",
            limit(BATCH)
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        statement.query_map((&project.key, ids.start(), ids.end(), since), |row| row.get(0))?.collect()
    }

    /// Adds a row to the log if it is new or has changed.
    fn add_row(&mut self, project: &Shared, table: EntityTable, row: i64) -> rusqlite::Result<Added> {
        let known = entities::of_row(self.connection, table, row)?;
        if known.as_ref().is_some_and(|(_, known)| known.host != self.own) {
            return Ok(Added::No);
        }
        let Some(content) = content::read(self.connection, table, row, self.scan.raw_text())? else {
            return Ok(Added::No);
        };
        if known.is_none() && !content.has_reply() && self.may_get_reply(row)? {
            return Ok(Added::Later);
        }
        let (entity, before) = match known {
            Some((entity, known)) => (entity, Some(known)),
            None => (content.entity(self.host, row), None),
        };
        if before.is_none()
            && let Some(other) = entities::find(self.connection, entity)?
        {
            // It was forgotten on another host, or an older database was imported: it does not come back.
            if entities::state_if_forgotten(&other).is_some() {
                entities::delete_row(self.connection, table, row)?;
            }
            return Ok(Added::No);
        }
        let entry = content.entry(entity, project.project);
        let digest = entry.digest();
        if before.as_ref().is_some_and(|before| before.digest == Some(digest)) {
            return Ok(Added::No);
        }
        let version = before.map_or(0, |before| before.version) + 1;
        let id = self.new_id();
        let new = NewRow { entity: Some(entity), version, ..NewRow::of(id, self.time_ms, DONE) };
        append(self.connection, self.own, head(self.connection, self.own)? + 1, &new)?;
        let (host, digest) = (self.own, Some(digest));
        entities::put(self.connection, &Version { entity, table, row, host, version, record: id, digest })?;
        Ok(Added::Yes)
    }

    /// Returns whether the reply to a prompt is still to be expected.
    fn may_get_reply(&self, prompt: i64) -> rusqlite::Result<bool> {
        let recent = Time(Millis(self.scan.now.0.saturating_sub(REPLY_MS)));
        let sql = "SELECT 1 FROM user_prompts u JOIN sessions s ON s.id = u.session_id
                   WHERE u.id = ?1 AND u.created_at >= ?2 AND s.status != 'completed' AND NOT EXISTS
                       (SELECT 1 FROM user_prompts l WHERE l.session_id = u.session_id AND l.prompt_number > u.prompt_number)";
        let found = self.connection.prepare_cached(sql)?.query_row((prompt, recent), |_| Ok(())).optional()?;
        Ok(found.is_some())
    }

    fn new_id(&mut self) -> RecordId {
        RecordId::new(self.time_ms, (self.random)())
    }
}

/// What became of a row.
enum Added {
    /// It is in the log.
    Yes,
    /// It was in the log already, or is another host's.
    No,
    /// It is looked at again later.
    Later,
}

/// Returns the table, and the column of `sync_projects` with how far it was looked at.
fn names(table: EntityTable) -> (&'static str, &'static str) {
    match table {
        EntityTable::Prompts => ("user_prompts", "prompts"),
        EntityTable::Observations => ("observations", "observations"),
        EntityTable::Summaries => ("session_summaries", "summaries"),
        EntityTable::Bookmarks => ("bookmarks", "bookmarks"),
    }
}
