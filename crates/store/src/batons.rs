//! Batons, merges, and the log of what was handed over.

use longhaul_core::Millis;
use rusqlite::TransactionBehavior;

use crate::{Store, StoreError, cannot};

/// A line of the handoff log, to be written.
#[derive(Debug, Clone, Default)]
pub struct NewInjection<'a> {
    /// The session that was to inherit.
    pub session: &'a str,
    /// What happened: `injected`, `merged`, `refused`, `discarded`.
    pub event: &'a str,
    /// The session that was, or was not, inherited.
    pub predecessor: Option<&'a str>,
    /// Why not, or by what.
    pub reason: Option<&'a str>,
    /// How many turns were shown.
    pub turns: usize,
    /// How many characters that took.
    pub chars: usize,
    /// Tokens that the whole transcript would have cost beyond that.
    pub tokens_saved: u64,
}

/// A line of the handoff log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// The session that was to inherit.
    pub session: String,
    /// What happened.
    pub event: String,
    /// The session that was, or was not, inherited.
    pub predecessor: Option<String>,
    /// Why not, or by what.
    pub reason: Option<String>,
    /// How many turns were shown.
    pub turns: u64,
    /// How many characters that took.
    pub chars: u64,
    /// Tokens that the whole transcript would have cost beyond that.
    pub tokens_saved: u64,
    /// When.
    pub at: Millis,
}

/// A stored baton: session, client, trigger, time.
pub type StoredBaton = (String, u32, String, Millis);

impl Store {
    /// Writes a baton; the last one of a project and client wins. That a session ended says less than why it did.
    pub fn write_baton(
        &self,
        project_path: &str,
        client_pid: u32,
        session: &str,
        trigger: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.connection
            .execute(
                "INSERT INTO handoff_batons (project_path, client_pid, session_id, trigger, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE SET
                     trigger = iif(session_id = excluded.session_id AND excluded.trigger = 'session_end',
                                   trigger, excluded.trigger),
                     session_id = excluded.session_id, created_at = excluded.created_at",
                (project_path, client_pid, session, trigger, at.0 as i64),
            )
            .map(drop)
            .map_err(cannot("write the baton"))
    }

    /// Returns a project's batons.
    pub fn batons(&self, project_path: &str) -> Result<Vec<StoredBaton>, StoreError> {
        let failed = cannot("read the batons");
        let mut statement = self
            .connection
            .prepare("SELECT session_id, client_pid, trigger, created_at FROM handoff_batons WHERE project_path = ?1")
            .map_err(&failed)?;
        let rows = statement
            .query_map([project_path], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, Millis(row.get::<_, i64>(3)?.unsigned_abs())))
            })
            .map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// Removes a project's batons; returns how many.
    pub fn drop_batons(&self, project_path: &str) -> Result<usize, StoreError> {
        let sql = "DELETE FROM handoff_batons WHERE project_path = ?1";
        self.connection.execute(sql, [project_path]).map_err(cannot("drop the batons"))
    }

    /// Removes the baton of a project and client.
    pub fn drop_baton(&self, project_path: &str, client_pid: u32) -> Result<(), StoreError> {
        let sql = "DELETE FROM handoff_batons WHERE project_path = ?1 AND client_pid = ?2";
        self.connection.execute(sql, (project_path, client_pid)).map(drop).map_err(cannot("drop the baton"))
    }

    /// Notes whom a session would inherit, until its first prompt.
    pub fn set_heir(&self, heir: &str, predecessor: Option<&str>) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET inherits = ?2 WHERE session_id = ?1";
        self.connection.execute(sql, (heir, predecessor)).map(drop).map_err(cannot("note the predecessor"))
    }

    /// Gives all turns of `predecessor` to `heir`, and drops the batons that name it; in one transaction.
    ///
    /// Returns whether it was still to be had: of two that ask at the same moment, one gets it.
    pub fn merge(&mut self, predecessor: &str, heir: &str) -> Result<bool, StoreError> {
        let failed = cannot("merge the sessions");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let merged = transaction
            .execute(
                "UPDATE sessions SET merged_into = ?2 WHERE session_id = ?1 AND merged_into IS NULL",
                (predecessor, heir),
            )
            .map_err(&failed)?;
        if merged > 0 {
            for table in ["turns", "bodies", "skeletons", "details"] {
                let sql = format!("UPDATE OR IGNORE {table} SET session_id = ?2 WHERE session_id = ?1");
                transaction.execute(&sql, (predecessor, heir)).map_err(&failed)?;
            }
        }
        // Also the one that was left to this client, whomever on the way here it names.
        transaction
            .execute(
                "DELETE FROM handoff_batons
                 WHERE session_id = ?1
                    OR (session_id <> ?2 AND (project_path, client_pid) IN
                        (SELECT project_path, client_pid FROM sessions WHERE session_id = ?2 AND client_pid <> 0))",
                (predecessor, heir),
            )
            .map_err(&failed)?;
        transaction.execute("UPDATE sessions SET inherits = NULL WHERE session_id = ?1", [heir]).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(merged > 0)
    }

    /// Writes a line of the handoff log.
    pub fn log_injection(&self, new: &NewInjection<'_>, at: Millis) -> Result<(), StoreError> {
        self.connection
            .execute(
                "INSERT INTO injection_log (session_id, event_type, predecessor, reason, turns_injected, chars, tokens_saved,
                                            created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                (
                    new.session,
                    new.event,
                    new.predecessor,
                    new.reason,
                    new.turns as i64,
                    new.chars as i64,
                    new.tokens_saved as i64,
                    at.0 as i64,
                ),
            )
            .map(drop)
            .map_err(cannot("write the handoff log"))
    }

    /// Returns the newest lines of the handoff log, the oldest of them first.
    pub fn injections(&self, most: usize) -> Result<Vec<Injection>, StoreError> {
        let failed = cannot("read the handoff log");
        let mut statement = self
            .connection
            .prepare(
                "SELECT session_id, event_type, predecessor, reason, turns_injected, chars, tokens_saved, created_at
                 FROM injection_log ORDER BY id DESC LIMIT ?1",
            )
            .map_err(&failed)?;
        let rows = statement
            .query_map([most as i64], |row| {
                let unsigned = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
                Ok(Injection {
                    session: row.get(0)?,
                    event: row.get(1)?,
                    predecessor: row.get(2)?,
                    reason: row.get(3)?,
                    turns: unsigned(4)?,
                    chars: unsigned(5)?,
                    tokens_saved: unsigned(6)?,
                    at: Millis(unsigned(7)?),
                })
            })
            .map_err(&failed)?;
        let mut lines: Vec<Injection> = rows.collect::<Result<_, _>>().map_err(failed)?;
        lines.reverse();
        Ok(lines)
    }
}
