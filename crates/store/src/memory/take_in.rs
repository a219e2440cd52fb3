//! Taking observations in: in one transaction what the tool calls were, and how far the hook's notes have been read.

use std::fmt;

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Observation};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, named_params};

use super::What;
use super::prompts::numbered;
use super::session_row::Place;
use crate::ingest::owner;
use crate::recall::index;
use crate::{Store, StoreError, cannot};

/// A tool call, to be remembered. Nothing private is in it any more, and nothing too long.
#[derive(Debug, Clone)]
pub struct NewObservation<'a> {
    /// The call. What has been taken in once is not taken in again.
    pub tool_use_id: &'a str,
    /// The number of the prompt that it was for, where that is known.
    pub prompt_number: Option<i64>,
    /// Else the prompt's id; where that is unknown too, it is the session's last prompt.
    pub prompt_id: Option<&'a str>,
    /// What is remembered of it.
    pub observation: Observation,
    /// Who put that into words.
    pub made_by: MadeBy,
    /// What is remembered instead, where the last call with the same `command_key` was a problem.
    pub after_problem: Option<Observation>,
    /// What makes two commands of a session the same.
    pub command_key: Option<&'a str>,
    /// What makes two calls the same. The same again, with no other in between, is a repeat of the first.
    pub fold_key: Option<i64>,
    /// What went in, raw.
    pub input: &'a str,
    /// What came out, raw.
    pub response: &'a str,
    /// Whether the tool failed.
    pub is_error: bool,
    /// When.
    pub at: Millis,
}

/// How far a spool was read for the calls.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// From where.
    pub from: u64,
    /// To where.
    pub to: u64,
    /// Whether it is still the same spool. Asked while nobody else can store anything.
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
    /// Stored as a record.
    pub stored: usize,
    /// Counted as a repeat of the one before.
    pub folded: usize,
    /// There already, or to be forgotten.
    pub known: usize,
}

impl Store {
    /// Returns whether a call has been taken in, counted as a repeat, or is to be forgotten.
    pub fn knows_call(&self, tool_use_id: &str) -> Result<bool, StoreError> {
        knows(&self.connection, tool_use_id).map_err(cannot("look for the call"))
    }

    /// Returns how far a session's spool has been read.
    pub fn spool_position(&self, session: &str) -> Result<u64, StoreError> {
        let sql = "SELECT spool_offset FROM sessions WHERE session_id = ?1";
        let position: Option<i64> = self
            .connection
            .query_row(sql, [session], |row| row.get(0))
            .optional()
            .map_err(cannot("read the session"))?;
        Ok(position.unwrap_or_default().unsigned_abs())
    }

    /// Notes that a session's spool is about to be gone; returns whether it was read up to `from`, as the caller thinks.
    pub fn reset_spool(&self, session: &str, from: u64) -> Result<bool, StoreError> {
        let sql = "UPDATE sessions SET spool_offset = 0 WHERE session_id = ?1 AND spool_offset = ?2";
        let changed = self.connection.execute(sql, (session, from as i64));
        changed.map(|rows| rows > 0).map_err(cannot("note that the spool is gone"))
    }

    /// Stores tool calls in the order in which they came, and, if given, how far the spool was read for them.
    ///
    /// Returns `None`, and stores nothing, where there is no such session. Calls that are there already change nothing,
    /// so that two that read the same spool at the same moment do no harm.
    pub fn take_in(
        &mut self,
        session: &str,
        calls: &[NewObservation<'_>],
        read: Option<Reading<'_>>,
    ) -> Result<Option<Taken>, StoreError> {
        let failed = cannot("take the tool calls in");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let Some(place) = Place::find(&transaction, session).map_err(&failed)? else { return Ok(None) };
        let mut taken = Taken::default();
        let desk = Desk::open(&transaction, session, place).map_err(&failed)?;
        for call in calls {
            desk.count(call, &mut taken).map_err(&failed)?;
        }
        if let Some(Reading { from, to, .. }) = read.filter(|read| (read.is_current)()) {
            // Somebody else may have read the same, or more, or begun anew.
            let sql = "UPDATE sessions SET spool_offset = ?3 WHERE session_id = ?1 AND spool_offset = ?2";
            transaction.execute(sql, (session, from as i64, to as i64)).map_err(&failed)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(Some(taken))
    }
}

enum Outcome {
    Stored,
    Folded,
    Known,
}

/// What all calls of a session share.
pub(super) struct Desk<'a> {
    connection: &'a Connection,
    session: &'a str,
    owner: String,
    turn: i64,
    place: Place,
}

impl<'a> Desk<'a> {
    pub(super) fn open(connection: &'a Connection, session: &'a str, place: Place) -> rusqlite::Result<Self> {
        let sql = "SELECT turn_number FROM turns WHERE origin_session_id = ?1 ORDER BY turn_number DESC LIMIT 1";
        let turn: Option<i64> = connection.query_row(sql, [session], |row| row.get(0)).optional()?;
        // The transcript knows the turn better, and corrects it when it is read.
        Ok(Self { connection, session, owner: owner(connection, session)?, turn: turn.unwrap_or_default(), place })
    }

    /// Returns the session's row.
    pub(super) fn session_row(&self) -> i64 {
        self.place.session
    }

    /// Takes a call in, and counts what became of it.
    pub(super) fn count(&self, call: &NewObservation<'_>, taken: &mut Taken) -> rusqlite::Result<()> {
        let count = match self.take(call)? {
            Outcome::Stored => &mut taken.stored,
            Outcome::Folded => &mut taken.folded,
            Outcome::Known => &mut taken.known,
        };
        *count += 1;
        Ok(())
    }

    fn take(&self, call: &NewObservation<'_>) -> rusqlite::Result<Outcome> {
        if call.at.0 as i64 <= self.place.forgotten || knows(self.connection, call.tool_use_id)? {
            return Ok(Outcome::Known);
        }
        let prompt = match call.prompt_number {
            Some(number) => number,
            None => numbered(self.connection, self.place.session, call.prompt_id)?.unwrap_or(self.place.prompts),
        };
        let fixes = call.after_problem.as_ref().filter(|_| call.command_key.is_some());
        let fix = match fixes {
            Some(fix) if self.latest_of_command(call.command_key)? == Some(Kind::Problem) => Some(fix),
            Some(_) | None => None,
        };
        if fix.is_none() && self.fold(call, prompt)? {
            return Ok(Outcome::Folded);
        }
        self.store(call, fix.unwrap_or(&call.observation), prompt)?;
        self.put_raw(call)?;
        // A model that is done with the prompt has not seen this one.
        self.connection
            .prepare_cached(
                "UPDATE user_prompts SET model_at = NULL
                 WHERE session_id = ?1 AND prompt_number = ?2 AND model_at IS NOT NULL",
            )?
            .execute((self.place.session, prompt))?;
        Ok(Outcome::Stored)
    }

    fn latest_of_command(&self, key: Option<&str>) -> rusqlite::Result<Option<Kind>> {
        let kind: Option<String> = self
            .connection
            .prepare_cached(
                "SELECT kind FROM observations WHERE session_id = ?1 AND command_key = ?2 ORDER BY id DESC LIMIT 1",
            )?
            .query_row((self.place.session, key), |row| row.get(0))
            .optional()?;
        Ok(kind.and_then(|kind| Kind::from_name(&kind)))
    }

    /// Counts a call as a repeat where the one before is the same; returns whether it is.
    fn fold(&self, call: &NewObservation<'_>, prompt: i64) -> rusqlite::Result<bool> {
        let Some(key) = call.fold_key else { return Ok(false) };
        let last: Option<(i64, Option<i64>, i64, String)> = self
            .connection
            .prepare_cached(
                "SELECT id, fold_key, prompt_number, kind FROM observations WHERE session_id = ?1
                 ORDER BY created_at DESC, id DESC LIMIT 1",
            )?
            .query_row([self.place.session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .optional()?;
        let Some((id, last_key, last_prompt, kind)) = last else { return Ok(false) };
        let new = call.observation.kind;
        // A success after the one that was the fix is one more of those.
        let is_alike = kind == new.as_str() || (new == Kind::Command && kind == Kind::Fix.as_str());
        if last_key != Some(key) || last_prompt != prompt || !is_alike {
            return Ok(false);
        }
        self.connection.prepare_cached("UPDATE observations SET repeats = repeats + 1 WHERE id = ?1")?.execute([id])?;
        self.connection
            .prepare_cached("INSERT INTO folded_calls (tool_use_id, observation_id) VALUES (?1, ?2)")?
            .execute((call.tool_use_id, id))?;
        Ok(true)
    }

    fn store(&self, call: &NewObservation<'_>, observation: &Observation, prompt: i64) -> rusqlite::Result<()> {
        let id = self
            .connection
            .prepare_cached(
                "INSERT INTO observations (session_id, project_id, prompt_number, tool_use_id, kind, tool_name, title,
                                           narrative, facts, files_read, files_modified, command_key, fold_key, made_by,
                                           created_at)
                 VALUES (:session, :project, :prompt, :call, :kind, :tool, :title, :narrative, :facts, :read, :modified,
                         :command, :fold, :maker, :at)",
            )?
            .insert(named_params! {
                ":session": self.place.session,
                ":project": self.place.project,
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
                ":at": call.at.0 as i64,
            })?;
        index::add(self.connection, What::Observation, id)
    }

    /// Stores what went in and came out, unless the transcript has brought it already.
    fn put_raw(&self, call: &NewObservation<'_>) -> rusqlite::Result<()> {
        let result = format!("{}:result", call.tool_use_id);
        let pieces = [
            ("tool_input", call.tool_use_id, Some(call.input), None, call.input),
            ("tool_output", &result, None, Some(call.response), call.response),
        ];
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO details (session_id, origin_session_id, turn_number, tool_name, input_text, output_text,
                                  token_count, kind, is_error, source_id, created_at)
             VALUES (:owner, :origin, :turn, :tool, :input, :output, (length(coalesce(:input, :output)) + 3) / 4, :kind, :is_error, :source, :at)
             ON CONFLICT DO NOTHING",
        )?;
        for (kind, source, input, output, text) in pieces {
            if text.is_empty() {
                continue;
            }
            statement.execute(named_params! {
                ":owner": self.owner,
                ":origin": self.session,
                ":turn": self.turn,
                ":tool": call.observation.tool,
                ":input": input,
                ":output": output,
                ":kind": kind,
                ":is_error": call.is_error,
                ":source": source,
                ":at": call.at.0 as i64,
            })?;
        }
        Ok(())
    }
}

fn knows(connection: &Connection, tool_use_id: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM observations WHERE tool_use_id = ?1 UNION ALL
             SELECT 1 FROM folded_calls WHERE tool_use_id = ?1",
        )?
        .exists([tool_use_id])
}

/// Writes texts as a JSON array.
pub(super) fn list(texts: &[String]) -> String {
    serde_json::Value::from(texts).to_string()
}
