//! Forgetting: deleting records so that nothing of their text is left in the file.

use longhaul_core::Millis;
use rusqlite::Connection;

use super::session_row::{project_row, session_row};
use super::upkeep::give_back;
use super::{RecordId, What};
use crate::blame;
use crate::model::lines;
use crate::recall::{backlog, index, replies};
use crate::row_ids::{ProjectRow, SessionRow, Time};
use crate::sql::Sql;
use crate::sync::row_is_forgotten;
use crate::{Store, StoreError, cannot};

impl Store {
    /// Deletes one record and every other trace of its text; returns whether there was one.
    ///
    /// An observation's raw text and its turn's line are deleted too; the call is never stored again, whether it comes from
    /// the spool or from the transcript. Of a prompt, what the handoff has stored is deleted too, and what its
    /// turn still brings is not stored. With both go the summaries that a rule or a model has made since, and the lines of the
    /// prompt's turns: they may quote it.
    pub fn forget(&self, id: RecordId) -> Result<bool, StoreError> {
        self.forgetting(|connection| {
            drop_summaries_of(connection, id.what.table(), id.id)?;
            match id.what {
                What::Prompt => forget_prompt(connection, id.id),
                What::Observation => forget_observation(connection, id.id),
                What::Summary => forget_summary(connection, id.id),
            }
        })
    }

    /// Deletes everything stored of a session up to `at`; returns whether there was such a session, or anything of it.
    ///
    /// Of a session in an excluded project, only the tracker may have something.
    /// Its row stays, emptied: it records how far the transcript has been read, and up to when nothing is to be stored again.
    /// Otherwise the next turn, or an import, would bring everything back.
    pub fn forget_session(&self, session: &str, at: Millis) -> Result<bool, StoreError> {
        self.forgetting(|connection| empty_session(connection, session, at))
    }

    /// Deletes everything stored of a project, its notes included; returns how many sessions it had.
    ///
    /// What other hosts have made is deleted on this host only.
    pub fn forget_project(&self, project_key: &str, at: Millis) -> Result<usize, StoreError> {
        self.forgetting(|connection| {
            let sessions: Vec<String> =
                connection.all("SELECT session_id FROM sessions WHERE project_key = ?1", [project_key])?;
            for session in &sessions {
                empty_session(connection, session, at)?;
            }
            if let Some(project) = project_row(connection, project_key)? {
                index::forget_project(connection, project.0)?;
                connection.run("DELETE FROM observations WHERE project_id = ?1", [project])?;
            }
            // What other hosts add to their sessions later is not part of what was deleted.
            let sql = "UPDATE sessions SET forgotten_at = NULL WHERE project_key = ?1 AND host_id IS NOT NULL";
            connection.run(sql, [project_key])?;
            Ok(sessions.len())
        })
    }

    /// Deletes everything stored of every project; returns how many sessions there were.
    ///
    /// What other hosts have made is deleted on this host only.
    pub fn forget_everything(&self, at: Millis) -> Result<usize, StoreError> {
        self.forgetting(|connection| {
            let sessions: Vec<String> = connection.all("SELECT session_id FROM sessions", [])?;
            for session in &sessions {
                empty_session(connection, session, at)?;
            }
            let projects: Vec<ProjectRow> =
                connection.all("SELECT id FROM projects WHERE project_key IS NOT NULL", [])?;
            for project in projects {
                index::forget_project(connection, project.0)?;
            }
            connection.run("DELETE FROM observations", [])?;
            connection.run("UPDATE sessions SET forgotten_at = NULL WHERE host_id IS NOT NULL", [])?;
            // Those of sessions that the memory does not know.
            connection.run("DELETE FROM snapshots", [])?;
            connection.run("DELETE FROM blame", [])?;
            Ok(sessions.len())
        })
    }

    /// Runs a deletion that overwrites what it deletes, in one transaction.
    fn forgetting<T>(&self, delete: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let done = self.overwriting(|tx| {
            let done = delete(tx)?;
            // The calls that were counted as repeats of one that is gone.
            let sql = "DELETE FROM known_ids WHERE scope = 'a call' AND same_as IS NOT NULL
                       AND NOT EXISTS (SELECT 1 FROM observations WHERE tool_use_id = same_as)";
            tx.run(sql, [])?;
            Ok(done)
        })?;
        self.overwrite_forgotten()?;
        Ok(done)
    }

    /// Runs a deletion in one transaction, and overwrites the deleted rows. [`Store::overwrite_forgotten`] does the rest.
    pub(crate) fn overwriting<T>(
        &self,
        delete: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let failed = cannot("forget");
        self.connection.execute_batch("PRAGMA secure_delete = on;").map_err(&failed)?;
        let done = self.write("forget", |tx| {
            replace_index_that_waits(tx)?;
            // It may quote what is forgotten.
            tx.run("UPDATE sessions SET compaction = NULL WHERE compaction IS NOT NULL", [])?;
            delete(tx)
        });
        self.connection.execute_batch("PRAGMA secure_delete = fast;").map_err(failed)?;
        done
    }

    /// Overwrites what deletions have left: pages that were freed before may still hold old text, and so may the WAL and
    /// an index that was replaced.
    ///
    /// While another process reads, the WAL is copied back by a later commit.
    pub fn overwrite_forgotten(&self) -> Result<(), StoreError> {
        let failed = cannot("overwrite what was forgotten");
        self.connection.execute_batch("PRAGMA secure_delete = on;").map_err(&failed)?;
        let cleaned = self.drop_replaced_index();
        let done = give_back(&self.connection, None).and_then(|()| self.empty_wal().map(drop));
        self.connection.execute_batch("PRAGMA secure_delete = fast;").map_err(&failed)?;
        cleaned.and(done.map_err(failed))
    }
}

/// Replaces an index of passages that waits to be built again: it is not written, so nothing could be removed from it.
fn replace_index_that_waits(connection: &Connection) -> rusqlite::Result<()> {
    if backlog::is_current(connection)? { Ok(()) } else { backlog::begin_again(connection) }
}

pub(crate) fn forget_prompt(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT s.id, s.session_id, u.prompt, coalesce(u.prompt_id, ''), u.created_at FROM prompts u
               JOIN sessions s ON s.id = u.session_id WHERE u.id = ?1";
    let found: Option<(SessionRow, String, String, String, i64)> = connection.first(sql, [id])?;
    let Some((session_row, session, prompt, prompt_id, at)) = found else { return Ok(false) };
    blame::forget(connection, &session, Some((&prompt_id, at)))?;
    // The replies are part of the record, and are deleted with it. Those that are in no index yet would be linked to the
    // prompt before.
    replies::link_session(connection, session_row)?;
    let answered = replies::of_prompt(connection, id)?;
    // They may still belong to the prompt before, if this one was stored late.
    replies::remove(connection, id)?;
    index::forget(connection, What::Prompt, id)?;
    let sql = "UPDATE turns SET reply = NULL, provisional = 0, line = NULL, model_line = NULL WHERE id = ?1";
    for turn in answered {
        connection.run(sql, [turn])?;
    }
    let sql =
        "UPDATE turns SET prompt_number = NULL, project_id = NULL, model_at = NULL, asked_to = NULL, prompt = NULL,
                                line = NULL, model_line = NULL, forgotten = 1, reply = NULL, provisional = 0, failure = NULL,
                                uid = NULL, host_id = NULL, version = NULL, number = iif(turn_id GLOB 'sync:*', NULL, number),
                                turn_id = iif(turn_id GLOB 'sync:*', NULL, turn_id) WHERE id = ?1";
    connection.run(sql, [id])?;
    connection.run(
        &format!(
            "UPDATE sessions SET first_user_prompt = iif({}, NULL, first_user_prompt),
                                 last_prompt = iif({}, NULL, last_prompt) WHERE id = ?1",
            is_same("first_user_prompt"),
            is_same("last_prompt")
        ),
        (session_row, &prompt),
    )?;
    connection.run("UPDATE agents SET prompt_summary = NULL WHERE session_id = ?1", [&session])?;
    connection.run("UPDATE session_places SET prompt_summary = NULL WHERE session_id = ?1", [&session])?;
    let sql = format!(
        "UPDATE turns SET prompt = NULL, line = NULL, model_line = NULL WHERE session_id = ?1 AND prompt_number IS NULL AND {}",
        is_same("prompt")
    );
    connection.run(&sql, (session_row, &prompt))?;
    Ok(true)
}

/// Returns the condition that a text is the prompt `?2`, of which only the two ends may be stored.
fn is_same(column: &str) -> String {
    format!(
        "(trim({column}) = trim(?2)
          OR (length(?2) > 10000 AND substr(trim({column}), 1, 8000) = substr(trim(?2), 1, 8000)))"
    )
}

pub(crate) fn forget_observation(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT tool_use_id, session_id, prompt_number, repeats FROM observations WHERE id = ?1";
    let found: Option<(Option<String>, Option<SessionRow>, i64, i64)> = connection.first(sql, [id])?;
    let Some((call, session, prompt, repeats)) = found else { return Ok(false) };
    if let Some(session) = session {
        lines::delete_of_prompt(connection, session, prompt)?;
    }
    // No index finds the repeats of a call.
    let sql = "SELECT id FROM known_ids WHERE scope = 'a call' AND same_as = ?1";
    let mut calls: Vec<String> = if repeats > 0 { connection.all(sql, [&call])? } else { Vec::new() };
    calls.extend(call);
    for call in &calls {
        let sql = "INSERT INTO known_ids (scope, id) VALUES ('a call', ?1) ON CONFLICT DO UPDATE SET same_as = NULL";
        connection.run(sql, [call])?;
        if let Some(session) = session {
            drop_raw(connection, session, call)?;
        }
    }
    index::forget(connection, What::Observation, id)?;
    connection.run("DELETE FROM observations WHERE id = ?1", [id])?;
    Ok(true)
}

pub(crate) fn forget_summary(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    index::forget(connection, What::Summary, id)?;
    Ok(connection.run("DELETE FROM session_summaries WHERE id = ?1", [id])? > 0)
}

pub(crate) fn delete_bookmark(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    row_is_forgotten(connection, "bookmarks", id)?;
    Ok(connection.run("DELETE FROM bookmarks WHERE id = ?1", [id])? > 0)
}

/// Deletes the summaries that a rule has made since a record of a table, or the model that was asked to reword them: they cover
/// everything up to there. A summary that another program's model has made is a record of its own.
pub(crate) fn drop_summaries_of(connection: &Connection, table: &str, id: i64) -> rusqlite::Result<()> {
    if !matches!(table, "turns" | "prompts" | "observations") {
        return Ok(());
    }
    let sql = format!(
        "SELECT s.id FROM {table} t JOIN session_summaries s ON s.session_id = t.session_id
                                                            AND s.prompt_number >= t.prompt_number
         WHERE t.id = ?1 AND (s.made_by = 'rule' OR (s.made_by = 'model' AND EXISTS
             (SELECT 1 FROM prompts p WHERE p.session_id = s.session_id
              AND p.prompt_number <= s.prompt_number AND p.model_at IS NOT NULL)))"
    );
    let summaries: Vec<i64> = connection.all(&sql, [id])?;
    summaries.into_iter().try_for_each(|summary| forget_summary(connection, summary).map(drop))
}

/// Deletes a call's raw text and the line of its turn, which may quote it.
fn drop_raw(connection: &Connection, session: SessionRow, call: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM details WHERE session_id = ?1 AND source_id = ?2 RETURNING turn";
    let turns: Vec<Option<i64>> = connection.all(sql, (session, call))?;
    for turn in turns {
        connection.run("UPDATE turns SET line = NULL, model_line = NULL WHERE id = ?1", [turn])?;
    }
    Ok(())
}

fn empty_session(connection: &Connection, session: &str, at: Millis) -> rusqlite::Result<bool> {
    let mut is_known =
        connection.run("UPDATE agents SET prompt_summary = NULL, wants = NULL WHERE session_id = ?1", [session])? > 0;
    let sql = "UPDATE session_places SET prompt_summary = NULL WHERE session_id = ?1";
    is_known |= connection.run(sql, [session])? > 0;
    let sql = "SELECT id FROM bookmarks WHERE session_id = ?1";
    let bookmarks: Vec<i64> = connection.all(sql, [session])?;
    for bookmark in bookmarks {
        is_known |= delete_bookmark(connection, bookmark)?;
    }
    for table in ["snapshots", "notifications"] {
        is_known |= connection.run(&format!("DELETE FROM {table} WHERE session_id = ?1"), [session])? > 0;
    }
    blame::forget(connection, session, None)?;
    let Some(row) = session_row(connection, session)? else { return Ok(is_known) };
    index::forget_session(connection, row.0)?;
    for table in ["turns", "observations", "details", "session_summaries"] {
        connection.run(&format!("DELETE FROM {table} WHERE session_id = ?1"), [row])?;
    }
    let sql = "UPDATE handoff_log SET project_path = NULL WHERE project_path IS NOT NULL AND predecessor = ?1";
    connection.run(sql, [session])?;
    connection.run(
        "UPDATE handoff_log SET body = '', remaining = '', front = '' WHERE session_id = ?1 AND body IS NOT NULL",
        [session],
    )?;
    connection.run(
        "UPDATE sessions SET first_user_prompt = NULL, last_prompt = NULL, forgotten_at = max(?2, coalesce(forgotten_at, 0))
         WHERE id = ?1",
        (row, Time(at)),
    )?;
    Ok(true)
}
