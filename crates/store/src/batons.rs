//! Batons, merges, and the log of handoffs.

use longhaul_core::Millis;

use rusqlite::{Connection, Row};

use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot, limit, newest_last};

/// In the handoff log: a baton was written. The session that inherits is not known yet.
pub const WRITTEN: &str = "written";

/// The heir of a baton that any session may take.
const NEXT_IN_PROJECT: &str = "next in the project";

/// The heir of a baton that is for the same client; the process id follows.
const NEXT_OF_PROCESS: &str = "next of process ";

#[derive(Debug, Clone, Default)]
pub struct NewInjection<'a> {
    /// The session that was to inherit; for [`WRITTEN`], which one the baton is for.
    pub session: &'a str,
    /// What happened: [`WRITTEN`], `injected`, `merged`, `refused` or `discarded`.
    pub event: &'a str,
    /// The session that was, or was not, inherited.
    pub predecessor: Option<&'a str>,
    /// Why it was refused, or by what the handoff came.
    pub reason: Option<&'a str>,
    pub turns: usize,
    pub chars: usize,
    /// Tokens that the whole transcript would have taken beyond that.
    pub tokens_saved: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// The session that was to inherit.
    pub session: String,
    pub event: String,
    pub predecessor: Option<String>,
    pub reason: Option<String>,
    pub turns: u64,
    pub chars: u64,
    pub tokens_saved: u64,
    pub at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBaton {
    /// The session that it offers for a handoff.
    pub session: String,
    /// The client's process, 0 if unknown.
    pub client_pid: u32,
    /// What wrote it, by its stored name.
    pub trigger: String,
    pub at: Millis,
}

impl Store {
    /// Writes a baton; the last one of a project and client wins.
    ///
    /// `session_end` does not replace the trigger of a baton that names the same session: the earlier trigger says why the
    /// session ended. The baton is as new as the last of them, and its line in the log stays as it was.
    pub fn write_baton(
        &self,
        project_path: &str,
        client_pid: u32,
        session: &str,
        trigger: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        let write = |tx: &Connection| {
            let sql = "UPDATE handoff_log SET laid_at = ?5
                       WHERE project_path = ?1 AND client_pid = ?2 AND predecessor = ?3 AND ?4 = 'session_end'";
            if tx.run(sql, (project_path, client_pid, session, trigger, Time(at)))? > 0 {
                return Ok(());
            }
            drop_baton(tx, project_path, client_pid)?;
            let heir = match (trigger, client_pid) {
                ("tl", _) | (_, 0) => NEXT_IN_PROJECT.to_owned(),
                (_, pid) => format!("{NEXT_OF_PROCESS}{pid}"),
            };
            let (session, predecessor) = (heir.as_str(), Some(session));
            let new =
                NewInjection { session, event: WRITTEN, predecessor, reason: Some(trigger), ..NewInjection::default() };
            log_injection(tx, &new, at)?;
            let sql = "UPDATE handoff_log SET project_path = ?1, client_pid = ?2 WHERE id = last_insert_rowid()";
            tx.run(sql, (project_path, client_pid)).map(drop)
        };
        // A caller may have begun a transaction already.
        if self.connection.is_autocommit() {
            self.write("write the baton", |tx| write(tx))
        } else {
            write(&self.connection).map_err(cannot("write the baton"))
        }
    }

    pub fn batons(&self, project_path: &str) -> Result<Vec<StoredBaton>, StoreError> {
        self.connection
            .all_with(
                "SELECT predecessor, client_pid, reason, coalesce(laid_at, created_at) AS laid_at
                 FROM handoff_log WHERE project_path = ?1",
                [project_path],
                |row| {
                    Ok(StoredBaton {
                        session: row.get("predecessor")?,
                        client_pid: row.get("client_pid")?,
                        trigger: row.get("reason")?,
                        at: row.get::<_, Time>("laid_at")?.into(),
                    })
                },
            )
            .map_err(cannot("read the batons"))
    }

    /// Removes a project's batons; returns how many.
    pub fn drop_batons(&self, project_path: &str) -> Result<usize, StoreError> {
        let sql = "UPDATE handoff_log SET project_path = NULL WHERE project_path = ?1";
        self.connection.run(sql, [project_path]).map_err(cannot("drop the batons"))
    }

    pub fn drop_baton(&self, project_path: &str, client_pid: u32) -> Result<(), StoreError> {
        drop_baton(&self.connection, project_path, client_pid).map_err(cannot("drop the baton"))
    }

    /// Records which session another one would inherit, until its first prompt.
    pub fn set_heir(&self, heir: &str, predecessor: Option<&str>) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET inherits = ?2 WHERE session_id = ?1";
        self.connection.run(sql, (heir, predecessor)).map(drop).map_err(cannot("record the predecessor"))
    }

    /// Gives all turns of `predecessor` to `heir` and removes the batons that name the predecessor, in one transaction.
    ///
    /// Returns whether the predecessor was still free: if two sessions ask at the same moment, one of them gets it.
    pub fn merge(&self, predecessor: &str, heir: &str) -> Result<bool, StoreError> {
        self.write("merge the sessions", |tx| {
            let sql = "UPDATE sessions SET merged_into = ?2 WHERE session_id = ?1 AND merged_into IS NULL";
            let is_merged = tx.run(sql, (predecessor, heir))? > 0;
            if is_merged {
                let sql = "UPDATE turns SET owner_id = h.id FROM sessions p, sessions h
                           WHERE turns.owner_id = p.id AND p.session_id = ?1 AND h.session_id = ?2";
                tx.run(sql, (predecessor, heir))?;
            }
            // The baton that was left to this client goes too, whichever session of the chain it names.
            tx.run(
                "UPDATE handoff_log SET project_path = NULL
                 WHERE project_path IS NOT NULL AND (predecessor = ?1
                    OR (predecessor <> ?2 AND (project_path, client_pid) IN
                        (SELECT project_path, client_pid FROM sessions WHERE session_id = ?2 AND client_pid <> 0)))",
                (predecessor, heir),
            )?;
            tx.run("UPDATE sessions SET inherits = NULL WHERE session_id = ?1", [heir])?;
            Ok(is_merged)
        })
    }

    pub fn log_injection(&self, new: &NewInjection<'_>, at: Millis) -> Result<(), StoreError> {
        log_injection(&self.connection, new, at).map_err(cannot("write the handoff log"))
    }

    /// Returns the newest lines of the handoff log, at most `most`, the oldest of them first.
    pub fn injections(&self, most: usize) -> Result<Vec<Injection>, StoreError> {
        let sql = format!("SELECT * FROM handoff_log WHERE continuation_id IS NULL ORDER BY id DESC {}", limit(most));
        newest_last(&self.connection, &sql, [], read_injection).map_err(cannot("read the handoff log"))
    }
}

fn drop_baton(connection: &Connection, project_path: &str, client_pid: u32) -> rusqlite::Result<()> {
    let sql = "UPDATE handoff_log SET project_path = NULL WHERE project_path = ?1 AND client_pid = ?2";
    connection.run(sql, (project_path, client_pid)).map(drop)
}

fn log_injection(connection: &Connection, new: &NewInjection<'_>, at: Millis) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO handoff_log (session_id, event, predecessor, reason, turns_injected, chars, tokens_saved, created_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let [turns, chars, saved] = [new.turns as i64, new.chars as i64, new.tokens_saved as i64];
    connection.run(sql, (new.session, new.event, new.predecessor, new.reason, turns, chars, saved, Time(at))).map(drop)
}

fn read_injection(row: &Row<'_>) -> rusqlite::Result<Injection> {
    let unsigned = |column: &str| row.get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(Injection {
        session: row.get("session_id")?,
        event: row.get("event")?,
        predecessor: row.get("predecessor")?,
        reason: row.get("reason")?,
        turns: unsigned("turns_injected")?,
        chars: unsigned("chars")?,
        tokens_saved: unsigned("tokens_saved")?,
        at: row.get::<_, Time>("created_at")?.into(),
    })
}
