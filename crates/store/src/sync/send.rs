//! What is sent to the engine: own records, and which payloads to erase there.

use longhaul_sync::{EntityId, Heads, HostId, IdxRange, Outgoing, ProjectId, Record, RecordId, SealedRecord};
use rusqlite::Connection;

use super::circle::own_row;
use super::content;
use super::identity::Identity;
use super::log::{DONE, ERASE, header, open_records};
use super::scan::Scan;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot, limit};

/// Records that the payload of a record was erased. Without the second condition on the state, SQLite does not use the index.
pub(crate) const NOTE_ERASED: &str = "UPDATE sync_log SET state = ?2 WHERE state = ?3 AND state > 0 AND record_id = ?1";

impl Store {
    /// Returns the highest idx of each host in the log.
    pub fn sync_heads(&self) -> Result<Heads, StoreError> {
        let sql = "SELECT host, head FROM sync_hosts WHERE head > 0";
        let heads: Vec<([u8; 16], i64)> = self.connection.all(sql, []).map_err(cannot("read the log of sync"))?;
        Ok(heads.into_iter().map(|(host, head)| (HostId::from_bytes(host), head.unsigned_abs())).collect())
    }

    /// Returns the own records of a range, at most `most`, in the order of their idx.
    ///
    /// A record has no content if it was forgotten, if a newer version of it follows, or if its project is no longer shared,
    /// or was shared again since.
    pub fn records_to_send(&self, range: IdxRange, most: usize, scan: Scan) -> Result<Vec<Outgoing>, StoreError> {
        const ACTION: &str = "read the records to send";
        let mut sender = Sender { connection: &self.connection, scan, not_shared: Vec::new() };
        let found = sender.records(range, most).map_err(cannot(ACTION))?;
        if !sender.not_shared.is_empty() {
            // If the project is shared again with its past, they become records again.
            self.write(ACTION, |tx| {
                let sql = "UPDATE sync_log SET content = NULL WHERE record_id = ?1 AND entity = ?2";
                let forget = |(entity, record): &(EntityId, RecordId)| {
                    tx.run(sql, (record.as_bytes(), entity.as_bytes())).map(drop)
                };
                sender.not_shared.iter().try_for_each(forget)
            })?;
        }
        Ok(found)
    }

    /// Records that the engine has the own records up to an idx.
    pub fn confirm_sent(&self, through: u64) -> Result<(), StoreError> {
        let sql = "UPDATE sync_hosts SET confirmed = min(?1, head) WHERE circle IS NOT NULL";
        self.connection.run(sql, [through as i64]).map(drop).map_err(cannot("record what was sent"))
    }

    /// Returns the headers of records whose payload is to be erased in the engine, at most `most`.
    pub fn records_to_erase(&self, most: usize) -> Result<Vec<SealedRecord>, StoreError> {
        self.connection.all_with(&open_records(most), (ERASE, i64::MAX), header).map_err(cannot("read what to erase"))
    }

    /// Records that the engine was asked to erase the payloads of these records.
    pub fn note_erased(&self, ids: &[RecordId]) -> Result<(), StoreError> {
        self.write("record what was erased", |tx| {
            let mut statement = tx.prepare_cached(NOTE_ERASED)?;
            ids.iter().try_for_each(|id| statement.execute((id.as_bytes(), DONE, ERASE)).map(drop))
        })
    }
}

/// Reads records to be sent, without keeping other processes from writing.
struct Sender<'a> {
    connection: &'a Connection,
    scan: Scan,
    /// Entities whose project is not shared any more, with their records.
    not_shared: Vec<(EntityId, RecordId)>,
}

impl Sender<'_> {
    fn records(&mut self, range: IdxRange, most: usize) -> rusqlite::Result<Vec<Outgoing>> {
        let Some(own) = own_row(self.connection)? else { return Ok(Vec::new()) };
        let ahead: i64 = self.connection.one("SELECT clock_ahead FROM sync_hosts WHERE id = ?1", [own])?;
        let sql = format!(
            "SELECT l.record_id, h.host, l.idx, l.time, l.entity, l.version, l.content FROM sync_log l
             JOIN sync_hosts h ON h.id = l.host_id
             WHERE l.host_id = ?1 AND l.idx > ?2 AND l.idx <= ?3 ORDER BY l.idx {}",
            limit(most)
        );
        let rows = self.connection.all_with(&sql, (own, range.after as i64, range.through as i64), |row| {
            Ok((header(row)?, row.get::<_, Option<[u8; 16]>>(4)?, row.get(5)?, row.get::<_, Option<Vec<u8>>>(6)?))
        })?;
        let mut found = Vec::with_capacity(rows.len());
        for (header, entity, version, tombstone) in rows {
            let content = match entity {
                Some(entity) => self.entry(EntityId::from_bytes(entity), version, header.id, ahead)?,
                // Only a forgetting has no entity.
                None => tombstone.and_then(|content| Record::decode(&content).ok()),
            };
            found.push(Outgoing { header, content });
        }
        Ok(found)
    }

    /// Returns the content of a version of an entity; `None` if there is nothing to send any more.
    fn entry(
        &mut self,
        entity: EntityId,
        version: u32,
        record: RecordId,
        ahead: i64,
    ) -> rusqlite::Result<Option<Record>> {
        let known = Identity::find(self.connection, entity)?;
        let Some(known) = known.filter(|known| known.host.is_none() && known.version == version) else {
            return Ok(None);
        };
        let raw_text = self.scan.raw_text();
        let Some(content) = content::read(self.connection, known.table, known.row, raw_text)? else { return Ok(None) };
        let sql = "SELECT sync_id, sync_name FROM projects WHERE project_key = ?1 AND is_shared = 1 AND since <= ?2";
        let shared: Option<([u8; 16], String)> = self.connection.first(sql, (&content.project_key, content.at))?;
        let Some((project, name)) = shared else {
            self.not_shared.push((entity, record));
            return Ok(None);
        };
        let project = ProjectId::from_bytes(project);
        let mut entry = content.entry(entity, project);
        entry.version = version;
        entry.project_name = name;
        // All hosts use the engine's clock.
        entry.at_ms = entry.at_ms.saturating_add_signed(-ahead);
        Ok(Some(Record::Entry(Box::new(entry))))
    }
}
