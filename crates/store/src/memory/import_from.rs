//! Importing what another program has stored: each record once, for good.

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Observation, Summary};
use rusqlite::{Connection, OptionalExtension};

use super::notes::save;
use super::prompts::remember;
use super::summaries::write_summary;
use super::tool_calls::{CallWriter, NewObservation, Taken};
use super::{Bulk, NewNote};
use crate::row_ids::Time;
use crate::same_turn::SAME_PROMPT_MS;
use crate::{Store, StoreError, cannot};

/// The operation, for an error.
const ACTION: &str = "import what another program has stored";

/// A record of another program. Private text has been removed from it, and long text cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved<T> {
    /// Its key in that program.
    pub key: String,
    /// When it was made.
    pub at: Millis,
    /// Its content.
    pub what: T,
}

/// A turn of another program's session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MovedTurn {
    /// The prompt; `None` if an earlier part has brought it, or it is not known.
    pub prompt: Option<Moved<String>>,
    /// The observations.
    pub calls: Vec<Moved<MovedCall>>,
    /// The summaries.
    pub summaries: Vec<Moved<Summary>>,
}

/// An observation of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedCall {
    /// What is stored of it.
    pub observation: Observation,
    /// The raw input; may be empty.
    pub input: String,
    /// The raw output; may be empty.
    pub response: String,
}

/// What an import has stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MovedIn {
    /// Prompts that are new.
    pub prompts: usize,
    /// Observations that are new.
    pub observations: usize,
    /// Summaries that are new, or replace one made by a rule.
    pub summaries: usize,
    /// Records that were imported before, or are to be forgotten.
    pub known: usize,
    /// The number of the last prompt.
    pub prompt_number: i64,
}

impl Store {
    /// Returns whether a record of another program was ever imported.
    pub fn has_moved_in(&self, origin: &str, key: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM known_ids WHERE scope = 'from ' || ?1 AND id = ?2";
        let found = self.connection.prepare_cached(sql).and_then(|mut sql| sql.exists((origin, key)));
        found.map_err(cannot("look up what was imported"))
    }

    /// Records that records of another program were imported.
    pub fn note_moved_in<'a>(&self, origin: &str, keys: impl IntoIterator<Item = &'a str>) -> Result<(), StoreError> {
        let failed = cannot("record what was imported");
        for key in keys {
            is_first(&self.connection, origin, key).map_err(&failed)?;
        }
        Ok(())
    }
}

impl Bulk<'_> {
    /// Imports turns of another program's session, all of them or none; `prompt_number` is that of the prompt before.
    ///
    /// Observations count as written by a model, notes as written by a person. Returns `None`, and stores nothing, if there is
    /// no such session.
    pub fn move_in(
        &self,
        origin: &str,
        session: &str,
        turns: &[MovedTurn],
        prompt_number: i64,
    ) -> Result<Option<MovedIn>, StoreError> {
        self.store.write(ACTION, |tx| {
            let Some(calls) = CallWriter::open(tx, session)? else { return Ok(None) };
            let importer = SessionImporter { connection: tx, origin, session, calls };
            let mut moved = MovedIn { prompt_number, ..MovedIn::default() };
            turns.iter().try_for_each(|turn| importer.turn(turn, &mut moved))?;
            importer.calls.finish()?;
            Ok(Some(moved))
        })
    }

    /// Imports what belongs to no session, as notes of a project.
    pub fn move_notes_in(
        &self,
        origin: &str,
        project_key: &str,
        project: &str,
        notes: &[Moved<(String, String)>],
    ) -> Result<MovedIn, StoreError> {
        self.store.write(ACTION, |tx| {
            let mut moved = MovedIn::default();
            for Moved { key, at, what: (title, text) } in notes {
                if is_first(tx, origin, key)? {
                    save(tx, &NewNote { session: None, project_key, project, title, text, at: *at })?;
                    moved.observations += 1;
                } else {
                    moved.known += 1;
                }
            }
            Ok(moved)
        })
    }
}

/// Imports a session.
struct SessionImporter<'a> {
    connection: &'a Connection,
    origin: &'a str,
    session: &'a str,
    calls: CallWriter<'a>,
}

impl SessionImporter<'_> {
    fn turn(&self, turn: &MovedTurn, moved: &mut MovedIn) -> rusqlite::Result<()> {
        if let Some(prompt) = &turn.prompt {
            self.prompt(prompt, moved)?;
        }
        let mut taken = Taken::default();
        for call in &turn.calls {
            if is_first(self.connection, self.origin, &call.key)? {
                self.calls.store(&self.new_observation(call, moved.prompt_number), &mut taken)?;
            } else {
                taken.known += 1;
            }
        }
        moved.observations += taken.stored + taken.folded;
        moved.known += taken.known;
        for summary in &turn.summaries {
            self.summary(summary, moved)?;
        }
        Ok(())
    }

    fn prompt(&self, prompt: &Moved<String>, moved: &mut MovedIn) -> rusqlite::Result<()> {
        let is_first = is_first(self.connection, self.origin, &prompt.key)?;
        let there = self.same_prompt(prompt)?;
        let number = match there {
            None if is_first => remember(self.connection, self.session, None, &prompt.what, prompt.at)?,
            there => there,
        };
        match (there, number) {
            (None, Some(_)) => moved.prompts += 1,
            _ => moved.known += 1,
        }
        moved.prompt_number = number.unwrap_or(moved.prompt_number);
        Ok(())
    }

    /// Returns the number of the prompt if hooks, a transcript or an earlier import have stored it.
    fn same_prompt(&self, prompt: &Moved<String>) -> rusqlite::Result<Option<i64>> {
        self.connection
            .prepare_cached(
                "SELECT prompt_number FROM prompts WHERE session_id = ?1 AND abs(created_at - ?3) < ?4
                 -- A long prompt may have been cut there.
                 AND (trim(prompt) = trim(?2) OR (length(?2) >= 4000 AND substr(prompt, 1, 2000) = substr(?2, 1, 2000)))
                 ORDER BY abs(created_at - ?3) LIMIT 1",
            )?
            .query_row((self.calls.session_row(), &prompt.what, Time(prompt.at), SAME_PROMPT_MS), |row| row.get(0))
            .optional()
    }

    fn new_observation<'a>(&self, call: &'a Moved<MovedCall>, prompt_number: i64) -> NewObservation<'a> {
        NewObservation {
            tool_use_id: &call.key,
            prompt_number: Some(prompt_number),
            prompt_id: None,
            observation: call.what.observation.clone(),
            made_by: if call.what.observation.kind == Kind::Note { MadeBy::Person } else { MadeBy::Model },
            after_problem: None,
            command_key: None,
            fold_key: None,
            input: &call.what.input,
            response: &call.what.response,
            in_subagent: false,
            is_error: false,
            at: call.at,
        }
    }

    fn summary(&self, summary: &Moved<Summary>, moved: &mut MovedIn) -> rusqlite::Result<()> {
        if !is_first(self.connection, self.origin, &summary.key)? {
            moved.known += 1;
            return Ok(());
        }
        let number = moved.prompt_number;
        match write_summary(self.connection, self.session, number, &summary.what, MadeBy::Model, summary.at)? {
            true => moved.summaries += 1,
            false => moved.known += 1,
        }
        Ok(())
    }
}

/// Records that a record was imported; returns whether it is the first time.
fn is_first(connection: &Connection, origin: &str, key: &str) -> rusqlite::Result<bool> {
    let sql = "INSERT INTO known_ids (scope, id) VALUES ('from ' || ?1, ?2) ON CONFLICT DO NOTHING";
    Ok(connection.prepare_cached(sql)?.execute((origin, key))? > 0)
}
