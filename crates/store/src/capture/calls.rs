//! Storing observations: tool calls, with how far the spool has been read, in one transaction; and notes, which a person, or a model
//! on request, has written.

use std::cell::RefCell;
use std::fmt;

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Observation};
use rusqlite::{Connection, named_params};

use super::BY_ID;
use crate::memory::session_row::{MemorySession, add_project};
use crate::recall::index::{self, NewTerms};
use crate::row_ids::{SessionRow, Time};
use crate::sql::Sql;
use crate::{Store, StoreError, What, cannot};

/// A tool call, to be stored. Private text has been removed from it, and long text cut.
#[derive(Debug, Clone)]
pub struct NewObservation<'a> {
    /// The id of the call. A call is stored once.
    pub tool_use_id: &'a str,
    /// The number of the prompt that it was made for, if known.
    pub prompt_number: Option<i64>,
    /// The prompt's id, for when its number is not known. Without either, it is the session's last prompt.
    pub prompt_id: Option<&'a str>,
    pub observation: Observation,
    pub made_by: MadeBy,
    /// What is stored instead if the last call with the same `command_key` was a problem.
    pub after_problem: Option<Observation>,
    /// A key that is equal for equal commands of a session.
    pub command_key: Option<&'a str>,
    /// A key that is equal for equal calls. An equal call with no other in between counts as a repeat of the first.
    pub fold_key: Option<i64>,
    pub input: &'a str,
    pub response: &'a str,
    pub is_error: bool,
    pub in_subagent: bool,
    pub at: Millis,
}

/// The part of a spool that the calls were read from.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    pub from: u64,
    pub to: u64,
    /// Returns whether it is still the same spool. Called while no other process can write.
    pub is_current: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading({}..{})", self.from, self.to)
    }
}

/// What became of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// Calls that were stored as a record.
    pub stored: usize,
    /// Calls that were counted as a repeat of the one before.
    pub folded: usize,
    /// Calls that were stored before, or are to be forgotten.
    pub known: usize,
}

impl Store {
    /// Returns whether a call has been stored, counted as a repeat, or is to be forgotten.
    pub fn knows_call(&self, tool_use_id: &str) -> Result<bool, StoreError> {
        knows(&self.connection, tool_use_id).map_err(cannot("look for the call"))
    }

    /// Returns how far a session's spool has been read.
    pub fn spool_position(&self, session: &str) -> Result<u64, StoreError> {
        let sql = "SELECT spool_offset FROM sessions WHERE session_id = ?1";
        let position: Option<i64> = self.connection.first(sql, [session]).map_err(cannot("read the session"))?;
        Ok(position.unwrap_or_default().unsigned_abs())
    }

    /// Records that a session's spool is about to be deleted; returns whether it was read up to `from`, as the caller expects.
    pub fn reset_spool(&self, session: &str, from: u64) -> Result<bool, StoreError> {
        let sql = "UPDATE sessions SET spool_offset = 0 WHERE session_id = ?1 AND spool_offset = ?2";
        let changed = self.connection.run(sql, (session, from as i64));
        changed.map(|rows| rows > 0).map_err(cannot("record that the spool is gone"))
    }

    /// Stores tool calls in their order, and, if given, how far the spool was read for them.
    ///
    /// Returns `None`, and stores nothing, if there is no such session. Calls that are stored already change nothing, so that
    /// two processes may read the same spool at the same moment.
    pub fn take_in(
        &self,
        session: &str,
        calls: &[NewObservation<'_>],
        read: Option<Reading<'_>>,
    ) -> Result<Option<Taken>, StoreError> {
        self.write("store the tool calls", |tx| {
            let Some(writer) = CallWriter::open(tx, session)? else { return Ok(None) };
            let mut taken = Taken::default();
            for call in calls {
                writer.store(call, &mut taken)?;
            }
            writer.finish()?;
            if let Some(Reading { from, to, .. }) = read.filter(|read| (read.is_current)()) {
                // Another process may have read the same part, or more, or the spool may have begun again.
                let sql = "UPDATE sessions SET spool_offset = ?3 WHERE session_id = ?1 AND spool_offset = ?2";
                tx.run(sql, (session, from as i64, to as i64))?;
            }
            Ok(Some(taken))
        })
    }
}

enum Outcome {
    Stored,
    Folded,
    Known,
}

pub(super) struct CallWriter<'a> {
    connection: &'a Connection,
    session: MemorySession,
    /// The turn to which raw text is added: the session's last one, if nobody says which. The transcript corrects it when it is
    /// read.
    turn: Option<i64>,
    /// The terms of the stored calls, which [`CallWriter::finish`] adds to the index.
    terms: RefCell<NewTerms>,
}

impl<'a> CallWriter<'a> {
    /// Looks up what all calls of a session share; returns `None` if there is no such session.
    pub(super) fn open(connection: &'a Connection, session_id: &str) -> rusqlite::Result<Option<Self>> {
        let Some(session) = MemorySession::find(connection, session_id)? else { return Ok(None) };
        let sql = "SELECT id FROM turns WHERE session_id = ?1 AND number IS NOT NULL ORDER BY number DESC LIMIT 1";
        let turn = connection.first(sql, [session.row])?;
        Ok(Some(Self { connection, session, turn, terms: RefCell::default() }))
    }

    pub(super) fn session(&self) -> &MemorySession {
        &self.session
    }

    /// Says to which turn the raw text of the next calls belongs.
    pub(super) fn set_turn(&mut self, turn: i64) {
        self.turn = Some(turn);
    }

    /// Adds the stored calls to the index, together: one by one, each would be a segment of its own, which every search reads.
    pub(super) fn finish(&self) -> rusqlite::Result<()> {
        self.terms.borrow_mut().write(self.connection)
    }

    /// Stores a call, and counts in `taken` what became of it. [`CallWriter::finish`] is to be called after the last one.
    pub(super) fn store(&self, call: &NewObservation<'_>, taken: &mut Taken) -> rusqlite::Result<()> {
        let count = match self.store_or_fold(call)? {
            Outcome::Stored => &mut taken.stored,
            Outcome::Folded => &mut taken.folded,
            Outcome::Known => &mut taken.known,
        };
        *count += 1;
        Ok(())
    }

    fn store_or_fold(&self, call: &NewObservation<'_>) -> rusqlite::Result<Outcome> {
        if self.session.is_forgotten(call.at) {
            return Ok(Outcome::Known);
        }
        let prompt = match call.prompt_number {
            None => self.connection.first(BY_ID, (self.session.row, call.prompt_id))?,
            number => number,
        };
        if knows(self.connection, call.tool_use_id)? {
            if let Some(prompt) = prompt {
                set_prompt(self.connection, self.session.row, call.tool_use_id, prompt)?;
            }
            return Ok(Outcome::Known);
        }
        let prompt = prompt.unwrap_or(self.session.prompts);
        let fixes = call.after_problem.as_ref().filter(|_| call.command_key.is_some());
        let fix = match fixes {
            Some(fix) if self.latest_of_command(call.command_key)? == Some(Kind::Problem) => Some(fix),
            Some(_) | None => None,
        };
        if fix.is_none() && self.fold(call, prompt)? {
            return Ok(Outcome::Folded);
        }
        self.insert(call, fix.unwrap_or(&call.observation), prompt)?;
        self.insert_raw_text(call)?;
        // A model that has dealt with the prompt has not seen this call.
        self.connection.run(
            "UPDATE turns SET model_at = NULL
                 WHERE session_id = ?1 AND prompt_number = ?2 AND model_at IS NOT NULL",
            (self.session.row, prompt),
        )?;
        Ok(Outcome::Stored)
    }

    fn latest_of_command(&self, key: Option<&str>) -> rusqlite::Result<Option<Kind>> {
        let kind: Option<String> = self.connection.first(
            "SELECT kind FROM observations WHERE session_id = ?1 AND command_key = ?2 ORDER BY id DESC LIMIT 1",
            (self.session.row, key),
        )?;
        Ok(kind.and_then(|kind| Kind::from_name(&kind)))
    }

    /// Counts a call as a repeat if the one before is equal; returns whether it is.
    fn fold(&self, call: &NewObservation<'_>, prompt: i64) -> rusqlite::Result<bool> {
        let Some(key) = call.fold_key else { return Ok(false) };
        let last: Option<(i64, Option<i64>, i64, String)> = self.connection.first(
            "SELECT id, fold_key, prompt_number, kind FROM observations WHERE session_id = ?1
                 ORDER BY created_at DESC, id DESC LIMIT 1",
            [self.session.row],
        )?;
        let Some((id, last_key, last_prompt, kind)) = last else { return Ok(false) };
        let new = call.observation.kind;
        // A success after the fix is a repeat of the fix.
        let is_alike = kind == new.as_str() || (new == Kind::Command && kind == Kind::Fix.as_str());
        if last_key != Some(key) || last_prompt != prompt || !is_alike {
            return Ok(false);
        }
        self.connection.run("UPDATE observations SET repeats = repeats + 1 WHERE id = ?1", [id])?;
        let sql = "INSERT INTO known_ids SELECT 'a call', ?1, tool_use_id FROM observations WHERE id = ?2";
        self.connection.run(sql, (call.tool_use_id, id))?;
        Ok(true)
    }

    fn insert(&self, call: &NewObservation<'_>, observation: &Observation, prompt: i64) -> rusqlite::Result<()> {
        let id = self.connection.add(
            "INSERT INTO observations (session_id, project_id, prompt_number, tool_use_id, kind, tool_name, title,
                                           narrative, facts, files_read, files_modified, command_key, fold_key, made_by,
                                           created_at)
                 VALUES (:session, :project, :prompt, :call, :kind, :tool, :title, :narrative, :facts, :read, :modified,
                         :command, :fold, :maker, :at)",
            named_params! {
                ":session": self.session.row,
                ":project": self.session.project,
                ":prompt": prompt,
                ":call": call.tool_use_id,
                ":kind": observation.kind.as_str(),
                ":tool": observation.tool,
                ":title": observation.title,
                ":narrative": observation.narrative,
                ":facts": list(&observation.facts),
                ":read": list(&observation.files_read),
                ":modified": list(&observation.files_modified),
                ":command": call.command_key,
                ":fold": call.fold_key,
                ":maker": call.made_by.as_str(),
                ":at": Time(call.at),
            },
        )?;
        self.terms.borrow_mut().take_record(self.connection, What::Observation, id)
    }

    /// Stores the raw input and output, unless the transcript has brought them already.
    fn insert_raw_text(&self, call: &NewObservation<'_>) -> rusqlite::Result<()> {
        let [input, output] = [call.input, call.response].map(|text| (!text.is_empty()).then_some(text));
        if input.is_none() && output.is_none() {
            return Ok(());
        }
        self.connection.run(
            "INSERT INTO details (session_id, turn, source_id, kind, tool_name, input_text, output_text, is_error,
                                  created_at, subagent)
             VALUES (:session, :turn, :source, 'tool', :tool, :input, :output, :is_error, :at, :subagent)
             ON CONFLICT DO UPDATE SET input_text = coalesce(input_text, excluded.input_text),
                                       output_text = coalesce(output_text, excluded.output_text)",
            named_params! {
                ":session": self.session.row,
                ":turn": self.turn,
                ":source": call.tool_use_id,
                ":tool": call.observation.tool,
                ":input": input,
                ":output": output,
                ":is_error": call.is_error,
                ":at": Time(call.at),
                ":subagent": call.in_subagent,
            },
        )?;
        Ok(())
    }
}

/// Says which prompt a call of a session was made for, now that a source knows it.
pub(super) fn set_prompt(
    connection: &Connection,
    session: SessionRow,
    call: &str,
    prompt: i64,
) -> rusqlite::Result<()> {
    let sql = "UPDATE observations SET prompt_number = ?3
               WHERE tool_use_id = ?2 AND session_id = ?1 AND prompt_number <> ?3";
    connection.run(sql, (session, call, prompt)).map(drop)
}

fn knows(connection: &Connection, tool_use_id: &str) -> rusqlite::Result<bool> {
    connection.has(
        "SELECT 1 FROM observations WHERE tool_use_id = ?1 UNION ALL
             SELECT 1 FROM known_ids WHERE scope = 'a call' AND id = ?1",
        [tool_use_id],
    )
}

/// Writes texts as a JSON array.
pub(crate) fn list(texts: &[String]) -> String {
    serde_json::Value::from(texts).to_string()
}

/// A note, to be stored.
///
/// It belongs to a project, and to a session only if it was made in one: no session is invented for it, because an invented
/// one would be offered for a handoff like any other.
#[derive(Debug, Clone)]
pub struct NewNote<'a> {
    /// The session in which it was made, if any; the note then belongs to the session's project.
    pub session: Option<&'a str>,
    pub project_key: &'a str,
    pub project: &'a str,
    pub title: &'a str,
    pub text: &'a str,
    pub at: Millis,
}

impl Store {
    /// Stores a note; returns its number among the observations.
    pub fn save_note(&self, note: &NewNote<'_>) -> Result<i64, StoreError> {
        self.write("save the note", |tx| save_note(tx, note))
    }
}

pub(super) fn save_note(connection: &Connection, note: &NewNote<'_>) -> rusqlite::Result<i64> {
    let session = match note.session {
        Some(session) => MemorySession::find(connection, session)?,
        None => None,
    };
    let (session, project, prompt) = match session {
        Some(session) => (Some(session.row), session.project, session.prompts),
        None => (None, add_project(connection, note.project_key, note.project)?, 0),
    };
    let id = connection.one(
        "INSERT INTO observations (session_id, project_id, prompt_number, kind, tool_name, title, narrative, facts,
                                   files_read, files_modified, made_by, created_at)
         VALUES (?1, ?2, ?3, ?4, '', ?5, ?6, '[]', '[]', '[]', ?7, ?8) RETURNING id",
        (session, project, prompt, Kind::Note.as_str(), note.title, note.text, MadeBy::Person.as_str(), Time(note.at)),
    )?;
    index::add(connection, What::Observation, id)?;
    Ok(id)
}
