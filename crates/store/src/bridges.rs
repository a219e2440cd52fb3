//! Clients that run our module, and what they are to do.

use longhaul_core::Millis;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::{Store, StoreError, cannot};

/// A client that runs our module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    /// The client's process.
    pub client_pid: u32,
    /// The plugin that brought the module.
    pub plugin: String,
    /// What it could not do last.
    pub trouble: Option<String>,
}

/// Who is at a step of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepTaker {
    /// The client's module.
    Bridge,
    /// Whoever types.
    Typist,
}

impl StepTaker {
    fn of(self, step: &str) -> String {
        let name = match self {
            Self::Bridge => "bridge",
            Self::Typist => "typist",
        };
        format!("{step} {name}")
    }
}

/// What a session was shown when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shown {
    /// Turns of the session before.
    pub turns: u64,
    /// Records of memory.
    pub records: u64,
}

impl Store {
    /// Notes that a client's module was heard of.
    pub fn hear_bridge(&self, client_pid: u32, plugin: &str, at: Millis) -> Result<(), StoreError> {
        let sql = "INSERT INTO bridges (client_pid, plugin, heard_ms) VALUES (?1, ?2, ?3)
                   ON CONFLICT DO UPDATE SET plugin = excluded.plugin, heard_ms = max(heard_ms, excluded.heard_ms)";
        self.connection.execute(sql, (client_pid, plugin, at.0 as i64)).map(drop).map_err(cannot("note the bridge"))
    }

    /// Notes that a client's module begins: whatever was left of another client with that number is gone.
    pub fn begin_bridge(&self, client_pid: u32, plugin: &str, at: Millis) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO bridges (client_pid, plugin, heard_ms) VALUES (?1, ?2, ?3)";
        self.connection.execute(sql, (client_pid, plugin, at.0 as i64)).map(drop).map_err(cannot("note the bridge"))
    }

    /// Notes that a client's module is gone.
    pub fn drop_bridge(&self, client_pid: u32) -> Result<(), StoreError> {
        let sql = "DELETE FROM bridges WHERE client_pid = ?1";
        self.connection.execute(sql, [client_pid]).map(drop).map_err(cannot("drop the bridge"))
    }

    /// Returns the module of a client.
    pub fn bridge(&self, client_pid: u32) -> Result<Option<Bridge>, StoreError> {
        let sql = "SELECT client_pid, plugin, trouble FROM bridges WHERE client_pid = ?1";
        self.connection.query_row(sql, [client_pid], read).optional().map_err(cannot("read the bridge"))
    }

    /// Returns every client that runs the module, whether it still lives or not.
    pub fn bridges(&self) -> Result<Vec<Bridge>, StoreError> {
        all(&self.connection).map_err(cannot("list the bridges"))
    }

    /// Notes what a client's module could not do.
    pub fn note_bridge_trouble(&self, client_pid: u32, trouble: &str) -> Result<(), StoreError> {
        let sql = "UPDATE bridges SET trouble = ?2 WHERE client_pid = ?1";
        self.connection.execute(sql, (client_pid, trouble)).map(drop).map_err(cannot("note the bridge's trouble"))
    }

    /// Leaves an errand for a client's module; returns whether there is one to leave it for.
    pub fn leave_errand(&self, client_pid: u32, errand: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE bridges SET errand = ?2 WHERE client_pid = ?1";
        let left = self.connection.execute(sql, (client_pid, errand));
        left.map(|rows| rows > 0).map_err(cannot("leave the errand"))
    }

    /// Takes the errand that was left for a client's module: whoever takes it does it, and nobody else.
    pub fn take_errand(&self, client_pid: u32) -> Result<Option<String>, StoreError> {
        let failed = cannot("take the errand");
        self.immediately(|store| {
            let sql = "SELECT errand FROM bridges WHERE client_pid = ?1";
            let errand: Option<Option<String>> =
                store.connection.query_row(sql, [client_pid], |row| row.get(0)).optional().map_err(&failed)?;
            let clear = "UPDATE bridges SET errand = NULL WHERE client_pid = ?1 AND errand IS NOT NULL";
            store.connection.execute(clear, [client_pid]).map_err(&failed)?;
            Ok(errand.flatten())
        })
    }

    /// Takes a step of a chain upon oneself; returns whether the other has not.
    ///
    /// The module takes a step once: what it was told it does. Whoever types may be killed, and another goes on for it.
    pub fn take_step(&self, chain: i64, step: &str, by: StepTaker) -> Result<bool, StoreError> {
        let (bridge, typist) = (StepTaker::Bridge.of(step), StepTaker::Typist.of(step));
        let other = if by == StepTaker::Bridge { &typist } else { &bridge };
        let sql = "UPDATE continuations SET taken = ?2 WHERE id = ?1 AND taken IS NOT ?3 AND taken IS NOT ?4";
        let taken = self.connection.execute(sql, (chain, by.of(step), other, &bridge));
        taken.map(|rows| rows > 0).map_err(cannot("take the continuation's step"))
    }

    /// Returns whether the client's module has taken a step of a chain.
    pub fn is_with_bridge(&self, chain: i64, step: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM continuations WHERE id = ?1 AND taken = ?2)";
        let taken = StepTaker::Bridge.of(step);
        self.connection.query_row(sql, (chain, taken), |row| row.get(0)).map_err(cannot("read the continuation's step"))
    }

    /// Returns whether an errand still waits for a client's module.
    pub fn has_errand(&self, client_pid: u32) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM bridges WHERE client_pid = ?1 AND errand IS NOT NULL)";
        self.connection.query_row(sql, [client_pid], |row| row.get(0)).map_err(cannot("look for the errand"))
    }

    /// Notes how many records of memory a session began with.
    pub fn note_shown_records(&self, session: &str, records: usize) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET shown_records = ?2 WHERE session_id = ?1";
        self.connection.execute(sql, (session, records as i64)).map(drop).map_err(cannot("note what was shown"))
    }

    /// Returns what a session was shown when it began.
    pub fn shown_to(&self, session: &str) -> Result<Shown, StoreError> {
        let sql = "SELECT coalesce((SELECT turns_injected FROM injection_log
                                    WHERE session_id = ?1 AND event_type = 'injected' ORDER BY id DESC LIMIT 1), 0),
                          coalesce((SELECT shown_records FROM sessions WHERE session_id = ?1), 0)";
        let unsigned = |row: &Row<'_>, column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
        self.connection
            .query_row(sql, [session], |row| Ok(Shown { turns: unsigned(row, 0)?, records: unsigned(row, 1)? }))
            .map_err(cannot("read what was shown"))
    }
}

/// Returns every client that is noted.
pub(crate) fn all(connection: &Connection) -> rusqlite::Result<Vec<Bridge>> {
    let mut statement = connection.prepare("SELECT client_pid, plugin, trouble FROM bridges ORDER BY heard_ms DESC")?;
    let rows = statement.query_map((), read)?;
    rows.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Bridge> {
    Ok(Bridge { client_pid: row.get(0)?, plugin: row.get(1)?, trouble: row.get(2)? })
}
