//! What an import writes: turns of transcripts from before the memory was switched on.

use longhaul_core::Millis;
use longhaul_memory::{MadeBy, Summary};
use rusqlite::{Connection, OptionalExtension};

use super::Bulk;
use super::prompts::remember;
use super::session_row::session_row;
use super::summaries::write_summary;
use super::tool_calls::{CallWriter, NewObservation, Taken};
use crate::recall::backlog::Room;
use crate::recall::replies;
use crate::row_ids::{SessionRow, Time};
use crate::same_turn::SAME_PROMPT_MS;
use crate::{StoreError, cannot};

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
    /// Its text.
    pub text: &'a str,
    /// When it was sent.
    pub at: Millis,
}

/// What an import of turns has stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Past {
    /// Prompts that are new.
    pub prompts: usize,
    /// What became of the tool calls.
    pub calls: Taken,
    /// The number of the last prompt.
    pub prompt_number: i64,
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
    ) -> Result<Option<Past>, StoreError> {
        self.store.write("import the session", |tx| import_turns(tx, session, turns, prompt_number))
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

fn import_turns(
    connection: &Connection,
    session: &str,
    turns: Vec<PastTurn<'_>>,
    prompt_number: i64,
) -> rusqlite::Result<Option<Past>> {
    let Some(calls) = CallWriter::open(connection, session)? else { return Ok(None) };
    let mut past = Past { prompt_number, ..Past::default() };
    for turn in turns {
        if let Some(prompt) = turn.prompt {
            let is_known = adopt(connection, calls.session_row(), prompt)?;
            if let Some(number) = remember(connection, session, Some(prompt.id), prompt.text, prompt.at)? {
                past.prompts += usize::from(!is_known);
                past.prompt_number = number;
            }
        }
        for mut call in turn.calls {
            call.prompt_number = Some(past.prompt_number);
            calls.store(&call, &mut past.calls)?;
        }
    }
    calls.finish()?;
    Ok(Some(past))
}

/// Finds a prompt by its id.
const KNOWN: &str = "SELECT 1 FROM prompts WHERE session_id = ?1 AND prompt_id = ?2";

/// Finds a prompt that a hook has stored without an id.
const WITHOUT_ID: &str =
    "SELECT id FROM prompts WHERE session_id = ?1 AND prompt_id IS NULL AND trim(prompt) = trim(?2)
     AND created_at BETWEEN ?3 - ?4 + 1 AND ?3 + ?4 - 1 ORDER BY abs(created_at - ?3) LIMIT 1";

/// Returns whether a prompt is stored already; one that a hook has stored without an id gets its id.
fn adopt(connection: &Connection, session: SessionRow, prompt: PastPrompt<'_>) -> rusqlite::Result<bool> {
    if connection.prepare_cached(KNOWN)?.exists((session, prompt.id))? {
        return Ok(true);
    }
    let of_hook: Option<i64> = connection
        .prepare_cached(WITHOUT_ID)?
        .query_row((session, prompt.text, Time(prompt.at), SAME_PROMPT_MS), |row| row.get(0))
        .optional()?;
    if let Some(id) = of_hook {
        connection.execute("UPDATE turns SET prompt_id = ?2 WHERE id = ?1", (id, prompt.id))?;
    }
    Ok(of_hook.is_some())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use longhaul_core::Millis;
    use rusqlite::StatementStatus;

    use super::super::prompts::{BY_ID, BY_TEXT};
    use super::{KNOWN, PastPrompt, PastTurn, WITHOUT_ID};
    use crate::Store;
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
                at: Millis(at),
            };
            ids.iter().zip(1..).map(|one| PastTurn { prompt: Some(prompt(one)), calls: Vec::new() }).collect()
        };
        let bulk = store.bulk().unwrap();
        // The second time each is known already.
        for _ in 0..2 {
            bulk.take_in_past("s", turns(), 0).unwrap().unwrap();
        }
        let connection = &bulk.plain().connection;
        let taken = |sql: &str| i64::from(connection.prepare_cached(sql).unwrap().get_status(StatementStatus::VmStep));
        [KNOWN, WITHOUT_ID, BY_ID, BY_TEXT].into_iter().map(taken).sum()
    }

    #[test]
    fn looking_for_a_prompt_does_not_read_the_whole_session() {
        let (few, many) = (steps(200), steps(1_600));
        assert!(few > 200 * 4 && many < few * 10, "eight times the prompts took {many} steps instead of {few}");
    }
}
