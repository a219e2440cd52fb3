//! Which row of the memory is which entity, which entities were forgotten, and which host a record comes from, which is
//! shown beside it: `@laptop`.

use longhaul_sync::{Body, EntityId, RecordId, host_name};
use rusqlite::Connection;

use super::circle::{HostRow, is_own_host};
use super::intake_transaction::IntakeHost;
use super::log::{DAMAGED, DONE, ERASE};
use crate::What;
use crate::memory::forget;
use crate::sql::Sql;

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
/// Deleted on this host only, because another host has made it.
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
    connection.first_with(&sql, [entity.as_bytes()], read)
}

/// Finds an entity by its id for a host that has a record of it. A tombstone of another host does not count: that one has only its
/// own records forgotten.
pub(super) fn find_for(connection: &Connection, entity: EntityId, writer: HostRow) -> rusqlite::Result<Option<Known>> {
    let Some(known) = find(connection, entity)? else { return Ok(None) };
    let counts = known.forgotten != BURIED || is_same_machine(connection, known.host, writer)?;
    Ok(counts.then_some(known))
}

/// Returns whether two hosts are one: the same id, or ids that this machine has had.
pub(super) fn is_same_machine(connection: &Connection, one: HostRow, other: HostRow) -> rusqlite::Result<bool> {
    Ok(one == other || is_own_host(connection, one)? && is_own_host(connection, other)?)
}

/// Finds the entity of a row, and whether it was made on this host, now or before it got a new id. Of several, one that was.
pub(super) fn of_row(connection: &Connection, table: EntityTable, row: i64) -> rusqlite::Result<Option<RowEntity>> {
    let sql = format!(
        "SELECT {COLUMNS}, entity, (SELECT is_own FROM sync_hosts WHERE id = host_id) AS is_own FROM sync_entities
         WHERE what = ?1 AND row_id = ?2 ORDER BY is_own DESC, host_id DESC, entity LIMIT 1"
    );
    connection.first_with(&sql, (table as i64, row), |row| {
        Ok(RowEntity { entity: EntityId::from_bytes(row.get(7)?), is_own: row.get(8)?, known: read(row)? })
    })
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
        .run(
            "INSERT INTO sync_entities (entity, what, row_id, host_id, version, record_id, digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET what = ?2, row_id = ?3, host_id = ?4, version = ?5, record_id = ?6,
                 digest = coalesce(?7, digest), forgotten = 0",
            (
                new.entity.as_bytes(),
                new.table as i64,
                new.row,
                new.host,
                new.version,
                new.record.as_bytes(),
                new.digest,
            ),
        )
        .map(drop)
}

/// Deletes an entity because of a tombstone in the log; `host` wrote the tombstone. Returns whether there was a row, or `None`
/// if the entity is not the host's to forget.
pub(super) fn bury(
    connection: &Connection,
    entity: EntityId,
    host: IntakeHost,
    record: RecordId,
) -> rusqlite::Result<Option<bool>> {
    let known = find(connection, entity)?;
    let (mut had_row, mut of_others) = (false, OfOthers::default());
    if let Some(known) = &known {
        if !may_forget(connection, host, known)? {
            return Ok(None);
        }
        if known.forgotten == DELETED_HERE && !host.is_own {
            // A person has forgotten it here: what others have written of it does not come back.
            erase_of_host(connection, entity, host.row)?;
            return Ok(Some(false));
        }
        if let (Some(table), Some(row)) = (known.table, known.row) {
            if !host.is_own {
                of_others = OfOthers::beside(connection, table, row, host.row)?;
            }
            had_row = delete_row(connection, table, row)?;
        }
    }
    // Of what is not known here, the tombstone is stored alone: `find_for` decides whose records it concerns.
    connection.run(
        "INSERT INTO sync_entities (entity, host_id, version, record_id, forgotten) VALUES (?1, ?2, 0, ?3, ?4)
             ON CONFLICT DO UPDATE SET forgotten = ?4, row_id = NULL, digest = NULL",
        (entity.as_bytes(), host.row, record.as_bytes(), BURIED),
    )?;
    if host.is_own {
        erase_in_engine(connection, entity)?;
    } else {
        // Others may have written records of it: they are not this host's to forget.
        erase_of_host(connection, entity, host.row)?;
        of_others.fetch_again(connection, entity, host.row)?;
    }
    Ok(Some(had_row))
}

/// What other hosts have written that is deleted with a row of a host: their versions of it, which the newest one has replaced, their
/// own entities of the same row, and the summaries of its session. They are not that host's to forget.
#[derive(Default)]
struct OfOthers {
    prompt: Option<i64>,
    entities: Vec<EntityId>,
    call: Option<String>,
}

impl OfOthers {
    fn beside(connection: &Connection, table: EntityTable, row: i64, host: HostRow) -> rusqlite::Result<Self> {
        let sql = "SELECT entity FROM sync_entities WHERE what = ?1 AND row_id = ?2 AND host_id <> ?3";
        let read = |row: &rusqlite::Row<'_>| row.get(0).map(EntityId::from_bytes);
        let mut statement = connection.prepare_cached(sql)?;
        let same = statement.query_map((table as i64, row, host), read)?;
        let mut others = Self { entities: same.collect::<Result<_, _>>()?, ..Self::default() };
        let (name, call) = match table {
            EntityTable::Prompts => ("prompts", "NULL"),
            EntityTable::Observations => ("observations", "tool_use_id"),
            EntityTable::Summaries | EntityTable::Bookmarks => return Ok(others),
        };
        let sql = format!(
            "SELECT e.entity FROM session_summaries s JOIN sync_entities e ON e.what = 2 AND e.row_id = s.id
             WHERE s.session_id = (SELECT session_id FROM {name} WHERE id = ?1)"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        for summary in statement.query_map([row], read)? {
            others.entities.push(summary?);
        }
        let sql = format!("SELECT {call} FROM {name} WHERE id = ?1");
        others.call = connection.first(&sql, [row])?.flatten();
        others.prompt = (table == EntityTable::Prompts).then_some(row);
        Ok(others)
    }

    /// Has it fetched and taken in again, as far as it was deleted.
    fn fetch_again(&self, connection: &Connection, entity: EntityId, host: HostRow) -> rusqlite::Result<()> {
        let mut lost = vec![entity];
        for other in &self.entities {
            let sql = "DELETE FROM sync_entities WHERE entity = ?1 AND row_id IS NULL";
            if connection.run(sql, [other.as_bytes()])? > 0 {
                lost.push(*other);
            }
        }
        let mut to_fetch = 0;
        for entity in &lost {
            let sql = "UPDATE sync_log SET state = ?3 WHERE entity = ?1 AND host_id <> ?2 AND state = ?4
                           AND host_id NOT IN (SELECT id FROM sync_hosts WHERE is_own)";
            to_fetch += connection.run(sql, (entity.as_bytes(), host, DAMAGED, DONE))?;
        }
        if to_fetch > 0 {
            // Else they would be left out as forgotten.
            connection.run("DELETE FROM turns WHERE id = ?1 AND forgotten = 1", [self.prompt])?;
            let sql = "DELETE FROM known_ids WHERE scope = 'a call' AND id = ?1 AND same_as IS NULL";
            connection.run(sql, [&self.call])?;
            connection.run("UPDATE sync_hosts SET damaged_at = 0 WHERE circle IS NOT NULL", [])?;
        }
        Ok(())
    }
}

/// Records that an entity that has just come was forgotten here before. One that this machine has made is to be forgotten
/// everywhere: its tombstone is still to be written. Returns whether it is.
pub(super) fn mark_forgotten(
    connection: &Connection,
    entity: EntityId,
    host: IntakeHost,
    record: RecordId,
) -> rusqlite::Result<bool> {
    let forgotten = if host.is_own { FORGOTTEN } else { DELETED_HERE };
    let sql = "INSERT INTO sync_entities (entity, host_id, version, record_id, forgotten) VALUES (?1, ?2, 0, ?3, ?4)
               ON CONFLICT DO UPDATE SET host_id = ?2, record_id = ?3, forgotten = ?4, row_id = NULL, digest = NULL";
    connection.run(sql, (entity.as_bytes(), host.row, record.as_bytes(), forgotten))?;
    Ok(host.is_own)
}

/// Returns whether a host may have an entity forgotten on this machine: only if the newest version is of the host. To have written
/// another one is not enough, because anybody can. One that was made here, only this machine has written, under whatever id.
fn may_forget(connection: &Connection, host: IntakeHost, known: &Known) -> rusqlite::Result<bool> {
    Ok(known.host == host.row || (host.is_own && is_own_host(connection, known.host)?))
}

/// Marks every record of an entity as to be erased in the engine.
pub(super) fn erase_in_engine(connection: &Connection, entity: EntityId) -> rusqlite::Result<()> {
    let sql = "UPDATE sync_log SET state = ?2, content = NULL, project = NULL WHERE entity = ?1 AND state IS NOT ?2";
    connection.run(sql, (entity.as_bytes(), ERASE)).map(drop)
}

/// Marks the records that a host has written of an entity as to be erased in the engine.
fn erase_of_host(connection: &Connection, entity: EntityId, host: HostRow) -> rusqlite::Result<()> {
    let sql = "UPDATE sync_log SET state = ?3, content = NULL, project = NULL
               WHERE entity = ?1 AND host_id = ?2 AND state IS NOT ?3";
    connection.run(sql, (entity.as_bytes(), host, ERASE)).map(drop)
}

/// Returns the state of a record in the log whose entity is forgotten; `None` if it is not.
pub(super) fn state_if_forgotten(known: &Known) -> Option<i64> {
    match known.forgotten {
        LIVE => None,
        DELETED_HERE => Some(DONE),
        _ => Some(ERASE),
    }
}

/// The number of the table of bookmarks.
pub(crate) const BOOKMARK: u8 = EntityTable::Bookmarks as u8;

/// Records that a row is about to be deleted: forgotten everywhere if this machine has made it, and else only here, because only
/// its writer may have it forgotten by others.
pub(crate) fn row_is_forgotten(connection: &Connection, table: u8, row: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE sync_entities SET row_id = NULL, digest = NULL,
                   forgotten = max(forgotten, (SELECT iif(is_own, ?3, ?4) FROM sync_hosts WHERE id = host_id))
               WHERE what = ?1 AND row_id = ?2";
    connection.run(sql, (table, row, FORGOTTEN, DELETED_HERE)).map(drop)
}

/// Deletes a row with every other trace of its text; returns whether there was one.
pub(super) fn delete_row(connection: &Connection, table: EntityTable, row: i64) -> rusqlite::Result<bool> {
    match table {
        EntityTable::Prompts => forget::forget_prompt(connection, row),
        EntityTable::Observations => forget::forget_observation(connection, row),
        EntityTable::Summaries => forget::forget_summary(connection, row),
        EntityTable::Bookmarks => forget::delete_bookmark(connection, row),
    }
}

/// Returns how the host that a record comes from is shown: `@laptop`.
pub fn from_host(name: &str) -> String {
    format!("@{name}")
}

/// Returns the name of the other host that a record comes from; `None` if it was made here.
pub(crate) fn host_of(connection: &Connection, what: What, id: i64) -> rusqlite::Result<Option<String>> {
    name_of(connection, table_of(what), id)
}

/// Returns the name of the other host that a bookmark comes from; `None` if it was made here.
pub(crate) fn host_of_bookmark(connection: &Connection, id: i64) -> rusqlite::Result<Option<String>> {
    name_of(connection, EntityTable::Bookmarks as i64, id)
}

fn name_of(connection: &Connection, table: i64, id: i64) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT iif(h.name = '', 'host', h.name) FROM sync_entities e JOIN sync_hosts h ON h.id = e.host_id
               WHERE e.what = ?1 AND e.row_id = ?2 AND h.is_own = 0 LIMIT 1";
    connection.first(sql, (table, id))
}

/// Returns the row of the other host that a record comes from; `None` if it was made here.
pub(crate) fn host_row_of(connection: &Connection, what: What, id: i64) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT e.host_id FROM sync_entities e JOIN sync_hosts h ON h.id = e.host_id
               WHERE e.what = ?1 AND e.row_id = ?2 AND h.is_own = 0 LIMIT 1";
    connection.first(sql, (table_of(what), id))
}

/// Which hosts a search is limited to.
#[derive(Debug)]
pub(crate) struct HostFilter {
    /// Rows of other hosts.
    others: Vec<i64>,
    /// Whether what was made here counts.
    is_own: bool,
}

impl HostFilter {
    /// Finds the hosts of a name, with or without `@`; `here` is this host. Returns `None` without a name.
    pub(crate) fn of(connection: &Connection, name: Option<&str>) -> rusqlite::Result<Option<Self>> {
        let Some(name) = name else { return Ok(None) };
        let name = host_name(name.trim_start_matches('@'));
        let hosts: Vec<(i64, bool)> = connection.all("SELECT id, is_own FROM sync_hosts WHERE name = ?1", [&name])?;
        let others = hosts.iter().filter(|(_, is_own)| !is_own).map(|(id, _)| *id).collect();
        let is_own = name == "here" || hosts.iter().any(|(_, is_own)| *is_own);
        Ok(Some(Self { others, is_own }))
    }

    /// Returns whether no host has the name.
    pub(crate) fn is_empty(&self) -> bool {
        self.others.is_empty() && !self.is_own
    }

    /// Returns the rows of the hosts, unless this one is among them.
    pub(crate) fn only_others(&self) -> Option<&[i64]> {
        (!self.is_own).then_some(&self.others)
    }

    /// Returns whether a record of a host counts; `None` is this host.
    pub(crate) fn has(&self, host: Option<i64>) -> bool {
        host.map_or(self.is_own, |host| self.others.contains(&host))
    }
}

/// The number of a type of records in `sync_entities`.
fn table_of(what: What) -> i64 {
    match what {
        What::Prompt => 0,
        What::Observation => 1,
        What::Summary => 2,
    }
}
