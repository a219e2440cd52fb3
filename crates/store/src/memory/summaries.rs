//! Summaries of sessions.

use longhaul_core::Millis;
use longhaul_memory::{Exchange, MadeBy, Summary};
use rusqlite::{Connection, named_params};

use super::What;
use super::session_row::MemorySession;
use crate::recall::index;
use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

/// Whether a summary may be overwritten: one made by a rule by anyone, one made by a model by a model, any by a person.
const MAY_OVERWRITE: &str = "(old.made_by = 'rule' OR old.made_by = :maker OR :maker = 'person')";

impl Store {
    /// Stores the summary of a session up to one of its prompts; returns whether that changed anything.
    ///
    /// A rule never overwrites what a model or a person has written, and a model never what a person has written.
    pub fn write_summary(
        &self,
        session: &str,
        prompt_number: i64,
        summary: &Summary,
        made_by: MadeBy,
        at: Millis,
    ) -> Result<bool, StoreError> {
        self.write("write the summary", |tx| write_summary(tx, session, prompt_number, summary, made_by, at))
    }

    pub fn has_summary(&self, session: &str, prompt_number: i64) -> Result<bool, StoreError> {
        self.connection.one(
            "SELECT EXISTS (SELECT 1 FROM session_summaries
                                WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND prompt_number = ?2)",
            (session, prompt_number),
        )
            .map_err(cannot("look for the summary"))
    }
}

pub(crate) fn write_summary(
    connection: &Connection,
    session: &str,
    prompt_number: i64,
    summary: &Summary,
    made_by: MadeBy,
    at: Millis,
) -> rusqlite::Result<bool> {
    let Some(session) = MemorySession::find(connection, session)? else { return Ok(false) };
    if session.is_forgotten(at) {
        return Ok(false);
    }
    let known: Option<i64> = connection.first(
        "SELECT id FROM session_summaries WHERE session_id = ?1 AND prompt_number = ?2",
        (session.row, prompt_number),
    )?;
    let before = match known {
        Some(id) => index::before_change(connection, What::Summary, id)?,
        None => None,
    };
    let changed = upsert(connection, &session, prompt_number, summary, made_by, at)?;
    match (changed, known) {
        (Some(id), Some(_)) => index::replace(connection, What::Summary, id, before)?,
        (Some(id), None) => index::add(connection, What::Summary, id)?,
        (None, _) => {}
    }
    Ok(changed.is_some())
}

/// Inserts a summary, or overwrites the one of the same prompt; returns its row if that changed anything.
fn upsert(
    connection: &Connection,
    session: &MemorySession,
    prompt_number: i64,
    summary: &Summary,
    made_by: MadeBy,
    at: Millis,
) -> rusqlite::Result<Option<i64>> {
    let Summary { request, investigated, learned, completed, next_steps, exchanges, .. } = summary;
    // Only a rule pairs requests with outcomes.
    let exchanges = (made_by == MadeBy::Rule).then(|| Exchange::to_json(exchanges));
    // Storing the same words again changes nothing, and the index stays as it is.
    let sql = format!(
        "INSERT INTO session_summaries AS old (session_id, project_id, prompt_number, request, investigated, learned,
                                               completed, next_steps, exchanges, made_by, created_at)
         VALUES (:session, :project, :prompt, :request, :investigated, :learned, :completed, :next, :exchanges, :maker, :at)
         ON CONFLICT (session_id, prompt_number) DO UPDATE SET
             request = excluded.request, investigated = excluded.investigated, learned = excluded.learned,
             completed = excluded.completed, next_steps = excluded.next_steps, exchanges = excluded.exchanges,
             made_by = excluded.made_by, created_at = excluded.created_at
         WHERE {MAY_OVERWRITE} AND (old.request, old.investigated, old.learned, old.completed, old.next_steps, old.exchanges,
                                    old.made_by)
               IS NOT (:request, :investigated, :learned, :completed, :next, :exchanges, :maker)
         RETURNING id"
    );
    connection.first(
        &sql,
        named_params! {
            ":session": session.row,
            ":project": session.project,
            ":prompt": prompt_number,
            ":request": request,
            ":investigated": investigated,
            ":learned": learned,
            ":completed": completed,
            ":next": next_steps,
            ":exchanges": exchanges,
            ":maker": made_by.as_str(),
            ":at": Time(at),
        },
    )
}
