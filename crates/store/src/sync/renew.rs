//! A host that is a copy of another one, or was restored from a backup, gets a new id.

use longhaul_core::Millis;
use longhaul_sync::{EntityId, HostId, Record, RecordId, SealedRecord};
use rusqlite::{Connection, OptionalExtension};

use super::circle::{HostRow, add_host, own_row};
use super::entities::{BURIED, FORGOTTEN};
use crate::row_ids::Time;
use crate::{Store, StoreError, cannot};

/// Whose records of this host the engine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnCheck {
    /// Those of this host.
    Same,
    /// Those of another copy of this host: it needs a new id.
    Other,
}

impl Store {
    /// Compares records of this host in the engine with the own log, by idx and id.
    pub fn check_own_records(&self, records: &[(u64, RecordId)]) -> Result<OwnCheck, StoreError> {
        let failed = cannot("compare the own records");
        let sql = "SELECT record_id FROM sync_log WHERE host_id = (SELECT id FROM sync_hosts WHERE circle IS NOT NULL) AND idx = ?1";
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        for (idx, id) in records {
            let own: Option<[u8; 16]> =
                statement.query_row([*idx as i64], |row| row.get(0)).optional().map_err(&failed)?;
            if own.as_ref() != Some(id.as_bytes()) {
                return Ok(OwnCheck::Other);
            }
        }
        Ok(OwnCheck::Same)
    }

    /// Returns whether the record is in the log under this number of its host.
    pub fn has_record(&self, record: &SealedRecord) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM sync_log WHERE host_id = (SELECT id FROM sync_hosts WHERE host = ?1) AND idx = ?2
                   AND record_id = ?3";
        let found = || {
            let key = (record.host.as_bytes(), record.idx as i64, record.id.as_bytes());
            self.connection.prepare_cached(sql)?.exists(key)
        };
        found().map_err(cannot("compare the records of a host"))
    }

    /// Removes the records of another host behind `through` from the log, because the engine has others under their numbers.
    /// What they have brought stays.
    pub fn rewind_host(&self, host: HostId, through: u64) -> Result<(), StoreError> {
        self.write("fetch the records of a host again", |tx| {
            let row = add_host(tx, host)?;
            tx.execute("DELETE FROM sync_log WHERE host_id = ?1 AND idx > ?2", (row, through as i64))?;
            tx.execute("UPDATE sync_hosts SET head = min(head, ?2) WHERE id = ?1", (row, through as i64)).map(drop)
        })
    }

    /// Gives this host a new id. What the engine has of the old id is fetched like the records of another host; own records
    /// that the engine never confirmed are written again under the new id.
    pub fn renew_host(&self, host: HostId, machine: &str, at: Millis) -> Result<(), StoreError> {
        self.write("give this host a new id", |tx| {
            let Some(old) = own_row(tx)? else { return Ok(()) };
            let new = add_host(tx, host)?;
            tx.execute(
                "UPDATE sync_hosts SET is_own = 1, seen_at = ?3,
                     (name, clock_ahead) = (SELECT name, clock_ahead FROM sync_hosts WHERE id = ?2) WHERE id = ?1",
                (new, old, Time(at)),
            )?;
            take_back_unconfirmed(tx, old, new)?;
            tx.execute("UPDATE sync_hosts SET head = confirmed WHERE id = ?1", [old])?;
            tx.execute(
                "UPDATE sync_hosts SET machine = ?3, (circle, key_epoch, damaged_at, joined_at) =
                     (SELECT circle, key_epoch, damaged_at, joined_at FROM sync_hosts WHERE id = ?2) WHERE id = ?1",
                (new, old, machine),
            )?;
            let sql = "UPDATE sync_hosts SET circle = NULL, machine = NULL, key_epoch = NULL, damaged_at = NULL, joined_at = NULL
                       WHERE id = ?1";
            tx.execute(sql, [old])?;
            look_at_all(tx)
        })
    }
}

impl Store {
    /// Makes the content of own records a record again, under new numbers: the engine has lost what it had under these.
    pub fn write_again(&self, lost: &[u64]) -> Result<(), StoreError> {
        self.write("write records again", |tx| {
            let Some(own) = own_row(tx)? else { return Ok(()) };
            for idx in lost {
                let sql = "SELECT entity, content FROM sync_log WHERE host_id = ?1 AND idx = ?2";
                let found = tx.prepare_cached(sql)?.query_row((own, *idx as i64), |row| Ok((row.get(0)?, row.get(1)?)));
                let (entity, content): (Option<[u8; 16]>, Option<Vec<u8>>) = found.optional()?.unwrap_or_default();
                if let Some(entity) = entity {
                    let sql = "UPDATE sync_entities SET digest = NULL WHERE entity = ?1 AND forgotten = 0";
                    tx.prepare_cached(sql)?.execute([entity])?;
                } else if let Some(Ok(Record::Forgetting(forgotten))) = content.as_deref().map(Record::decode) {
                    bury_again(tx, forgotten)?;
                    let sql = "UPDATE sync_log SET content = NULL WHERE host_id = ?1 AND idx = ?2";
                    tx.prepare_cached(sql)?.execute((own, *idx as i64))?;
                }
            }
            look_at_all(tx)
        })
    }
}

/// Makes the next exchange write the tombstones of these entities.
fn bury_again(connection: &Connection, forgotten: Vec<EntityId>) -> rusqlite::Result<()> {
    let sql = "UPDATE sync_entities SET forgotten = ?2 WHERE entity = ?1 AND forgotten = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    forgotten.iter().try_for_each(|entity| statement.execute((entity.as_bytes(), FORGOTTEN, BURIED)).map(drop))
}

/// Makes the next exchange look at everything again; what is in the log does not change.
fn look_at_all(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "UPDATE projects SET seen_prompts = 0, seen_observations = 0, seen_summaries = 0, seen_bookmarks = 0";
    connection.execute(sql, []).map(drop)
}

/// Removes the own records that the engine has not confirmed from the log. Their entities belong to the new id.
fn take_back_unconfirmed(connection: &Connection, old: HostRow, new: HostRow) -> rusqlite::Result<()> {
    const UNCONFIRMED: &str = "host_id = ?1 AND idx > (SELECT confirmed FROM sync_hosts WHERE id = ?1)";
    let sql = format!("SELECT content FROM sync_log WHERE {UNCONFIRMED} AND entity IS NULL AND content IS NOT NULL");
    let tombstones: Vec<Vec<u8>> =
        connection.prepare(&sql)?.query_map([old], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let decoded = tombstones.iter().filter_map(|content| Record::decode(content).ok());
    let forgotten: Vec<EntityId> = decoded
        .flat_map(|record| match record {
            Record::Forgetting(entities) => entities,
            Record::Entry(_) => Vec::new(),
        })
        .collect();
    bury_again(connection, forgotten)?;
    let sql = format!(
        "UPDATE sync_entities SET digest = NULL, host_id = ?2 WHERE forgotten = 0
         AND entity IN (SELECT entity FROM sync_log WHERE {UNCONFIRMED} AND entity IS NOT NULL)"
    );
    connection.execute(&sql, (old, new))?;
    connection.execute(&format!("DELETE FROM sync_log WHERE {UNCONFIRMED}"), [old]).map(drop)
}
