//! Which row is which entity of the circle, which entities were forgotten, and which host a record comes from, which is shown
//! beside it: `@laptop`.
//!
//! A row of the memory knows it by three columns: `uid` is the entity, `host_id` the other host that has written it, and
//! `version` the newest version that is here. They are NULL as long as sync has nothing to do with the row, and `host_id` is
//! NULL in what was made here, under whatever id of this host. A row is one entity: of two entities that name the same thing,
//! it is the one with the newer version.
//!
//! A tombstone is an id in `known_ids`: what was forgotten needs no row.

use longhaul_sync::{Body, EntityId, RecordId, host_name};
use rusqlite::Connection;

use super::apply::Applied;
use super::intake::IntakeHost;
use super::log::{DAMAGED, DONE, ERASE, SHADOWED};
use crate::What;
use crate::memory::forget;
use crate::sql::Sql;

/// The number of a host's row in `sync_hosts`.
pub(super) type HostRow = i64;

/// A table whose rows are exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntityTable {
    Prompts,
    Observations,
    Summaries,
    Bookmarks,
}

impl EntityTable {
    pub(super) const ALL: [Self; 4] = [Self::Prompts, Self::Observations, Self::Summaries, Self::Bookmarks];

    pub(super) fn of(body: &Body) -> Self {
        match body {
            Body::Prompt(_) => Self::Prompts,
            Body::Observation(_) | Body::Note(_) => Self::Observations,
            Body::Summary(_) => Self::Summaries,
            Body::Bookmark(_) => Self::Bookmarks,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Prompts => "turns",
            Self::Observations => "observations",
            Self::Summaries => "session_summaries",
            Self::Bookmarks => "bookmarks",
        }
    }

    /// Returns the kind of its records in the search index; `None` for bookmarks, which are not searched.
    pub(super) fn what(self) -> Option<What> {
        match self {
            Self::Prompts => Some(What::Prompt),
            Self::Observations => Some(What::Observation),
            Self::Summaries => Some(What::Summary),
            Self::Bookmarks => None,
        }
    }
}

/// What sync knows of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) table: EntityTable,
    pub(super) row: i64,
    /// `None` if it is in no log yet.
    pub(super) entity: Option<EntityId>,
    /// The other host that has written it; `None` for this one.
    pub(super) host: Option<HostRow>,
    /// 0 if it is in no log yet.
    pub(super) version: u32,
}

impl Identity {
    pub(super) fn find(connection: &Connection, entity: EntityId) -> rusqlite::Result<Option<Self>> {
        for table in EntityTable::ALL {
            let sql = format!("SELECT id, host_id, version FROM {} WHERE uid = ?1", table.name());
            if let Some((row, host, version)) = connection.first(&sql, [entity.as_bytes()])? {
                return Ok(Some(Self { table, row, entity: Some(entity), host, version }));
            }
        }
        Ok(None)
    }

    /// Returns what is known of a row; `None` if it does not exist.
    pub(super) fn of_row(connection: &Connection, table: EntityTable, row: i64) -> rusqlite::Result<Option<Self>> {
        let sql = format!("SELECT uid, host_id, coalesce(version, 0) FROM {} WHERE id = ?1", table.name());
        connection.first_with(&sql, [row], |found| {
            let entity = found.get::<_, Option<[u8; 16]>>(0)?.map(EntityId::from_bytes);
            Ok(Self { table, row, entity, host: found.get(1)?, version: found.get(2)? })
        })
    }

    /// Stores it. To be called before the index is written: the index has a term for the host.
    pub(super) fn put(&self, connection: &Connection) -> rusqlite::Result<()> {
        let sql = format!("UPDATE {} SET uid = ?2, host_id = ?3, version = ?4 WHERE id = ?1", self.table.name());
        let entity = self.entity.map(|entity| *entity.as_bytes());
        connection.run(&sql, (self.row, entity, self.host, self.version)).map(drop)
    }

    /// Returns the record that has brought this version; the lowest id if the log does not have it any more.
    pub(super) fn record(&self, connection: &Connection) -> rusqlite::Result<RecordId> {
        let sql = "SELECT max(record_id) FROM sync_log WHERE entity = ?1 AND version = ?2
                   AND iif(?3 IS NULL, host_id IN (SELECT id FROM sync_hosts WHERE is_own), host_id = ?3)";
        let entity = self.entity.map(|entity| *entity.as_bytes());
        let record: Option<[u8; 16]> = connection.one(sql, (entity, self.version, self.host))?;
        Ok(RecordId::from_bytes(record.unwrap_or_default()))
    }

    /// Deletes the row with every other trace of its text; returns whether there was one.
    pub(super) fn delete_row(&self, connection: &Connection) -> rusqlite::Result<bool> {
        match self.table {
            EntityTable::Prompts => forget::forget_prompt(connection, self.row),
            EntityTable::Observations => forget::forget_observation(connection, self.row),
            EntityTable::Summaries => forget::forget_summary(connection, self.row),
            EntityTable::Bookmarks => forget::delete_bookmark(connection, self.row),
        }
    }
}

/// The scope in `known_ids` of what was forgotten here and made here, until its tombstone is in the log.
const TO_BURY: &str = "tombstone to write";
/// The same once its tombstone is in the log.
const BURIED: &str = "tombstone";
/// The scope of what a person has forgotten here and another host has made: it is forgotten on this host only.
const HERE: &str = "forgotten here";

/// Returns the scope of what a host has forgotten that only it has made.
fn buried_by(host: IntakeHost) -> String {
    if host.is_own { BURIED.to_owned() } else { format!("{BURIED} of {}", host.row) }
}

/// Records that a row is about to be deleted: forgotten everywhere if this machine has made it, and else only here, because only
/// its writer may have it forgotten by others.
pub(crate) fn row_is_forgotten(connection: &Connection, table: &str, row: i64) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT INTO known_ids (scope, id) SELECT iif(host_id IS NULL, '{TO_BURY}', '{HERE}'), hex(uid) FROM {table}
         WHERE id = ?1 AND uid IS NOT NULL ON CONFLICT DO NOTHING"
    );
    connection.run(&sql, [row]).map(drop)
}

/// Returns how an entry of a host is dealt with whose entity was forgotten; `None` if it was not. A tombstone of another host
/// counts for its own records only, and what another machine has forgotten does not have the records of this one erased.
pub(super) fn fate_of_forgotten(
    connection: &Connection,
    entity: EntityId,
    host: IntakeHost,
) -> rusqlite::Result<Option<Applied>> {
    let sql = "SELECT scope FROM known_ids WHERE id = hex(?1) AND scope IN (?2, ?3, ?4, ?5)";
    let scopes: Vec<String> = connection.all(sql, (entity.as_bytes(), HERE, TO_BURY, BURIED, buried_by(host)))?;
    let is_everywhere = |scope: &String| match scope.as_str() {
        HERE => false,
        TO_BURY | BURIED => host.is_own,
        _ => true,
    };
    let fate = if scopes.iter().any(is_everywhere) { Applied::Forgotten } else { Applied::Known };
    Ok((!scopes.is_empty()).then_some(fate))
}

/// Returns whether an entity was forgotten on this machine.
pub(super) fn is_forgotten_here(connection: &Connection, entity: EntityId) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM known_ids WHERE id = hex(?1) AND scope IN (?2, ?3, ?4)";
    connection.has(sql, (entity.as_bytes(), HERE, TO_BURY, BURIED))
}

/// Records that an entity that has just come was forgotten here before. One that this machine has made is to be forgotten
/// everywhere: its tombstone is still to be written. Returns what becomes of the entry.
pub(super) fn mark_forgotten(connection: &Connection, entity: EntityId, host: IntakeHost) -> rusqlite::Result<Applied> {
    add_tombstone(connection, if host.is_own { TO_BURY } else { HERE }, entity)?;
    Ok(if host.is_own { Applied::Forgotten } else { Applied::Known })
}

fn add_tombstone(connection: &Connection, scope: &str, entity: EntityId) -> rusqlite::Result<()> {
    let sql = "INSERT INTO known_ids (scope, id) VALUES (?1, hex(?2)) ON CONFLICT DO NOTHING";
    connection.run(sql, (scope, entity.as_bytes())).map(drop)
}

/// Returns some entities whose tombstone is still to be written.
pub(super) fn to_bury(connection: &Connection, most: usize) -> rusqlite::Result<Vec<EntityId>> {
    let sql = "SELECT unhex(id) FROM known_ids WHERE scope = ?1 LIMIT ?2";
    let found: Vec<[u8; 16]> = connection.all(sql, (TO_BURY, most as i64))?;
    Ok(found.into_iter().map(EntityId::from_bytes).collect())
}

/// Records that the tombstone of an entity is in the log.
pub(super) fn note_buried(connection: &Connection, entity: EntityId) -> rusqlite::Result<()> {
    let sql = "DELETE FROM known_ids WHERE scope = ?1 AND id = hex(?2)";
    connection.run(sql, (TO_BURY, entity.as_bytes()))?;
    add_tombstone(connection, BURIED, entity)?;
    erase_in_engine(connection, entity, None)
}

/// Makes the next exchange write the tombstones of these entities again.
pub(super) fn bury_again(connection: &Connection, forgotten: Vec<EntityId>) -> rusqlite::Result<()> {
    let sql = "UPDATE OR REPLACE known_ids SET scope = ?2 WHERE scope = ?1 AND id = hex(?3)";
    forgotten.iter().try_for_each(|entity| connection.run(sql, (BURIED, TO_BURY, entity.as_bytes())).map(drop))
}

/// Records that no tombstone is to be written any more.
pub(super) fn bury_nothing(connection: &Connection) -> rusqlite::Result<()> {
    connection.run("UPDATE OR REPLACE known_ids SET scope = ?2 WHERE scope = ?1", (TO_BURY, BURIED)).map(drop)
}

/// Deletes an entity because of a tombstone in the log that `host` has written. Returns whether there was a row, or `None` if the
/// entity is not the host's to forget: only the one that has written the newest version may, because anybody can write another.
pub(super) fn bury(connection: &Connection, entity: EntityId, host: IntakeHost) -> rusqlite::Result<Option<bool>> {
    let known = Identity::find(connection, entity)?;
    if known.is_some_and(|known| known.host != host.other()) {
        return Ok(None);
    }
    let mut had_row = false;
    if let Some(known) = known {
        // Otherwise deleting it would count as forgetting it here.
        Identity { entity: None, ..known }.put(connection)?;
        if host.is_own {
            forget::drop_summaries_of(connection, known.table.name(), known.row)?;
        }
        let sql = "SELECT tool_use_id FROM observations WHERE id = ?1 AND ?2";
        let call = connection.first(sql, (known.row, known.table == EntityTable::Observations))?.flatten();
        had_row = known.delete_row(connection)?;
        if !host.is_own {
            make_way(connection, entity, host.row, &known, call)?;
        }
    }
    if host.is_own {
        note_buried(connection, entity)?;
    } else {
        add_tombstone(connection, &buried_by(host), entity)?;
        erase_in_engine(connection, entity, Some(host.row))?;
    }
    Ok(Some(had_row))
}

/// Has fetched and taken in again what others have written of the same thing, and what the row of a host had displaced: that is
/// not the host's to forget. The row would be recognised as forgotten here.
fn make_way(
    connection: &Connection,
    entity: EntityId,
    host: HostRow,
    gone: &Identity,
    call: Option<String>,
) -> rusqlite::Result<()> {
    let sql = "UPDATE sync_log SET state = ?3 WHERE state = ?4 OR (entity = ?1 AND host_id <> ?2 AND state = ?5
                   AND host_id NOT IN (SELECT id FROM sync_hosts WHERE is_own))";
    connection.run(sql, (entity.as_bytes(), host, DAMAGED, SHADOWED, DONE))?;
    if !connection.has("SELECT 1 FROM sync_log WHERE state = ?1 AND state > 0", [DAMAGED])? {
        return Ok(());
    }
    if gone.table == EntityTable::Prompts {
        connection.run("DELETE FROM turns WHERE id = ?1 AND forgotten = 1", [gone.row])?;
    }
    connection.run("DELETE FROM known_ids WHERE scope = 'a call' AND id = ?1 AND same_as IS NULL", [call])?;
    connection.run("UPDATE sync_hosts SET damaged_at = 0 WHERE circle IS NOT NULL", []).map(drop)
}

/// Marks the records of an entity as to be erased in the engine: all, or those that a host has written.
fn erase_in_engine(connection: &Connection, entity: EntityId, of: Option<HostRow>) -> rusqlite::Result<()> {
    let sql = "UPDATE sync_log SET state = ?3, content = NULL, project = NULL
               WHERE entity = ?1 AND (?2 IS NULL OR host_id = ?2) AND state IS NOT ?3";
    connection.run(sql, (entity.as_bytes(), of, ERASE)).map(drop)
}

/// Returns how the host that a record comes from is shown: `@laptop`.
pub fn from_host(name: &str) -> String {
    format!("@{name}")
}

/// The name of the other host that the row `t` of a statement comes from; NULL if it was made here.
pub(crate) const HOST_NAME: &str = "(SELECT iif(h.name = '', 'host', h.name) FROM sync_hosts h WHERE h.id = t.host_id)";

/// Returns the name of another host; `None` for this one.
pub(crate) fn name_of_host(connection: &Connection, host: Option<HostRow>) -> rusqlite::Result<Option<String>> {
    connection.first("SELECT iif(name = '', 'host', name) FROM sync_hosts WHERE id = ?1", [host])
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
