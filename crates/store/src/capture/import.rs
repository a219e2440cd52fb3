//! What an import writes: turns of transcripts from before the memory was switched on, and what another program has
//! stored, each record once, for good.
//!
//! It is written in the bulk mode: it is copied from the WAL less often, and a whole session is stored in one
//! transaction.

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Observation, Summary};
use rusqlite::Connection;

use super::calls::{CallWriter, NewNote, NewObservation, Taken, save_note};
use super::{Source, Told, known, remember};
use crate::memory::session_row::session_row;
use crate::memory::summaries::write_summary;
use crate::recall::backlog::Room;
use crate::recall::replies;
use crate::sql::Sql;
use crate::{SETTINGS, Store, StoreError, cannot};

impl Store {
    /// Switches to the bulk mode for as long as the returned value lives.
    pub fn bulk(&mut self) -> Result<Bulk<'_>, StoreError> {
        // Made first, so that dropping it restores the settings.
        let bulk = Bulk { store: self };
        let settings = "PRAGMA wal_autocheckpoint = 16000; PRAGMA cache_size = -65536;";
        bulk.store.connection.execute_batch(settings).map_err(cannot("prepare for an import"))?;
        Ok(bulk)
    }
}

/// A database in the bulk mode.
#[derive(Debug)]
pub struct Bulk<'a> {
    pub(super) store: &'a mut Store,
}

impl Drop for Bulk<'_> {
    /// Leaves the connection as [`Store::open`] made it, and an empty WAL.
    fn drop(&mut self) {
        let _ = self.store.connection.execute_batch(SETTINGS);
        let _ = self.store.empty_wal();
    }
}

impl Bulk<'_> {
    /// Returns the database for sessions and turns, and for reading.
    pub fn plain(&self) -> &Store {
        self.store
    }
}

/// Number of turns whose replies are added to the index in one transaction.
const LINKED_AT_ONCE: usize = 200;

/// A turn of a transcript, to be remembered. Private text has been removed from it, and long text cut.
#[derive(Debug)]
pub struct PastTurn<'a> {
    /// The prompt; `None` if an earlier part of the turn has brought it, or there was none.
    pub prompt: Option<PastPrompt<'a>>,
    /// The tool calls, in order; the prompts' numbers are filled in.
    pub calls: Vec<NewObservation<'a>>,
}

/// A prompt of a transcript.
#[derive(Debug, Clone, Copy)]
pub struct PastPrompt<'a> {
    /// Its id, by which it is stored once.
    pub id: &'a str,
    pub text: &'a str,
    pub at: Millis,
}

impl Bulk<'_> {
    /// Stores turns in the order of the transcript, all of them or none; `prompt_number` is that of the prompt before.
    ///
    /// Returns `None`, and stores nothing, if there is no such session. What a hook or an earlier import has stored stays as
    /// it is, so that importing the same turns again changes nothing.
    pub fn take_in_past(
        &self,
        session: &str,
        turns: Vec<PastTurn<'_>>,
        prompt_number: i64,
    ) -> Result<Option<MovedIn>, StoreError> {
        self.store.write("import the session", |tx| {
            let Some(mut calls) = CallWriter::open(tx, session)? else { return Ok(None) };
            let mut moved = MovedIn { prompt_number, ..MovedIn::default() };
            let mut taken = Taken::default();
            for turn in turns {
                if let Some(PastPrompt { id, text, at }) = turn.prompt {
                    let (source, prompt_id) = (Source::Import, Some(id));
                    let told = Told { source, turn_id: None, prompt_id, prompt: text, at: at.0 as i64 };
                    if let Some(prompt) = remember(tx, calls.session(), &told)? {
                        moved.prompts += usize::from(prompt.is_new);
                        moved.prompt_number = prompt.number;
                        calls.set_turn(prompt.turn);
                    }
                }
                for mut call in turn.calls {
                    call.prompt_number = Some(moved.prompt_number);
                    calls.store(&call, &mut taken)?;
                }
            }
            calls.finish()?;
            Ok(Some(MovedIn { observations: taken.stored, known: taken.folded + taken.known, ..moved }))
        })
    }

    /// Adds the replies of a session to the prompts that they answer, where those were stored after them.
    pub fn link_replies(&self, session: &str) -> Result<(), StoreError> {
        let failed = cannot("look up a session");
        let Some(session) = session_row(&self.plain().connection, session).map_err(failed)? else { return Ok(()) };
        let mut from = Some(0);
        while let Some(turn) = from {
            let mut room = Room::new(LINKED_AT_ONCE);
            let link = |tx: &Connection| replies::link_some(tx, session, turn, &mut room);
            from = self.plain().write("add the replies to the index", link)?;
        }
        Ok(())
    }

    /// Stores the summary of an imported session, made by rule; see [`crate::Store::write_summary`].
    pub fn write_past_summary(
        &self,
        session: &str,
        prompt_number: i64,
        summary: &Summary,
        at: Millis,
    ) -> Result<bool, StoreError> {
        self.store.write("write the summary", |tx| write_summary(tx, session, prompt_number, summary, MadeBy::Rule, at))
    }
}

const ACTION: &str = "import what another program has stored";

/// A record of another program. Private text has been removed from it, and long text cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved<T> {
    /// Its key in that program.
    pub key: String,
    pub at: Millis,
    pub what: T,
}

/// A turn of another program's session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MovedTurn {
    /// The prompt; `None` if an earlier part has brought it, or it is not known.
    pub prompt: Option<Moved<String>>,
    pub calls: Vec<Moved<MovedCall>>,
    pub summaries: Vec<Moved<Summary>>,
}

/// An observation of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedCall {
    pub observation: Observation,
    pub input: String,
    pub response: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MovedIn {
    pub prompts: usize,
    pub observations: usize,
    /// Summaries that are new, or replace one made by a rule.
    pub summaries: usize,
    /// Records that were imported before, or are to be forgotten.
    pub known: usize,
    pub prompt_number: i64,
}

impl Store {
    /// Returns whether a record of another program was ever imported.
    pub fn has_moved_in(&self, origin: &str, key: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM known_ids WHERE scope = 'from ' || ?1 AND id = ?2";
        self.connection.has(sql, (origin, key)).map_err(cannot("look up what was imported"))
    }

    /// Records that records of another program were imported.
    pub fn note_moved_in<'a>(&self, origin: &str, keys: impl IntoIterator<Item = &'a str>) -> Result<(), StoreError> {
        self.try_to("record what was imported", |connection| {
            keys.into_iter().try_for_each(|key| is_first(connection, origin, key).map(drop))
        })
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
            let mut importer = SessionImporter { connection: tx, origin, session, calls };
            let mut moved = MovedIn { prompt_number, ..MovedIn::default() };
            turns.iter().try_for_each(|turn| importer.turn(turn, &mut moved))?;
            importer.calls.finish()?;
            Ok(Some(moved))
        })
    }

    /// Imports what belongs to no session, as a note of a project; returns whether it is the first time.
    pub fn move_note_in(
        &self,
        origin: &str,
        project_key: &str,
        project: &str,
        Moved { key, at, what: (title, text) }: &Moved<(String, String)>,
    ) -> Result<bool, StoreError> {
        self.store.write(ACTION, |tx| {
            let is_new = is_first(tx, origin, key)?;
            if is_new {
                save_note(tx, &NewNote { session: None, project_key, project, title, text, at: *at })?;
            }
            Ok(is_new)
        })
    }
}

struct SessionImporter<'a> {
    connection: &'a Connection,
    origin: &'a str,
    session: &'a str,
    calls: CallWriter<'a>,
}

impl SessionImporter<'_> {
    fn turn(&mut self, turn: &MovedTurn, moved: &mut MovedIn) -> rusqlite::Result<()> {
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

    fn prompt(&mut self, prompt: &Moved<String>, moved: &mut MovedIn) -> rusqlite::Result<()> {
        let (prompt_id, turn_id) = (None, None);
        let told = Told { source: Source::Import, turn_id, prompt_id, prompt: &prompt.what, at: prompt.at.0 as i64 };
        let found = if is_first(self.connection, self.origin, &prompt.key)? {
            remember(self.connection, self.calls.session(), &told)?
        } else {
            known(self.connection, self.calls.session(), &told)?
        };
        let is_new = found.as_ref().is_some_and(|found| found.is_new);
        moved.prompts += usize::from(is_new);
        moved.known += usize::from(!is_new);
        if let Some(found) = found {
            moved.prompt_number = found.number;
            self.calls.set_turn(found.turn);
        }
        Ok(())
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
    Ok(connection.run(sql, (origin, key))? > 0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use longhaul_core::Millis;
    use rusqlite::StatementStatus;

    use super::{PastPrompt, PastTurn};
    use crate::Store;
    use crate::capture::{CANDIDATES, IS_TAKEN};
    use crate::tests::new_session;

    /// Imports a session with so many prompts twice; returns how many steps SQLite took to look for them.
    fn steps(prompts: usize) -> i64 {
        let folder = tempfile::TempDir::new().unwrap();
        let mut store = Store::open(&folder.path().join("l.db"), Duration::from_secs(5)).unwrap();
        store.register_session(&new_session("s")).unwrap();
        let ids: Vec<String> = (0..prompts).map(|number| format!("prompt-{number}")).collect();
        let turns = || -> Vec<PastTurn<'_>> {
            let prompt = |(id, at): (&String, u64)| PastPrompt {
                id: id.as_str().to_owned().leak(),
                text: "go on",
                at: Millis(at * 60_000),
            };
            ids.iter().zip(1..).map(|numbered| PastTurn { prompt: Some(prompt(numbered)), calls: Vec::new() }).collect()
        };
        let bulk = store.bulk().unwrap();
        // The second time each is known already.
        for _ in 0..2 {
            bulk.take_in_past("s", turns(), 0).unwrap().unwrap();
        }
        let connection = &bulk.plain().connection;
        let taken = |sql: &str| i64::from(connection.prepare_cached(sql).unwrap().get_status(StatementStatus::VmStep));
        [CANDIDATES, IS_TAKEN].into_iter().map(taken).sum()
    }

    #[test]
    fn looking_for_a_prompt_does_not_read_the_whole_session() {
        let (few, many) = (steps(200), steps(1_600));
        assert!(few > 200 * 2 && many < few * 10, "eight times the prompts took {many} steps instead of {few}");
    }
}
