//! Clients that run the bridge module, and the errands that are left for it.

use longhaul_core::Millis;
use rusqlite::{Connection, Row};

use crate::row_ids::{ChainId, Time};
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

/// A client that runs the bridge module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    pub client_pid: u32,
    /// The plugin that the module belongs to.
    pub plugin: String,
    /// The last error of the module, if its last action failed.
    pub trouble: Option<String>,
}

/// Who takes a step of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepTaker {
    /// The bridge module in the client.
    Bridge,
    /// A process that types into the terminal.
    Typist,
}

impl StepTaker {
    fn stored(self, step: &str) -> String {
        let name = match self {
            Self::Bridge => "bridge",
            Self::Typist => "typist",
        };
        format!("{step} {name}")
    }
}

/// How much a session was shown when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shown {
    /// Turns of the session before.
    pub turns: u64,
    pub records: u64,
}

impl Store {
    /// Records that the module of a client has called.
    pub fn hear_bridge(&self, client_pid: u32, plugin: &str, at: Millis) -> Result<(), StoreError> {
        let sql = "INSERT INTO bridges (client_pid, plugin, heard_ms) VALUES (?1, ?2, ?3)
                   ON CONFLICT DO UPDATE SET plugin = excluded.plugin, heard_ms = max(heard_ms, excluded.heard_ms)";
        self.connection.run(sql, (client_pid, plugin, Time(at))).map(drop).map_err(cannot("record the bridge"))
    }

    /// Records that the module of a client starts. What another client with the same process id has left is removed.
    pub fn begin_bridge(&self, client_pid: u32, plugin: &str, at: Millis) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO bridges (client_pid, plugin, heard_ms) VALUES (?1, ?2, ?3)";
        self.connection.run(sql, (client_pid, plugin, Time(at))).map(drop).map_err(cannot("record the bridge"))
    }

    pub fn drop_bridge(&self, client_pid: u32) -> Result<(), StoreError> {
        let sql = "DELETE FROM bridges WHERE client_pid = ?1";
        self.connection.run(sql, [client_pid]).map(drop).map_err(cannot("remove the bridge"))
    }

    pub fn bridge(&self, client_pid: u32) -> Result<Option<Bridge>, StoreError> {
        let sql = "SELECT client_pid, plugin, trouble FROM bridges WHERE client_pid = ?1";
        self.connection.first_with(sql, [client_pid], read).map_err(cannot("read the bridge"))
    }

    /// Returns every client that is recorded to run the module, whether its process is alive or not.
    pub fn bridges(&self) -> Result<Vec<Bridge>, StoreError> {
        all(&self.connection).map_err(cannot("list the bridges"))
    }

    pub fn note_bridge_trouble(&self, client_pid: u32, trouble: &str) -> Result<(), StoreError> {
        let sql = "UPDATE bridges SET trouble = ?2 WHERE client_pid = ?1";
        self.connection.run(sql, (client_pid, trouble)).map(drop).map_err(cannot("record the bridge's error"))
    }

    /// Leaves an errand for a client's module; returns whether the client runs one.
    pub fn leave_errand(&self, client_pid: u32, errand: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE bridges SET errand = ?2 WHERE client_pid = ?1";
        let left = self.connection.run(sql, (client_pid, errand));
        left.map(|rows| rows > 0).map_err(cannot("leave the errand"))
    }

    /// Takes the errand that was left for a client's module. An errand is returned once.
    pub fn take_errand(&self, client_pid: u32) -> Result<Option<String>, StoreError> {
        self.write("take the errand", |tx| {
            let sql = "SELECT errand FROM bridges WHERE client_pid = ?1";
            let errand: Option<Option<String>> = tx.first(sql, [client_pid])?;
            let clear = "UPDATE bridges SET errand = NULL WHERE client_pid = ?1 AND errand IS NOT NULL";
            tx.run(clear, [client_pid])?;
            Ok(errand.flatten())
        })
    }

    /// Takes a step of a chain, so that only one of module and typist does it; returns whether the other has not taken it.
    ///
    /// The module takes a step once. A typist may take it again: the process that took it before may have been killed.
    pub fn take_step(&self, chain: ChainId, step: &str, by: StepTaker) -> Result<bool, StoreError> {
        let (bridge, typist) = (StepTaker::Bridge.stored(step), StepTaker::Typist.stored(step));
        let other = if by == StepTaker::Bridge { &typist } else { &bridge };
        let sql = "UPDATE continuations SET taken = ?2 WHERE id = ?1 AND taken IS NOT ?3 AND taken IS NOT ?4";
        let taken = self.connection.run(sql, (chain, by.stored(step), other, &bridge));
        taken.map(|rows| rows > 0).map_err(cannot("take the continuation's step"))
    }

    /// Returns whether the client's module has taken a step of a chain.
    pub fn is_with_bridge(&self, chain: ChainId, step: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM continuations WHERE id = ?1 AND taken = ?2)";
        let taken = StepTaker::Bridge.stored(step);
        self.connection.one(sql, (chain, taken)).map_err(cannot("read the continuation's step"))
    }

    /// Returns whether an errand still waits for a client's module.
    pub fn has_errand(&self, client_pid: u32) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM bridges WHERE client_pid = ?1 AND errand IS NOT NULL)";
        self.connection.one(sql, [client_pid]).map_err(cannot("look for the errand"))
    }

    /// Records how many records of the memory a session was shown when it began.
    pub fn note_shown_records(&self, session: &str, records: usize) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET shown_records = ?2 WHERE session_id = ?1";
        self.connection.run(sql, (session, records as i64)).map(drop).map_err(cannot("record what was shown"))
    }

    /// Returns how much a session was shown when it began.
    pub fn shown_to(&self, session: &str) -> Result<Shown, StoreError> {
        let sql = "SELECT coalesce((SELECT turns_injected FROM handoff_log
                                    WHERE session_id = ?1 AND event = 'injected' ORDER BY id DESC LIMIT 1), 0),
                          coalesce((SELECT shown_records FROM sessions WHERE session_id = ?1), 0)";
        let unsigned = |row: &Row<'_>, column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
        self.connection
            .one_with(sql, [session], |row| Ok(Shown { turns: unsigned(row, 0)?, records: unsigned(row, 1)? }))
            .map_err(cannot("read what was shown"))
    }
}

pub(crate) fn all(connection: &Connection) -> rusqlite::Result<Vec<Bridge>> {
    connection.all_with("SELECT client_pid, plugin, trouble FROM bridges ORDER BY heard_ms DESC", [], read)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Bridge> {
    Ok(Bridge { client_pid: row.get(0)?, plugin: row.get(1)?, trouble: row.get(2)? })
}
