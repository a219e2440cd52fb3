//! Which row of the memory is which entity, and which entities were forgotten.

use longhaul_sync::{Body, EntityId, RecordId};
use rusqlite::{Connection, OptionalExtension};

use super::circle::HostRow;
use super::log::{DONE, ERASE};
use crate::memory::forget;
use crate::row_ids::ProjectRow;

/// The table that an entity is in. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntityTable {
    Prompts = 0,
    Observations = 1,
    Summaries = 2,
    Bookmarks = 3,
}

impl EntityTable {
    pub(super) const ALL: [Self; 4] = [Self::Prompts, Self::Observations, Self::Summaries, Self::Bookmarks];

    /// Returns the table that an entry is stored in.
    pub(super) fn of(body: &Body) -> Self {
        match body {
            Body::Prompt(_) => Self::Prompts,
            Body::Observation(_) | Body::Note(_) => Self::Observations,
            Body::Summary(_) => Self::Summaries,
            Body::Bookmark(_) => Self::Bookmarks,
        }
    }

    pub(super) fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|table| *table as i64 == number)
    }
}

/// Not forgotten.
pub(super) const LIVE: i64 = 0;
/// Forgotten here; its tombstone is not in the log yet.
pub(super) const FORGOTTEN: i64 = 1;
/// Its tombstone is in the log.
pub(super) const BURIED: i64 = 2;
/// Deleted on this host only.
const DELETED_HERE: i64 = 3;

/// An entity that is known here.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) table: Option<EntityTable>,
    pub(super) row: Option<i64>,
    pub(super) host: HostRow,
    pub(super) version: u32,
    pub(super) record: RecordId,
    pub(super) digest: Option<[u8; 16]>,
    pub(super) forgotten: i64,
}

/// The entity of a row.
pub(super) struct RowEntity {
    pub(super) entity: EntityId,
    /// Whether it was made on this host.
    pub(super) is_own: bool,
    pub(super) known: Known,
}

const COLUMNS: &str = "what, row_id, host_id, version, record_id, digest, forgotten";

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Known> {
    Ok(Known {
        table: row.get::<_, Option<i64>>(0)?.and_then(EntityTable::from_number),
        row: row.get(1)?,
        host: row.get(2)?,
        version: row.get(3)?,
        record: RecordId::from_bytes(row.get(4)?),
        digest: row.get(5)?,
        forgotten: row.get(6)?,
    })
}

/// Finds an entity by its id.
pub(super) fn find(connection: &Connection, entity: EntityId) -> rusqlite::Result<Option<Known>> {
    let sql = format!("SELECT {COLUMNS} FROM sync_entities WHERE entity = ?1");
    connection.prepare_cached(&sql)?.query_row([entity.as_bytes()], read).optional()
}

/// Finds the entity of a row, and whether it was made on this host, now or before it got a new id. Of several, one that was.
pub(super) fn of_row(connection: &Connection, table: EntityTable, row: i64) -> rusqlite::Result<Option<RowEntity>> {
    let sql = format!(
        "SELECT {COLUMNS}, entity, (SELECT is_own FROM sync_hosts WHERE id = host_id) AS is_own FROM sync_entities
         WHERE what = ?1 AND row_id = ?2 ORDER BY is_own DESC, host_id DESC, entity LIMIT 1"
    );
    connection
        .prepare_cached(&sql)?
        .query_row((table as i64, row), |row| {
            Ok(RowEntity { entity: EntityId::from_bytes(row.get(7)?), is_own: row.get(8)?, known: read(row)? })
        })
        .optional()
}

/// What a version of an entity is stored with.
pub(super) struct Version {
    pub(super) entity: EntityId,
    pub(super) table: EntityTable,
    pub(super) row: i64,
    pub(super) host: HostRow,
    pub(super) version: u32,
    pub(super) record: RecordId,
    pub(super) digest: Option<[u8; 16]>,
}

/// Stores which row an entity is, or that it has a newer version. It counts as made on the host that wrote its newest version:
/// what is shown beside a text is who wrote it.
pub(super) fn put(connection: &Connection, new: &Version) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO sync_entities (entity, what, row_id, host_id, version, record_id, digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET host_id = ?4, version = ?5, record_id = ?6, digest = coalesce(?7, digest)",
        )?
        .execute((
            new.entity.as_bytes(),
            new.table as i64,
            new.row,
            new.host,
            new.version,
            new.record.as_bytes(),
            new.digest,
        ))
        .map(drop)
}

/// Deletes an entity because of a tombstone in the log; `host` wrote the tombstone.
pub(super) fn bury(
    connection: &Connection,
    entity: EntityId,
    host: HostRow,
    record: RecordId,
) -> rusqlite::Result<bool> {
    let known = find(connection, entity)?;
    let had_row = match &known {
        Some(Known { table: Some(table), row: Some(row), .. }) => delete_row(connection, *table, *row)?,
        _ => false,
    };
    connection
        .prepare_cached(
            "INSERT INTO sync_entities (entity, host_id, version, record_id, forgotten) VALUES (?1, ?2, 0, ?3, ?4)
             ON CONFLICT DO UPDATE SET forgotten = ?4, row_id = NULL, digest = NULL",
        )?
        .execute((entity.as_bytes(), host, record.as_bytes(), BURIED))?;
    erase_in_engine(connection, entity)?;
    Ok(had_row)
}

/// Records that an entity that has just come was forgotten here before: its tombstone is still to be written.
pub(super) fn mark_forgotten(
    connection: &Connection,
    entity: EntityId,
    host: HostRow,
    record: RecordId,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO sync_entities (entity, host_id, version, record_id, forgotten) VALUES (?1, ?2, 0, ?3, ?4)
               ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute((entity.as_bytes(), host, record.as_bytes(), FORGOTTEN)).map(drop)
}

/// Marks every record of an entity as to be erased in the engine.
pub(super) fn erase_in_engine(connection: &Connection, entity: EntityId) -> rusqlite::Result<()> {
    let sql = "UPDATE sync_log SET state = ?2, content = NULL, project = NULL WHERE entity = ?1 AND state IS NOT ?2";
    connection.prepare_cached(sql)?.execute((entity.as_bytes(), ERASE)).map(drop)
}

/// Returns the state of a record in the log whose entity is forgotten; `None` if it is not.
pub(super) fn state_if_forgotten(known: &Known) -> Option<i64> {
    match known.forgotten {
        LIVE => None,
        DELETED_HERE => Some(DONE),
        _ => Some(ERASE),
    }
}

/// Deletes a row with every other trace of its text; returns whether there was one.
pub(super) fn delete_row(connection: &Connection, table: EntityTable, row: i64) -> rusqlite::Result<bool> {
    match table {
        EntityTable::Prompts => forget::forget_prompt(connection, row),
        EntityTable::Observations => forget::forget_observation(connection, row),
        EntityTable::Summaries => forget::forget_summary(connection, row),
        EntityTable::Bookmarks => Ok(connection.execute("DELETE FROM bookmarks WHERE id = ?1", [row])? > 0),
    }
}

/// Makes the deletion of what other hosts have made, in a project or in all, a deletion on this host only.
///
/// Deleting a whole project here must not delete what others have in it. To be called before the deletion.
pub(crate) fn keep_of_others(connection: &Connection, project: Option<ProjectRow>) -> rusqlite::Result<()> {
    for (number, table) in ["user_prompts", "observations", "session_summaries"].iter().enumerate() {
        let sql = format!(
            "UPDATE sync_entities SET forgotten = ?1 WHERE what = ?2 AND forgotten = 0
             AND host_id IN (SELECT id FROM sync_hosts WHERE is_own = 0)
             AND (?3 IS NULL OR row_id IN (SELECT id FROM {table} WHERE project_id = ?3))"
        );
        connection.execute(&sql, (DELETED_HERE, number as i64, project))?;
    }
    let sql = "UPDATE sync_entities SET forgotten = ?1 WHERE what = 3 AND forgotten = 0
               AND host_id IN (SELECT id FROM sync_hosts WHERE is_own = 0)
               AND (?2 IS NULL OR row_id IN (SELECT b.id FROM bookmarks b JOIN sessions s ON s.session_id = b.session_id
                    JOIN projects p ON p.project_key = s.project_key WHERE p.id = ?2))";
    connection.execute(sql, (DELETED_HERE, project)).map(drop)
}
