//! What is sent to the engine: own records, and which payloads to erase there.

use longhaul_sync::{EntityId, Heads, HostId, IdxRange, Outgoing, ProjectId, Record, RecordId, SealedRecord};
use rusqlite::{Connection, OptionalExtension};

use super::circle::own_row;
use super::content;
use super::entities::{self, Known};
use super::log::{DONE, ERASE, header};
use super::scan::Scan;
use crate::{Store, StoreError, cannot, limit};

impl Store {
    /// Returns the highest idx of each host in the log.
    pub fn sync_heads(&self) -> Result<Heads, StoreError> {
        let failed = cannot("read the log of sync");
        let sql = "SELECT host, head FROM sync_hosts WHERE head > 0";
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        let rows =
            statement.query_map([], |row| Ok((HostId::from_bytes(row.get(0)?), row.get::<_, i64>(1)?.unsigned_abs())));
        rows.map_err(&failed)?.collect::<Result<_, _>>().map_err(failed)
    }

    /// Returns the own records of a range, at most `most`, in the order of their idx.
    ///
    /// A record has no content if it was forgotten, if a newer version of it follows, or if its project is no longer shared,
    /// or was shared again since.
    pub fn records_to_send(&self, range: IdxRange, most: usize, scan: Scan) -> Result<Vec<Outgoing>, StoreError> {
        self.write("read the records to send", |tx| to_send(tx, range, most, scan))
    }

    /// Records that the engine has the own records up to an idx.
    pub fn confirm_sent(&self, through: u64) -> Result<(), StoreError> {
        let sql = "UPDATE sync_hosts SET confirmed = min(?1, head) WHERE id = (SELECT host_id FROM sync_self)";
        self.connection.execute(sql, [through as i64]).map(drop).map_err(cannot("record what was sent"))
    }

    /// Returns the headers of records whose payload is to be erased in the engine, at most `most`.
    pub fn records_to_erase(&self, most: usize) -> Result<Vec<SealedRecord>, StoreError> {
        let failed = cannot("read what to erase");
        let sql = format!(
            "SELECT l.record_id, h.host, l.idx, l.time FROM sync_log l JOIN sync_hosts h ON h.id = l.host_id
             WHERE l.state = {ERASE} {}",
            limit(most)
        );
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let rows = statement.query_map([], header).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// Records that the engine was asked to erase the payloads of these records.
    pub fn note_erased(&self, ids: &[RecordId]) -> Result<(), StoreError> {
        self.write("record what was erased", |tx| {
            // By the state, which has an index.
            let sql = format!("UPDATE sync_log SET state = {DONE} WHERE state = {ERASE} AND record_id = ?1");
            let mut statement = tx.prepare_cached(&sql)?;
            ids.iter().try_for_each(|id| statement.execute([id.as_bytes()]).map(drop))
        })
    }
}

fn to_send(connection: &Connection, range: IdxRange, most: usize, scan: Scan) -> rusqlite::Result<Vec<Outgoing>> {
    let Some(own) = own_row(connection)? else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT l.record_id, h.host, l.idx, l.time, l.entity, l.content FROM sync_log l JOIN sync_hosts h ON h.id = l.host_id
         WHERE l.host_id = ?1 AND l.idx > ?2 AND l.idx <= ?3 ORDER BY l.idx {}",
        limit(most)
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query((own, range.after as i64, range.through as i64))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let header = header(row)?;
        let entity: Option<[u8; 16]> = row.get(4)?;
        let content = match entity {
            Some(entity) => entry(connection, EntityId::from_bytes(entity), header.id, scan)?,
            // Only a forgetting has no entity.
            None => row.get_ref(5)?.as_blob_or_null()?.and_then(|content| Record::decode(content).ok()),
        };
        found.push(Outgoing { header, content });
    }
    Ok(found)
}

/// Returns the content of a version of an entity; `None` if there is nothing to send any more.
fn entry(connection: &Connection, entity: EntityId, record: RecordId, scan: Scan) -> rusqlite::Result<Option<Record>> {
    let known = entities::find(connection, entity)?.filter(|known| known.record == record);
    let Some(Known { table: Some(table), row: Some(row), version, .. }) = known else { return Ok(None) };
    let Some(content) = content::read(connection, table, row, scan.raw_text())? else { return Ok(None) };
    let sql = "SELECT project, name FROM sync_projects WHERE project_key = ?1 AND is_shared = 1 AND since <= ?2";
    let shared: Option<([u8; 16], String)> = connection
        .prepare_cached(sql)?
        .query_row((&content.project_key, content.at), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((project, name)) = shared else {
        // If it is shared again with its past, it becomes a record again.
        let sql = "UPDATE sync_entities SET digest = NULL WHERE entity = ?1";
        connection.prepare_cached(sql)?.execute([entity.as_bytes()])?;
        return Ok(None);
    };
    let ahead: i64 = connection
        .prepare_cached("SELECT h.clock_ahead FROM sync_self s JOIN sync_hosts h ON h.id = s.host_id")?
        .query_row([], |row| row.get(0))?;
    let mut entry = content.entry(entity, ProjectId::from_bytes(project));
    entry.version = version;
    entry.project_name = name;
    // All hosts use the engine's clock.
    entry.at_ms = entry.at_ms.saturating_add_signed(-ahead);
    Ok(Some(Record::Entry(Box::new(entry))))
}
