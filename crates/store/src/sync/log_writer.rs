//! Writes own records to the log, in one transaction.

use longhaul_core::Millis;
use longhaul_sync::{EntityId, Record, RecordId};
use rusqlite::Connection;

use super::circle::{HostRow, own_row};
use super::entities::{self, BURIED, EntityTable, FORGOTTEN, LIVE, Version};
use super::log::{DONE, NewRow, append, head, set_head};
use super::scan::{BATCH, Candidate, ToLog};
use crate::limit;

/// Writes to the own log. [`LogWriter::finish`] completes it.
pub(super) struct LogWriter<'a> {
    connection: &'a Connection,
    random: &'a mut dyn FnMut() -> [u8; 10],
    own: HostRow,
    /// The highest idx.
    head: u64,
    /// The time of the records, by the engine's clock.
    time_ms: u64,
}

impl<'a> LogWriter<'a> {
    /// Returns a writer for a transaction; `None` without a circle.
    pub(super) fn open(
        connection: &'a Connection,
        now: Millis,
        random: &'a mut dyn FnMut() -> [u8; 10],
    ) -> rusqlite::Result<Option<Self>> {
        let Some(own) = own_row(connection)? else { return Ok(None) };
        let sql = "SELECT clock_ahead FROM sync_hosts WHERE id = ?1";
        let ahead: i64 = connection.prepare_cached(sql)?.query_row([own], |row| row.get(0))?;
        let time_ms = now.0.saturating_add_signed(-ahead);
        Ok(Some(Self { connection, random, own, head: head(connection, own)?, time_ms }))
    }

    /// Records the new head of the log.
    pub(super) fn finish(self) -> rusqlite::Result<()> {
        set_head(self.connection, self.own, self.head)
    }

    /// Adds the tombstone of some entities that were forgotten here; returns whether there may be more.
    pub(super) fn add_forgotten(mut self, logged: &mut u64) -> rusqlite::Result<bool> {
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
        let number = forgotten.len();
        let content = Record::Forgetting(forgotten).encode();
        let row = NewRow { content: Some(&content), ..NewRow::of(self.new_id(), self.time_ms, DONE) };
        self.append(&row)?;
        *logged += number as u64;
        self.finish()?;
        Ok(number == BATCH)
    }

    /// Does what was found to be done about a row; returns whether it is in the log now.
    pub(super) fn add(&mut self, table: EntityTable, to_log: &ToLog) -> rusqlite::Result<bool> {
        match to_log {
            ToLog::Add(candidate) => self.add_row(table, candidate),
            ToLog::Delete { entity, row } => {
                let known = entities::find_for(self.connection, *entity, self.own)?;
                if known.as_ref().and_then(entities::state_if_forgotten).is_some() {
                    entities::delete_row(self.connection, table, *row)?;
                }
                Ok(false)
            }
        }
    }

    fn add_row(&mut self, table: EntityTable, candidate: &Candidate) -> rusqlite::Result<bool> {
        let Candidate { row, entity, before, digest } = *candidate;
        let known = entities::find_for(self.connection, entity, self.own)?;
        let is_live = known.as_ref().is_none_or(|known| known.forgotten == LIVE);
        if !is_live || known.map(|known| (known.version, known.record)) != before {
            // Another process was faster. What is left to do is found the next time.
            return Ok(false);
        }
        let version = before.map_or(0, |(version, _)| version) + 1;
        let record = self.new_id();
        self.append(&NewRow { entity: Some(entity), version, ..NewRow::of(record, self.time_ms, DONE) })?;
        let (host, digest) = (self.own, Some(digest));
        entities::put(self.connection, &Version { entity, table, row, host, version, record, digest })?;
        Ok(true)
    }

    fn append(&mut self, row: &NewRow<'_>) -> rusqlite::Result<()> {
        self.head += 1;
        append(self.connection, self.own, self.head, row)
    }

    fn new_id(&mut self) -> RecordId {
        RecordId::new(self.time_ms, (self.random)())
    }
}
