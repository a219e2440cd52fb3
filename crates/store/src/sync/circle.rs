//! The circle that the database belongs to: its hosts, the projects that are shared, and the new id of a host that is a
//! copy of another one, or was restored from a backup.

use longhaul_core::Millis;
use longhaul_sync::{CircleId, EntityId, HostId, ProjectId, Record, RecordId, SealedRecord};
use rusqlite::{Connection, Row};

use super::identity::{HostRow, bury_again, bury_nothing};
use super::log::{READY, WAITS};
use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

/// This host, as its circle knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncSelf {
    pub circle: CircleId,
    pub host: HostId,
    pub name: String,
    /// What identified the machine when the id was made.
    pub machine: String,
    pub joined_at: Millis,
    /// The highest idx of the own log.
    pub head: u64,
    /// The highest idx that the engine has confirmed.
    pub confirmed: u64,
    /// How far the clock of this host is ahead of the engine's, in milliseconds.
    pub clock_ahead: i64,
    /// The highest number of the circle's key that the engine had; 0 if it is not known yet.
    pub epoch: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncHost {
    pub host: HostId,
    /// Empty if it is not known.
    pub name: String,
    /// Whether it is this host, now or before it got a new id.
    pub is_own: bool,
    /// The highest idx that is here.
    pub head: u64,
    /// In milliseconds.
    pub clock_ahead: i64,
    /// When it last exchanged.
    pub seen_at: Option<Millis>,
}

impl Store {
    /// Returns this host as its circle knows it; `None` without sync.
    pub fn sync_self(&self) -> Result<Option<SyncSelf>, StoreError> {
        let sql = "SELECT circle, host, name, machine, joined_at, head, confirmed, clock_ahead, key_epoch
                   FROM sync_hosts WHERE circle IS NOT NULL";
        let found = self.connection.first_with(sql, [], |row| {
            Ok(SyncSelf {
                circle: CircleId::from_bytes(row.get(0)?),
                host: HostId::from_bytes(row.get(1)?),
                name: row.get(2)?,
                machine: row.get(3)?,
                joined_at: row.get::<_, Time>(4)?.into(),
                head: row.get::<_, i64>(5)?.unsigned_abs(),
                confirmed: row.get::<_, i64>(6)?.unsigned_abs(),
                clock_ahead: row.get(7)?,
                epoch: row.get(8)?,
            })
        });
        found.map_err(cannot("read the state of sync"))
    }

    /// Makes this database a member of a circle. One that is a member already keeps its host id: it must leave first.
    pub fn join_circle(
        &self,
        circle: CircleId,
        host: HostId,
        name: &str,
        machine: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.write("join the circle", |tx| {
            if own_row(tx)?.is_some() {
                return Ok(());
            }
            let sql =
                "UPDATE sync_hosts SET is_own = 1, circle = ?2, name = ?3, machine = ?4, seen_at = ?5, joined_at = ?5,
                           key_epoch = 0, damaged_at = 0 WHERE id = ?1";
            tx.run(sql, (add_host(tx, host)?, circle.as_bytes(), name, machine, Time(at))).map(drop)
        })
    }

    /// Leaves the circle. What was fetched stays, with where it came from; nothing is shared any more. What was forgotten must not
    /// come back, and in the same circle, nothing is stored a second time.
    pub fn leave_circle(&self) -> Result<(), StoreError> {
        self.write("leave the circle", |tx| {
            bury_nothing(tx)?;
            look_at_all(tx)?;
            tx.execute_batch(
                "DELETE FROM sync_log; DELETE FROM projects WHERE project_key IS NULL;
                 UPDATE projects SET sync_id = NULL, sync_name = NULL, is_shared = 0, since = 0;
                 UPDATE sync_hosts SET head = 0, confirmed = 0, epoch = 0, circle = NULL, machine = NULL, key_epoch = NULL,
                     damaged_at = NULL, joined_at = NULL;",
            )
        })
    }

    /// Returns every host that is known, this one first.
    pub fn sync_hosts(&self) -> Result<Vec<SyncHost>, StoreError> {
        let sql = "SELECT host, name, is_own, head, clock_ahead, seen_at FROM sync_hosts
                   ORDER BY circle IS NOT NULL DESC, name, id";
        let read = |row: &Row<'_>| {
            Ok(SyncHost {
                host: HostId::from_bytes(row.get(0)?),
                name: row.get(1)?,
                is_own: row.get(2)?,
                head: row.get::<_, i64>(3)?.unsigned_abs(),
                clock_ahead: row.get(4)?,
                seen_at: row.get::<_, Option<Time>>(5)?.map(Millis::from),
            })
        };
        self.connection.all_with(sql, [], read).map_err(cannot("list the hosts"))
    }

    /// Records that the engine has had this number of the circle's key.
    pub fn note_epoch(&self, epoch: u32) -> Result<(), StoreError> {
        let sql = "UPDATE sync_hosts SET key_epoch = ?1 WHERE circle IS NOT NULL AND key_epoch < ?1";
        self.connection.run(sql, [epoch]).map(drop).map_err(cannot("record the key of the circle"))
    }

    /// Records how far the clock of a host is ahead; returns whether that is new.
    pub fn note_clock(&self, host: HostId, clock_ahead: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE sync_hosts SET clock_ahead = ?2 WHERE host = ?1 AND clock_ahead <> ?2";
        let changed = self.connection.run(sql, (host.as_bytes(), clock_ahead));
        changed.map(|rows| rows > 0).map_err(cannot("record the clock of the host"))
    }

    /// Records the name of a host, when it was last seen, and how far its clock is ahead, as far as that is known.
    pub fn note_host(
        &self,
        host: HostId,
        name: &str,
        seen_at: Option<Millis>,
        clock_ahead: Option<i64>,
    ) -> Result<(), StoreError> {
        self.write("record the host", |tx| {
            let row = add_host(tx, host)?;
            let sql = "UPDATE sync_hosts SET name = ?2, seen_at = coalesce(?3, seen_at), clock_ahead = coalesce(?4, clock_ahead)
                       WHERE id = ?1 AND (name, clock_ahead, seen_at)
                             IS NOT (?2, coalesce(?4, clock_ahead), coalesce(?3, seen_at))";
            tx.run(sql, (row, name, seen_at.map(Time), clock_ahead)).map(drop)
        })
    }
}

/// Returns the row of this host; `None` without sync.
pub(super) fn own_row(connection: &Connection) -> rusqlite::Result<Option<HostRow>> {
    connection.first("SELECT id FROM sync_hosts WHERE circle IS NOT NULL", [])
}

/// Returns the row of a host, adding it if there is none.
pub(super) fn add_host(connection: &Connection, host: HostId) -> rusqlite::Result<HostRow> {
    match connection.first("SELECT id FROM sync_hosts WHERE host = ?1", [host.as_bytes()])? {
        Some(row) => Ok(row),
        None => connection.add("INSERT INTO sync_hosts (host) VALUES (?1)", [host.as_bytes()]),
    }
}

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
        let sql = "SELECT 1 FROM sync_log WHERE host_id = (SELECT id FROM sync_hosts WHERE circle IS NOT NULL)
                   AND idx = ?1 AND record_id = ?2";
        for (idx, id) in records {
            if !self.connection.has(sql, (*idx as i64, id.as_bytes())).map_err(&failed)? {
                return Ok(OwnCheck::Other);
            }
        }
        Ok(OwnCheck::Same)
    }

    /// Returns whether the record is in the log under this number of its host.
    pub fn has_record(&self, record: &SealedRecord) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM sync_log WHERE host_id = (SELECT id FROM sync_hosts WHERE host = ?1) AND idx = ?2
                   AND record_id = ?3";
        let key = (record.host.as_bytes(), record.idx as i64, record.id.as_bytes());
        self.connection.has(sql, key).map_err(cannot("compare the records of a host"))
    }

    /// Removes the records of another host behind `through` from the log, because the engine has others under their numbers.
    /// What they have brought stays.
    pub fn rewind_host(&self, host: HostId, through: u64) -> Result<(), StoreError> {
        self.write("fetch the records of a host again", |tx| {
            let row = add_host(tx, host)?;
            tx.run("DELETE FROM sync_log WHERE host_id = ?1 AND idx > ?2", (row, through as i64))?;
            tx.run("UPDATE sync_hosts SET head = min(head, ?2) WHERE id = ?1", (row, through as i64)).map(drop)
        })
    }

    /// Gives this host a new id. What the engine has of the old id is fetched like the records of another host; own records
    /// that the engine never confirmed are written again under the new id.
    pub fn renew_host(&self, host: HostId, machine: &str, at: Millis) -> Result<(), StoreError> {
        self.write("give this host a new id", |tx| {
            let Some(own) = own_row(tx)? else { return Ok(()) };
            take_back_unconfirmed(tx, own)?;
            let old: [u8; 16] = tx.one("SELECT host FROM sync_hosts WHERE id = ?1", [own])?;
            let sql = "UPDATE sync_hosts SET host = ?2, machine = ?3, seen_at = ?4 WHERE id = ?1";
            tx.run(sql, (own, host.as_bytes(), machine, Time(at)))?;
            // What was sent stays with the old id.
            let sql = "INSERT INTO sync_hosts (host, name, is_own, head, confirmed, epoch, clock_ahead, seen_at)
                       SELECT ?2, name, 1, confirmed, confirmed, epoch, clock_ahead, seen_at FROM sync_hosts WHERE id = ?1";
            let old = tx.add(sql, (own, old))?;
            tx.run("UPDATE sync_log SET host_id = ?2 WHERE host_id = ?1", (own, old))?;
            tx.run("UPDATE sync_hosts SET head = 0, confirmed = 0 WHERE id = ?1", [own])?;
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
                let sql = "SELECT content FROM sync_log WHERE host_id = ?1 AND idx = ?2 AND entity IS NULL";
                let tombstone: Option<Option<Vec<u8>>> = tx.first(sql, (own, *idx as i64))?;
                bury_again(tx, forgotten(tombstone.flatten()))?;
                // Without its digest, a version is written again.
                tx.run("UPDATE sync_log SET content = NULL WHERE host_id = ?1 AND idx = ?2", (own, *idx as i64))?;
            }
            look_at_all(tx)
        })
    }
}

/// Returns the entities that some own tombstones name.
fn forgotten(tombstones: impl IntoIterator<Item = Vec<u8>>) -> Vec<EntityId> {
    let entities = |content: Vec<u8>| match Record::decode(&content) {
        Ok(Record::Forgetting(entities)) => entities,
        _ => Vec::new(),
    };
    tombstones.into_iter().flat_map(entities).collect()
}

/// Makes the next exchange look at everything again; what is in the log does not change.
fn look_at_all(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "UPDATE projects SET seen_prompts = 0, seen_observations = 0, seen_summaries = 0, seen_bookmarks = 0";
    connection.run(sql, []).map(drop)
}

/// Removes the own records that the engine has not confirmed from the log, so that they are written again.
fn take_back_unconfirmed(connection: &Connection, own: HostRow) -> rusqlite::Result<()> {
    const UNCONFIRMED: &str = "host_id = ?1 AND idx > (SELECT confirmed FROM sync_hosts WHERE id = ?1)";
    let sql = format!("SELECT content FROM sync_log WHERE {UNCONFIRMED} AND entity IS NULL AND content IS NOT NULL");
    let tombstones: Vec<Vec<u8>> = connection.all(&sql, [own])?;
    bury_again(connection, forgotten(tombstones))?;
    connection.run(&format!("DELETE FROM sync_log WHERE {UNCONFIRMED}"), [own]).map(drop)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncProject {
    /// The project, as records refer to it.
    pub project: ProjectId,
    /// Its key here; `None` if only other hosts have shared it.
    pub project_key: Option<String>,
    pub name: String,
    pub is_shared: bool,
    /// What is older is not shared; 0 if everything is.
    pub since: Millis,
    /// How many records of other hosts wait until it is shared here.
    pub waiting: u64,
}

/// Lists the projects, and how many records wait for each. Without the first condition on the state, SQLite does not use the
/// index; the same holds for the next statement.
pub(crate) const LIST: &str =
    "SELECT p.sync_id, p.project_key, p.sync_name, p.is_shared, p.since, coalesce(w.records, 0)
    FROM projects p LEFT JOIN (SELECT project, count(*) AS records FROM sync_log
        WHERE state > 0 AND state IN (1, 5) AND project IS NOT NULL GROUP BY project) w ON w.project = p.sync_id
    WHERE p.sync_id IS NOT NULL ORDER BY p.is_shared DESC, p.sync_name, p.id";

/// How many projects are listed that only other hosts share. Any member of the circle can make up names.
const MOST_NAMED: i64 = 1000;

/// Marks the records that have waited for a project.
pub(crate) const MAKE_READY: &str = "UPDATE sync_log SET state = ?1 WHERE state > 0 AND state = ?2 AND project = ?3";

impl Store {
    /// Shares a project: what is made from `since` on becomes records, and what other hosts have shared is taken in.
    ///
    /// `shared_as` is the name that the other hosts are told, `name` its own, in case that nothing is recorded of it yet.
    pub fn share_project(
        &self,
        project: ProjectId,
        shared_as: &str,
        project_key: &str,
        name: &str,
        since: Millis,
    ) -> Result<(), StoreError> {
        self.write("share the project", |tx| {
            tx.run("DELETE FROM projects WHERE sync_id = ?1 AND project_key IS NULL", [project.as_bytes()])?;
            // Sharing it again, with more of the past: everything is looked at again. What is in the log already stays.
            tx.run(
                "INSERT INTO projects (sync_id, project_key, name, sync_name, is_shared, since) VALUES (?1, ?2, ?3, ?4, 1, ?5)
                 ON CONFLICT (project_key) DO UPDATE SET
                     sync_id = ?1, sync_name = ?4, since = iif(is_shared, min(since, ?5), ?5), is_shared = 1,
                     seen_prompts = 0, seen_observations = 0, seen_summaries = 0, seen_bookmarks = 0",
                (project.as_bytes(), project_key, name, shared_as, Time(since)),
            )?;
            tx.run(MAKE_READY, (READY, WAITS, project.as_bytes())).map(drop)
        })
    }

    /// Ends the sharing of a project; returns whether it was shared. What was sent stays with the others.
    pub fn unshare_project(&self, project_key: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE projects SET is_shared = 0 WHERE project_key = ?1 AND is_shared = 1";
        self.connection.run(sql, [project_key]).map(|rows| rows > 0).map_err(cannot("end the sharing"))
    }

    /// Returns the projects that are or were shared here, and those that other hosts share, by name.
    pub fn sync_projects(&self) -> Result<Vec<SyncProject>, StoreError> {
        let read = |row: &Row<'_>| {
            Ok(SyncProject {
                project: ProjectId::from_bytes(row.get(0)?),
                project_key: row.get(1)?,
                name: row.get(2)?,
                is_shared: row.get(3)?,
                since: row.get::<_, Time>(4)?.into(),
                waiting: row.get::<_, i64>(5)?.unsigned_abs(),
            })
        };
        self.connection.all_with(LIST, [], read).map_err(cannot("list the shared projects"))
    }
}

/// Returns the key and the name that a shared project has here; `None` if it is not shared here.
pub(super) fn shared_as(connection: &Connection, project: ProjectId) -> rusqlite::Result<Option<(String, String)>> {
    let sql = "SELECT project_key, name FROM projects
               WHERE sync_id = ?1 AND is_shared = 1 AND project_key IS NOT NULL ORDER BY id LIMIT 1";
    connection.first(sql, [project.as_bytes()])
}

/// Records the name of a project that another host shares, for the list.
pub(super) fn note_project(connection: &Connection, project: ProjectId, name: &str) -> rusqlite::Result<()> {
    let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
    let sql = "INSERT INTO projects (sync_id, name, sync_name) SELECT ?1, ?2, ?2
               WHERE NOT EXISTS (SELECT 1 FROM projects WHERE sync_id = ?1)
                 AND (SELECT count(*) FROM projects WHERE project_key IS NULL) < ?3";
    connection.run(sql, (project.as_bytes(), name, MOST_NAMED)).map(drop)
}
