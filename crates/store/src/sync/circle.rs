//! The circle that the database belongs to, and its hosts.

use longhaul_core::Millis;
use longhaul_sync::{CircleId, HostId};
use rusqlite::{Connection, OptionalExtension};

use crate::row_ids::Time;
use crate::{Store, StoreError, cannot};

/// This host, as its circle knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncSelf {
    /// The circle.
    pub circle: CircleId,
    /// The id of this host.
    pub host: HostId,
    /// Its name.
    pub name: String,
    /// What identified the machine when the id was made.
    pub machine: String,
    /// When the circle was joined.
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

/// A host of the circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncHost {
    /// Its id.
    pub host: HostId,
    /// Its name; empty if it is not known.
    pub name: String,
    /// Whether it is this host, now or before it got a new id.
    pub is_own: bool,
    /// The highest idx that is here.
    pub head: u64,
    /// How far its clock is ahead, in milliseconds.
    pub clock_ahead: i64,
    /// When it last exchanged.
    pub seen_at: Option<Millis>,
}

/// The number of a host's row in `sync_hosts`.
pub(super) type HostRow = i64;

impl Store {
    /// Returns this host as its circle knows it; `None` without sync.
    pub fn sync_self(&self) -> Result<Option<SyncSelf>, StoreError> {
        read_self(&self.connection).map_err(cannot("read the state of sync"))
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
            let row = add_host(tx, host)?;
            tx.execute(
                "UPDATE sync_hosts SET is_own = 1, name = ?2, seen_at = ?3 WHERE id = ?1",
                (row, name, Time(at)),
            )?;
            tx.execute(
                "UPDATE sync_hosts SET circle = ?1, machine = ?3, joined_at = ?4, key_epoch = 0, damaged_at = 0 WHERE id = ?2",
                (circle.as_bytes(), row, machine, Time(at)),
            )
            .map(drop)
        })
    }

    /// Leaves the circle. What was fetched stays, with where it came from; nothing is shared any more.
    pub fn leave_circle(&self) -> Result<(), StoreError> {
        self.write("leave the circle", |tx| {
            tx.execute_batch(
                "DELETE FROM sync_log; DELETE FROM projects WHERE project_key IS NULL;
                 UPDATE projects SET sync_id = NULL, sync_name = NULL, is_shared = 0, since = 0, seen_prompts = 0,
                     seen_observations = 0, seen_summaries = 0, seen_bookmarks = 0;
                 -- In another circle, own records are new; in the same one, they must not be stored a second time. Tombstones
                 -- stay: what was forgotten must not come back.
                 UPDATE sync_entities SET version = 0, digest = NULL
                 WHERE forgotten = 0 AND host_id IN (SELECT id FROM sync_hosts WHERE is_own = 1);
                 UPDATE sync_entities SET forgotten = 2 WHERE forgotten = 1;
                 UPDATE sync_hosts SET head = 0, confirmed = 0, epoch = 0, circle = NULL, machine = NULL, key_epoch = NULL,
                     damaged_at = NULL, joined_at = NULL;",
            )
        })
    }

    /// Returns every host that is known, this one first.
    pub fn sync_hosts(&self) -> Result<Vec<SyncHost>, StoreError> {
        let failed = cannot("list the hosts");
        let sql = "SELECT host, name, is_own, head, clock_ahead, seen_at FROM sync_hosts
                   ORDER BY circle IS NOT NULL DESC, name, id";
        let mut statement = self.connection.prepare(sql).map_err(&failed)?;
        let rows = statement.query_map([], |row| {
            Ok(SyncHost {
                host: HostId::from_bytes(row.get(0)?),
                name: row.get(1)?,
                is_own: row.get(2)?,
                head: row.get::<_, i64>(3)?.unsigned_abs(),
                clock_ahead: row.get(4)?,
                seen_at: row.get::<_, Option<Time>>(5)?.map(Millis::from),
            })
        });
        rows.map_err(&failed)?.collect::<Result<_, _>>().map_err(failed)
    }

    /// Records that the engine has had this number of the circle's key.
    pub fn note_epoch(&self, epoch: u32) -> Result<(), StoreError> {
        let sql = "UPDATE sync_hosts SET key_epoch = ?1 WHERE circle IS NOT NULL AND key_epoch < ?1";
        self.connection.execute(sql, [epoch]).map(drop).map_err(cannot("record the key of the circle"))
    }

    /// Records how far the clock of a host is ahead; returns whether that is new.
    pub fn note_clock(&self, host: HostId, clock_ahead: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE sync_hosts SET clock_ahead = ?2 WHERE host = ?1 AND clock_ahead <> ?2";
        let changed = self.connection.execute(sql, (host.as_bytes(), clock_ahead));
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
            tx.execute(sql, (row, name, seen_at.map(Time), clock_ahead)).map(drop)
        })
    }
}

fn read_self(connection: &Connection) -> rusqlite::Result<Option<SyncSelf>> {
    let sql = "SELECT circle, host, name, machine, joined_at, head, confirmed, clock_ahead, key_epoch
               FROM sync_hosts WHERE circle IS NOT NULL";
    connection
        .query_row(sql, [], |row| {
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
        })
        .optional()
}

/// Returns the row of this host; `None` without sync.
pub(super) fn own_row(connection: &Connection) -> rusqlite::Result<Option<HostRow>> {
    connection
        .prepare_cached("SELECT id FROM sync_hosts WHERE circle IS NOT NULL")?
        .query_row([], |row| row.get(0))
        .optional()
}

/// Returns whether a host is this one, now or before it got a new id.
pub(super) fn is_own_host(connection: &Connection, host: HostRow) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT is_own FROM sync_hosts WHERE id = ?1")?.query_row([host], |row| row.get(0))
}

/// Returns the row of a host, adding it if there is none.
pub(super) fn add_host(connection: &Connection, host: HostId) -> rusqlite::Result<HostRow> {
    let known = connection
        .prepare_cached("SELECT id FROM sync_hosts WHERE host = ?1")?
        .query_row([host.as_bytes()], |row| row.get(0))
        .optional()?;
    match known {
        Some(row) => Ok(row),
        None => connection.prepare_cached("INSERT INTO sync_hosts (host) VALUES (?1)")?.insert([host.as_bytes()]),
    }
}
