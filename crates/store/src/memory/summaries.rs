//! What a session came to.

use longhaul_core::Millis;
use longhaul_memory::{MadeBy, Summary};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, named_params};

use super::What;
use super::session_row::Place;
use crate::recall::index;
use crate::{Store, StoreError, cannot};

/// Who may overwrite whom: everybody a rule and their own, a person everybody.
const MAY_OVERWRITE: &str = "(old.made_by = 'rule' OR old.made_by = :maker OR :maker = 'person')";

impl Store {
    /// Stores what a session came to, up to one of its prompts; returns whether that changed anything.
    ///
    /// A rule never overwrites what a model or a person has written, nor a model what a person has.
    pub fn write_summary(
        &mut self,
        session: &str,
        prompt_number: i64,
        summary: &Summary,
        made_by: MadeBy,
        at: Millis,
    ) -> Result<bool, StoreError> {
        let failed = cannot("write the summary");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let changed = write(&transaction, session, prompt_number, summary, made_by, at.0 as i64).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(changed)
    }

    /// Returns whether it is stored what a session came to up to that prompt.
    pub fn has_summary(&self, session: &str, prompt_number: i64) -> Result<bool, StoreError> {
        self.connection
            .query_row(
                "SELECT EXISTS (SELECT 1 FROM session_summaries
                                WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND prompt_number = ?2)",
                (session, prompt_number),
                |row| row.get(0),
            )
            .map_err(cannot("look for the summary"))
    }
}

pub(super) fn write(
    connection: &Connection,
    session: &str,
    prompt_number: i64,
    summary: &Summary,
    made_by: MadeBy,
    at: i64,
) -> rusqlite::Result<bool> {
    let Some(place) = Place::find(connection, session)? else { return Ok(false) };
    if at <= place.forgotten {
        return Ok(false);
    }
    let Summary { request, investigated, learned, completed, next_steps } = summary;
    let known: Option<i64> = connection
        .prepare_cached("SELECT id FROM session_summaries WHERE session_id = ?1 AND prompt_number = ?2")?
        .query_row((place.session, prompt_number), |row| row.get(0))
        .optional()?;
    let before = match known {
        Some(id) => index::before_change(connection, What::Summary, id)?,
        None => None,
    };
    // The same words again are no news, and the index need not be told.
    let sql = format!(
        "INSERT INTO session_summaries AS old (session_id, project_id, prompt_number, request, investigated, learned,
                                               completed, next_steps, made_by, created_at)
         VALUES (:session, :project, :prompt, :request, :investigated, :learned, :completed, :next, :maker, :at)
         ON CONFLICT (session_id, prompt_number) DO UPDATE SET
             request = excluded.request, investigated = excluded.investigated, learned = excluded.learned,
             completed = excluded.completed, next_steps = excluded.next_steps, made_by = excluded.made_by,
             created_at = excluded.created_at
         WHERE {MAY_OVERWRITE} AND (old.request, old.investigated, old.learned, old.completed, old.next_steps, old.made_by)
               IS NOT (:request, :investigated, :learned, :completed, :next, :maker)
         RETURNING id"
    );
    let changed: Option<i64> = connection
        .prepare_cached(&sql)?
        .query_row(
            named_params! {
                ":session": place.session,
                ":project": place.project,
                ":prompt": prompt_number,
                ":request": request,
                ":investigated": investigated,
                ":learned": learned,
                ":completed": completed,
                ":next": next_steps,
                ":maker": made_by.as_str(),
                ":at": at,
            },
            |row| row.get(0),
        )
        .optional()?;
    match (changed, known) {
        (Some(id), Some(_)) => index::replace(connection, What::Summary, id, before)?,
        (Some(id), None) => index::add(connection, What::Summary, id)?,
        (None, _) => {}
    }
    Ok(changed.is_some())
}
