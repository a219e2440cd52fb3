//! What another program has remembered, taken over: each record once, for good.

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Observation, Summary};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::import::{Last, SAME_PROMPT_MS, index_summaries};
use super::notes::save;
use super::prompts::remember;
use super::session_row::Place;
use super::summaries::write;
use super::take_in::{Desk, NewObservation, Taken};
use super::{Bulk, NewNote};
use crate::{Store, StoreError, cannot};

/// A record of another program. Nothing private is in it any more, and nothing too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved<T> {
    /// By what it is known there.
    pub key: String,
    /// When.
    pub at: Millis,
    /// What it says.
    pub what: T,
}

/// A turn of another program's session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MovedTurn {
    /// What was asked; `None` where that is in an earlier part, or nobody knows.
    pub prompt: Option<Moved<String>>,
    /// What was observed.
    pub calls: Vec<Moved<MovedCall>>,
    /// What it came to.
    pub summaries: Vec<Moved<Summary>>,
}

/// What was observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedCall {
    /// What is remembered of it.
    pub observation: Observation,
    /// What went in, raw; may be empty.
    pub input: String,
    /// What came out, raw; may be empty.
    pub response: String,
}

/// What came over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MovedIn {
    /// Prompts that are new.
    pub prompts: usize,
    /// Observations that are new.
    pub observations: usize,
    /// Summaries that are new, or say it better.
    pub summaries: usize,
    /// Records that came over before, or are to be forgotten.
    pub known: usize,
    /// The number of the last prompt.
    pub prompt_number: i64,
}

impl Store {
    /// Returns whether a record of another program has come over, at whatever time.
    pub fn has_moved_in(&self, origin: &str, key: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM moved_in WHERE origin = ?1 AND key = ?2";
        let found = self.connection.prepare_cached(sql).and_then(|mut sql| sql.exists((origin, key)));
        found.map_err(cannot("look for what came over"))
    }

    /// Notes that records of another program have come over.
    pub fn note_moved_in<'a>(&self, origin: &str, keys: impl IntoIterator<Item = &'a str>) -> Result<(), StoreError> {
        let failed = cannot("note what came over");
        for key in keys {
            is_first(&self.connection, origin, key).map_err(&failed)?;
        }
        Ok(())
    }
}

impl Bulk<'_> {
    /// Takes over turns of another program's session, all of them or none; `prompt_number` is that of the prompt before.
    ///
    /// What a model has put into words there counts as such. Returns `None`, and stores nothing, where there is no such
    /// session.
    pub fn move_in(
        &mut self,
        origin: &str,
        session: &str,
        turns: &[MovedTurn],
        prompt_number: i64,
    ) -> Result<Option<MovedIn>, StoreError> {
        self.moving(|connection, last_summary| {
            let Some(place) = Place::find(connection, session)? else { return Ok(None) };
            let desk = Desk::open(connection, session, place)?;
            let mover = Mover { connection, origin, session, desk, last_summary };
            let mut moved = MovedIn { prompt_number, ..MovedIn::default() };
            turns.iter().try_for_each(|turn| mover.turn(turn, &mut moved))?;
            Ok(Some(moved))
        })
    }

    /// Takes over what belongs to no session, as notes of a project.
    pub fn move_notes_in(
        &mut self,
        origin: &str,
        project_key: &str,
        project: &str,
        notes: &[Moved<(String, String)>],
    ) -> Result<MovedIn, StoreError> {
        self.moving(|connection, _| {
            let mut moved = MovedIn::default();
            for Moved { key, at, what: (title, text) } in notes {
                if is_first(connection, origin, key)? {
                    save(connection, &NewNote { session: None, project_key, project, title, text, at: *at })?;
                    moved.observations += 1;
                } else {
                    moved.known += 1;
                }
            }
            Ok(moved)
        })
    }

    /// Writes in one transaction, the indexes included. `work` is told the last summary that the index knows.
    fn moving<T>(&mut self, work: impl FnOnce(&Connection, i64) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let write = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let last = Last::of(&transaction)?;
            let sql = "SELECT coalesce(max(id), 0) FROM session_summaries";
            let summary: i64 = transaction.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
            let done = work(&transaction, summary)?;
            last.index_what_follows(&transaction)?;
            index_summaries(&transaction, summary)?;
            transaction.commit()?;
            Ok(done)
        };
        write(&mut self.plain().connection).map_err(cannot("take over what another program has remembered"))
    }
}

/// Takes over a session.
struct Mover<'a> {
    connection: &'a Connection,
    origin: &'a str,
    session: &'a str,
    desk: Desk<'a>,
    /// The last summary that the index knows; those behind it are told to it in the end.
    last_summary: i64,
}

impl Mover<'_> {
    fn turn(&self, turn: &MovedTurn, moved: &mut MovedIn) -> rusqlite::Result<()> {
        if let Some(prompt) = &turn.prompt {
            self.prompt(prompt, moved)?;
        }
        let mut taken = Taken::default();
        for call in &turn.calls {
            if is_first(self.connection, self.origin, &call.key)? {
                self.desk.count(&self.new_observation(call, moved.prompt_number), &mut taken)?;
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
            None if is_first => remember(self.connection, self.session, None, &prompt.what, prompt.at.0 as i64)?,
            there => there,
        };
        match (there, number) {
            (None, Some(_)) => moved.prompts += 1,
            _ => moved.known += 1,
        }
        moved.prompt_number = number.unwrap_or(moved.prompt_number);
        Ok(())
    }

    /// Returns the number of a prompt that hooks, a transcript or an earlier run have brought.
    fn same_prompt(&self, prompt: &Moved<String>) -> rusqlite::Result<Option<i64>> {
        self.connection
            .prepare_cached(
                "SELECT prompt_number FROM user_prompts WHERE session_id = ?1 AND abs(created_at - ?3) < ?4
                 -- A long one may have been cut there.
                 AND (trim(prompt) = trim(?2) OR (length(?2) >= 4000 AND substr(prompt, 1, 2000) = substr(?2, 1, 2000)))
                 ORDER BY abs(created_at - ?3) LIMIT 1",
            )?
            .query_row((self.desk.session_row(), &prompt.what, prompt.at.0 as i64, SAME_PROMPT_MS), |row| row.get(0))
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
        let sql = "SELECT 1 FROM session_summaries WHERE session_id = ?1 AND prompt_number = ?2 AND id <= ?3";
        let place = (self.desk.session_row(), number, self.last_summary);
        let is_indexed = self.connection.prepare_cached(sql)?.exists(place)?;
        // Rarely, and the triggers know how to change what an index has.
        if is_indexed {
            self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true)?;
        }
        let at = summary.at.0 as i64;
        let written = write(self.connection, self.session, number, &summary.what, MadeBy::Model, at);
        if is_indexed {
            self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        }
        match written? {
            true => moved.summaries += 1,
            false => moved.known += 1,
        }
        Ok(())
    }
}

/// Notes that a record has come over; returns whether it had not before.
fn is_first(connection: &Connection, origin: &str, key: &str) -> rusqlite::Result<bool> {
    let sql = "INSERT INTO moved_in (origin, key) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    Ok(connection.prepare_cached(sql)?.execute((origin, key))? > 0)
}
