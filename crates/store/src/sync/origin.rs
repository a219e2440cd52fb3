//! Which host a record comes from, and how that is shown beside it: `@laptop`.

use longhaul_sync::host_name;
use rusqlite::{Connection, OptionalExtension};

use super::entities::EntityTable;
use crate::What;

/// Returns how the host that a record comes from is shown: `@laptop`.
pub fn from_host(name: &str) -> String {
    format!("@{name}")
}

/// Returns the name of the other host that a record comes from; `None` if it was made here.
pub(crate) fn host_of(connection: &Connection, what: What, id: i64) -> rusqlite::Result<Option<String>> {
    name_of(connection, number(what), id)
}

/// Returns the name of the other host that a bookmark comes from; `None` if it was made here.
pub(crate) fn host_of_bookmark(connection: &Connection, id: i64) -> rusqlite::Result<Option<String>> {
    name_of(connection, EntityTable::Bookmarks as i64, id)
}

fn name_of(connection: &Connection, table: i64, id: i64) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT iif(h.name = '', 'host', h.name) FROM sync_entities e JOIN sync_hosts h ON h.id = e.host_id
               WHERE e.what = ?1 AND e.row_id = ?2 AND h.is_own = 0 LIMIT 1";
    connection.prepare_cached(sql)?.query_row((table, id), |row| row.get(0)).optional()
}

/// Returns the row of the other host that a record comes from; `None` if it was made here.
pub(crate) fn host_row_of(connection: &Connection, what: What, id: i64) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT e.host_id FROM sync_entities e JOIN sync_hosts h ON h.id = e.host_id
               WHERE e.what = ?1 AND e.row_id = ?2 AND h.is_own = 0 LIMIT 1";
    connection.prepare_cached(sql)?.query_row((number(what), id), |row| row.get(0)).optional()
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
        let mut statement = connection.prepare_cached("SELECT id, is_own FROM sync_hosts WHERE name = ?1")?;
        let hosts: Vec<(i64, bool)> =
            statement.query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
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
fn number(what: What) -> i64 {
    match what {
        What::Prompt => 0,
        What::Observation => 1,
        What::Summary => 2,
    }
}
