//! Sessions from before there was a memory, taken from their transcripts.

use longhaul_core::Millis;
use longhaul_memory::{MadeBy, Summary};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::prompts::remember;
use super::session_row::Place;
use super::summaries::write;
use super::take_in::{Desk, NewObservation, Taken};
use crate::recall::backlog::keeps_words;
use crate::recall::replies;
use crate::{SETTINGS, Store, StoreError, cannot};

/// How far apart the hook's clock and the transcript's may be for one and the same prompt.
pub(super) const SAME_PROMPT_MS: i64 = 120_000;

/// How many statements are kept ready: all that an import needs.
const STATEMENTS: usize = 64;

/// How many statements rusqlite keeps ready by itself.
const FEW_STATEMENTS: usize = 16;

/// What the triggers would do, for everything behind a row at once.
const INDEXES: [(&str, &str); 4] = [
    (
        "user_prompts",
        "INSERT INTO prompt_words (rowid, prompt, scope)
         SELECT id, prompt, scope FROM user_prompts WHERE id > ?1 ORDER BY id",
    ),
    (
        "user_prompts",
        "INSERT INTO prompt_trigrams (rowid, prompt, mark)
         SELECT id, prompt, mark FROM user_prompts WHERE id > ?1 ORDER BY id",
    ),
    (
        "observations",
        "INSERT INTO observation_words (rowid, title, narrative, facts, files_read, files_modified, scope)
         SELECT id, title, narrative, facts, files_read, files_modified, scope FROM observations
         WHERE id > ?1 ORDER BY id",
    ),
    (
        "observations",
        "INSERT INTO observation_trigrams (rowid, title, files_read, files_modified, mark)
         SELECT id, title, files_read, files_modified, mark FROM observations WHERE id > ?1 ORDER BY id",
    ),
];

/// Does for summaries behind `last` what the triggers would do.
pub(super) fn index_summaries(connection: &Connection, last: i64) -> rusqlite::Result<()> {
    if keeps_words(connection)? {
        connection.prepare_cached(SUMMARIES)?.execute([last])?;
    }
    Ok(())
}

const SUMMARIES: &str =
    "INSERT INTO summary_words (rowid, request, investigated, learned, completed, next_steps, scope)
     SELECT id, request, investigated, learned, completed, next_steps, scope FROM session_summaries
     WHERE id > ?1 ORDER BY id";

/// A turn of a transcript, to be remembered. Nothing private is in it any more, and nothing too long.
#[derive(Debug)]
pub struct PastTurn<'a> {
    /// What was asked; `None` where an earlier part of the turn has brought it, or nobody asked.
    pub prompt: Option<PastPrompt<'a>>,
    /// What was done, in order; the prompts' numbers are filled in.
    pub calls: Vec<NewObservation<'a>>,
}

/// A prompt of a transcript.
#[derive(Debug, Clone, Copy)]
pub struct PastPrompt<'a> {
    /// Its id, by which it is stored once.
    pub id: &'a str,
    /// What was asked.
    pub text: &'a str,
    /// When.
    pub at: Millis,
}

/// What became of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Past {
    /// Prompts that are new.
    pub prompts: usize,
    /// What became of the calls.
    pub calls: Taken,
    /// The number of the last prompt.
    pub prompt_number: i64,
}

impl Store {
    /// Makes the database ready for one who writes much at a time, for as long as the returned value lives.
    pub fn bulk(&mut self) -> Result<Bulk<'_>, StoreError> {
        let failed = cannot("prepare for much text");
        // Dropped, and so undone, also where a later step fails.
        let bulk = Bulk { store: self };
        let connection = &bulk.store.connection;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // The WAL is copied back less often.
        let settings = "PRAGMA wal_autocheckpoint = 16000; PRAGMA cache_size = -65536;";
        connection.execute_batch(settings).map_err(&failed)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).map_err(failed)?;
        Ok(bulk)
    }
}

/// A database without triggers: whoever writes through it keeps the indexes.
///
/// A trigger makes a full-text index write its pages with every row, which takes longer than everything else.
#[derive(Debug)]
pub struct Bulk<'a> {
    store: &'a mut Store,
}

impl Drop for Bulk<'_> {
    /// Leaves the connection as [`Store::open`] made it, and no WAL behind.
    fn drop(&mut self) {
        let connection = &self.store.connection;
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true);
        connection.set_prepared_statement_cache_capacity(FEW_STATEMENTS);
        let _ = connection.execute_batch(SETTINGS);
        // Where somebody reads at this moment, a later commit copies it back, and `journal_size_limit` shortens it.
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}

impl Bulk<'_> {
    /// Returns the database for what has no index: sessions, turns, and everything that is only read.
    pub fn plain(&mut self) -> &mut Store {
        self.store
    }

    /// Stores turns in the order of the transcript, all of them or none; `prompt_number` is that of the prompt before.
    ///
    /// Returns `None`, and stores nothing, where there is no such session. What a hook or an earlier reading has brought
    /// stays as it is, so that the same turns again change nothing.
    pub fn take_in_past(
        &mut self,
        session: &str,
        turns: Vec<PastTurn<'_>>,
        prompt_number: i64,
    ) -> Result<Option<Past>, StoreError> {
        let write = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let last = Last::of(&transaction)?;
            let past = take_in(&transaction, session, turns, prompt_number)?;
            last.index_what_follows(&transaction)?;
            transaction.commit()?;
            Ok(past)
        };
        write(&mut self.store.connection).map_err(cannot("take the past session in"))
    }

    /// Adds the replies of a session to the prompts that they answer, where those were stored after them.
    pub fn link_replies(&mut self, session: &str) -> Result<(), StoreError> {
        let link = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            replies::link_session(&transaction, session)?;
            transaction.commit()
        };
        link(&mut self.store.connection).map_err(cannot("add the replies to the index"))
    }

    /// Writes what a session came to, as [`Store::write_summary`] does by rule.
    pub fn write_past_summary(
        &mut self,
        session: &str,
        prompt_number: i64,
        summary: &Summary,
        at: Millis,
    ) -> Result<bool, StoreError> {
        let failed = cannot("write the summary");
        let connection = &mut self.store.connection;
        let sql = "SELECT 1 FROM session_summaries t JOIN sessions s ON s.id = t.session_id
                   WHERE s.session_id = ?1 AND t.prompt_number = ?2";
        let known = connection.prepare_cached(sql).and_then(|mut sql| sql.exists((session, prompt_number)));
        if known.map_err(&failed)? {
            // Rarely, and the triggers know how to change what an index has.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true).map_err(&failed)?;
            let written = self.store.write_summary(session, prompt_number, summary, MadeBy::Rule, at);
            let off = self.store.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false);
            return off.map_err(failed).and(written);
        }
        write_new_summary(connection, session, prompt_number, summary, at).map_err(failed)
    }
}

fn write_new_summary(
    connection: &mut Connection,
    session: &str,
    prompt_number: i64,
    summary: &Summary,
    at: Millis,
) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let sql = "SELECT coalesce(max(id), 0) FROM session_summaries";
    let last: i64 = transaction.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    let written = write(&transaction, session, prompt_number, summary, MadeBy::Rule, at.0 as i64)?;
    index_summaries(&transaction, last)?;
    transaction.commit()?;
    Ok(written)
}

/// The last rows that the indexes know. Nobody else can add any: the transaction holds the lock.
pub(super) struct Last {
    prompt: i64,
    observation: i64,
}

impl Last {
    pub(super) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let last = |table: &str| {
            let sql = format!("SELECT coalesce(max(id), 0) FROM {table}");
            connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))
        };
        Ok(Self { prompt: last("user_prompts")?, observation: last("observations")? })
    }

    pub(super) fn index_what_follows(&self, connection: &Connection) -> rusqlite::Result<()> {
        let keeps_words = keeps_words(connection)?;
        for (table, sql) in INDEXES.into_iter().filter(|(_, sql)| keeps_words || !sql.contains("_words")) {
            let last = if table == "observations" { self.observation } else { self.prompt };
            connection.prepare_cached(sql)?.execute([last])?;
        }
        connection
            .prepare_cached(
                "UPDATE projects SET observations = observations + new.rows
                 FROM (SELECT project_id, count(*) AS rows FROM observations WHERE id > ?1 GROUP BY 1) AS new
                 WHERE projects.id = new.project_id",
            )?
            .execute([self.observation])
            .map(drop)
    }
}

fn take_in(
    connection: &Connection,
    session: &str,
    turns: Vec<PastTurn<'_>>,
    prompt_number: i64,
) -> rusqlite::Result<Option<Past>> {
    let Some(place) = Place::find(connection, session)? else { return Ok(None) };
    let row = place.session;
    let desk = Desk::open(connection, session, place)?;
    let mut past = Past { prompt_number, ..Past::default() };
    for turn in turns {
        if let Some(prompt) = turn.prompt {
            let is_known = adopt(connection, row, prompt)?;
            if let Some(number) = remember(connection, session, Some(prompt.id), prompt.text, prompt.at.0 as i64)? {
                past.prompts += usize::from(!is_known);
                past.prompt_number = number;
            }
        }
        for mut call in turn.calls {
            call.prompt_number = Some(past.prompt_number);
            desk.count(&call, &mut past.calls)?;
        }
    }
    Ok(Some(past))
}

/// Finds a prompt by its id.
const KNOWN: &str = "SELECT 1 FROM user_prompts WHERE session_id = ?1 AND prompt_id = ?2";

/// Finds a prompt that a hook has stored without an id.
const WITHOUT_ID: &str =
    "SELECT id FROM user_prompts WHERE session_id = ?1 AND prompt_id IS NULL AND trim(prompt) = trim(?2)
     AND created_at BETWEEN ?3 - ?4 + 1 AND ?3 + ?4 - 1 ORDER BY abs(created_at - ?3) LIMIT 1";

/// Returns whether a prompt is there already; one that a hook has stored without an id gets it.
fn adopt(connection: &Connection, session: i64, prompt: PastPrompt<'_>) -> rusqlite::Result<bool> {
    if connection.prepare_cached(KNOWN)?.exists((session, prompt.id))? {
        return Ok(true);
    }
    let told: Option<i64> = connection
        .prepare_cached(WITHOUT_ID)?
        .query_row((session, prompt.text, prompt.at.0 as i64, SAME_PROMPT_MS), |row| row.get(0))
        .optional()?;
    if let Some(id) = told {
        connection.execute("UPDATE user_prompts SET prompt_id = ?2 WHERE id = ?1", (id, prompt.id))?;
    }
    Ok(told.is_some())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use longhaul_core::Millis;
    use rusqlite::StatementStatus;

    use super::super::prompts::{BY_ID, TOLD};
    use super::{KNOWN, PastPrompt, PastTurn, WITHOUT_ID};
    use crate::{NewSession, Store};

    /// Imports a session of so many prompts; returns the steps that SQLite took to look for them.
    fn steps(prompts: usize) -> i64 {
        let folder = tempfile::TempDir::new().unwrap();
        let mut store = Store::open(&folder.path().join("l.db"), Duration::from_secs(5)).unwrap();
        let new = NewSession {
            session: "s",
            project: "p",
            project_key: "/p",
            project_path: "/p",
            client_pid: 0,
            transcript: None,
            at: Millis(1),
        };
        store.register_session(&new).unwrap();
        let ids: Vec<String> = (0..prompts).map(|number| format!("prompt-{number}")).collect();
        let turns = || -> Vec<PastTurn<'_>> {
            let prompt = |(id, at): (&String, u64)| PastPrompt {
                id: id.as_str().to_owned().leak(),
                text: "go on",
                at: Millis(at),
            };
            ids.iter().zip(1..).map(|one| PastTurn { prompt: Some(prompt(one)), calls: Vec::new() }).collect()
        };
        let mut bulk = store.bulk().unwrap();
        // The second time each is known already.
        for _ in 0..2 {
            bulk.take_in_past("s", turns(), 0).unwrap().unwrap();
        }
        let connection = &bulk.store.connection;
        let taken = |sql: &str| i64::from(connection.prepare_cached(sql).unwrap().get_status(StatementStatus::VmStep));
        [KNOWN, WITHOUT_ID, BY_ID, TOLD].into_iter().map(taken).sum()
    }

    #[test]
    fn looking_for_a_prompt_does_not_read_the_whole_session() {
        let (few, many) = (steps(200), steps(1_600));
        assert!(few > 200 * 4 && many < few * 10, "eight times the prompts took {many} steps instead of {few}");
    }
}
