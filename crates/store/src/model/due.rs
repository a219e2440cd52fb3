//! When a model is to be asked next, if there is nothing to ask now.

use longhaul_core::Millis;
use rusqlite::Connection;

use crate::row_ids::Time;
use crate::{Store, StoreError, cannot};

/// Prompts whose turn has ended: the project's folder, when something last happened in the session, and when a failed request
/// is tried again.
const WAITING: &str = "SELECT s.project_path,
            max(p.created_at,
                coalesce((SELECT max(o.created_at) FROM prompts o WHERE o.session_id = p.session_id), 0),
                coalesce((SELECT max(o.created_at) FROM observations o WHERE o.session_id = p.session_id), 0),
                coalesce((SELECT max(o.created_at) FROM session_summaries o WHERE o.session_id = p.session_id), 0)),
            p.next_at
     FROM prompts p JOIN sessions s ON s.id = p.session_id
     WHERE p.model_at IS NULL
     AND (EXISTS (SELECT 1 FROM session_summaries o
                  WHERE o.session_id = p.session_id AND o.prompt_number >= p.prompt_number)
          OR EXISTS (SELECT 1 FROM prompts o
                     WHERE o.session_id = p.session_id AND o.prompt_number > p.prompt_number))";

/// Prompts that need a further request: those do not wait for the session to rest.
const FURTHER: &str = "SELECT s.project_path, 0, p.next_at FROM prompts p JOIN sessions s ON s.id = p.session_id
     WHERE p.asked_to IS NOT NULL AND p.model_at IS NOT NULL";

impl Store {
    /// Returns when the next prompt is to be asked about, as far as is known. That time may have passed.
    ///
    /// A turn that is still running does not count: its end is an event. `quiet_ms` is how long a session must have rested;
    /// `may_ask` returns whether the prompts of a project's folder are asked about at all.
    pub fn next_model_time(&self, quiet_ms: u64, may_ask: impl Fn(&str) -> bool) -> Result<Option<Millis>, StoreError> {
        earliest(&self.connection, quiet_ms, may_ask).map_err(cannot("look for the next prompt to ask a model about"))
    }
}

fn earliest(
    connection: &Connection,
    quiet_ms: u64,
    may_ask: impl Fn(&str) -> bool,
) -> rusqlite::Result<Option<Millis>> {
    let mut earliest: Option<Millis> = None;
    for sql in [WAITING, FURTHER] {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if may_ask(&row.get::<_, String>(0)?) {
                let last = Millis::from(row.get::<_, Time>(1)?);
                let due = Millis(last.0.saturating_add(quiet_ms)).max(row.get::<_, Time>(2)?.into());
                earliest = Some(earliest.map_or(due, |earliest| earliest.min(due)));
            }
        }
    }
    Ok(earliest)
}
