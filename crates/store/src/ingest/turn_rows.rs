//! The row of a turn, and its details.

use longhaul_core::{Config, Millis, private_tags};
use longhaul_handoff::{ToolUse, TurnWork, skeleton};
use longhaul_transcript::{COMPACTED, Detail, DetailKind, Turn};
use rusqlite::{Connection, OptionalExtension, named_params};

use super::{BOOKMARK, Owned, turn_role};
use crate::Sanitizer;
use crate::model::lines;
use crate::recall::replies;
use crate::row_ids::Time;
use crate::same_turn::{self, Told};

/// The next number of a turn in the session `?1`.
pub(crate) const NEXT_NUMBER: &str =
    "(SELECT 1 + coalesce((SELECT number FROM turns WHERE session_id = ?1 ORDER BY number DESC LIMIT 1), 0))";

/// Stores a turn, or what a further read of the transcript adds to it.
pub(super) fn store_turn(
    connection: &Connection,
    session: Owned,
    turn: &Turn,
    config: &Config,
    now: Millis,
) -> rusqlite::Result<()> {
    let sanitizer = Sanitizer::new(config);
    let at = turn.at.unwrap_or(now);
    let asked = turn.prompt.as_ref().map(|prompt| sanitizer.capped(&prompt.text));
    let role = turn_role(turn, config);
    let Some(id) = row_of(connection, session, turn, role, asked.as_deref(), at)? else { return Ok(()) };
    let line_before = lines::before_change(connection, id)?;
    let mut reply = ReplyText::read(connection, id)?;
    let said_before = reply.whole();
    let is_hidden: bool =
        connection.prepare_cached("SELECT hidden FROM turns WHERE id = ?1")?.query_row([id], |row| row.get(0))?;
    let mut said = turn.reply();
    if is_hidden && !turn.begins {
        // An earlier read ended inside a private passage, which goes on here.
        said = sanitizer.reopened(&said);
    }
    if turn.begins {
        // The file may be another one than before, with another reply in it.
        reply.kept.clear();
    }
    let added = sanitizer.reply(&said);
    let mut replied_at = None;
    if !added.is_empty() {
        let first = turn.replies.first().and_then(|said| said.at).filter(|_| turn.begins);
        replied_at = Some(Time(first.unwrap_or(at)));
        reply.add(&added);
    }
    let detail_bytes = put_details(connection, session, id, turn, sanitizer, at)?;
    let bytes = added.len() + asked.as_ref().map_or(0, String::len) + detail_bytes;
    connection
        .prepare_cached(
            "UPDATE turns SET prompt = iif(prompt_number IS NULL, coalesce(nullif(:asked, ''), prompt), prompt), reply = nullif(:reply, ''),
                              provisional = :provisional,
                              replied_at = iif(:begins, :replied_at, coalesce(replied_at, :replied_at)),
                              interrupted = max(interrupted, :interrupted), failure = coalesce(:failure, failure),
                              chars = iif(:begins, :bytes, chars + :bytes), hidden = :hidden
             WHERE id = :id",
        )?
        .execute(named_params! {
            ":id": id,
            ":asked": asked,
            ":reply": reply.whole(),
            ":provisional": reply.provisional.len() as i64,
            ":begins": turn.begins,
            ":replied_at": replied_at,
            ":interrupted": turn.interrupted,
            ":failure": turn.failure.as_ref().map(|failure| sanitizer.capped(&failure.text)),
            ":bytes": bytes as i64,
            ":hidden": private_tags::leaves_open(&said),
        })?;
    replies::reindex(connection, id, &said_before)?;
    lines::after_change(connection, id, line_before)?;
    put_line(connection, id, &reply.kept)
}

/// Returns a turn's row, adding it if the turn begins; `None` for the rest of a turn that is not stored.
fn row_of(
    connection: &Connection,
    session: Owned,
    turn: &Turn,
    role: &str,
    asked: Option<&str>,
    at: Millis,
) -> rusqlite::Result<Option<i64>> {
    let known: Option<i64> = connection
        .prepare_cached("SELECT id FROM turns WHERE session_id = ?1 AND turn_id = ?2")?
        .query_row((session.row, &turn.id), |row| row.get(0))
        .optional()?;
    if known.is_some() || !turn.begins {
        return Ok(known);
    }
    let told = match asked {
        Some(prompt) => {
            let ids = [turn.prompt_id.as_deref(), Some(turn.id.as_str())];
            same_turn::without_transcript(connection, session.row, &Told { ids, prompt, at: at.0 as i64 })?
        }
        None => None,
    };
    if let Some(told) = told {
        let sql =
            format!("UPDATE turns SET turn_id = ?3, role = ?4, began_at = ?5, number = {NEXT_NUMBER} WHERE id = ?2");
        connection.prepare_cached(&sql)?.execute((session.row, told, &turn.id, role, Time(at)))?;
        return Ok(Some(told));
    }
    let sql = format!(
        "INSERT INTO turns (session_id, owner_id, number, turn_id, role, began_at, created_at, prompt_id)
         VALUES (?1, ?2, {NEXT_NUMBER}, ?3, ?4, ?5, ?5, ?6)"
    );
    let new = (session.row, session.owner, &turn.id, role, Time(at), &turn.prompt_id);
    connection.prepare_cached(&sql)?.insert(new).map(Some)
}

/// The reply of a turn: what the transcript has, and after that what a hook has told and the transcript does not have yet.
pub(crate) struct ReplyText {
    pub(crate) kept: String,
    pub(crate) provisional: String,
}

impl ReplyText {
    pub(crate) fn read(connection: &Connection, turn: i64) -> rusqlite::Result<Self> {
        let sql = "SELECT reply, provisional FROM turns WHERE id = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok(Self::new(row.get(0)?, row.get(1)?));
        Ok(connection.prepare_cached(sql)?.query_row([turn], read).optional()?.unwrap_or_else(|| Self::new(None, 0)))
    }

    /// Divides a stored reply; `provisional` is how many bytes at its end the transcript does not have.
    pub(crate) fn new(reply: Option<String>, provisional: i64) -> Self {
        let mut kept = reply.unwrap_or_default();
        let at = kept.len().saturating_sub(usize::try_from(provisional).unwrap_or_default());
        let at = kept.floor_char_boundary(at);
        let provisional = kept.split_off(at);
        if !provisional.is_empty() && kept.ends_with("\n\n") {
            kept.truncate(kept.len() - 2);
        }
        Self { kept, provisional }
    }

    /// Adds what the transcript says. It has what the hook has told, or that was of another turn.
    fn add(&mut self, said: &str) {
        self.kept = joined(&self.kept, said);
        self.provisional.clear();
    }

    pub(crate) fn whole(&self) -> String {
        joined(&self.kept, &self.provisional)
    }

    pub(crate) fn write(&self, connection: &Connection, turn: i64) -> rusqlite::Result<()> {
        let sql = "UPDATE turns SET reply = nullif(?2, ''), provisional = ?3 WHERE id = ?1";
        connection.prepare_cached(sql)?.execute((turn, self.whole(), self.provisional.len() as i64)).map(drop)
    }
}

fn joined(first: &str, second: &str) -> String {
    let between = if first.is_empty() || second.is_empty() { "" } else { "\n\n" };
    format!("{first}{between}{second}")
}

/// Stores a turn's details; returns the bytes of their whole texts.
fn put_details(
    connection: &Connection,
    session: Owned,
    turn_row: i64,
    turn: &Turn,
    sanitizer: Sanitizer,
    at: Millis,
) -> rusqlite::Result<usize> {
    let mut bytes = 0;
    for detail in turn.details() {
        bytes += detail.text.len();
        // The summary at a compaction repeats everything before it, private turns included, without their tags.
        if detail.name != COMPACTED {
            let text = sanitizer.detail(detail.kind, detail.name, detail.text);
            put_detail(connection, session, turn_row, &detail, &text, at)?;
        }
    }
    Ok(bytes)
}

fn put_detail(
    connection: &Connection,
    session: Owned,
    turn: i64,
    detail: &Detail<'_>,
    text: &str,
    at: Millis,
) -> rusqlite::Result<()> {
    let (input, output) = match detail.kind {
        DetailKind::ToolInput => (Some(text), None),
        DetailKind::ToolOutput | DetailKind::System | DetailKind::Image | DetailKind::Thinking => (None, Some(text)),
    };
    connection
        .prepare_cached(
            "INSERT INTO details (session_id, turn, tool_name, input_text, output_text, kind, is_error, source_id, created_at)
             SELECT :session, :turn,
                    coalesce(nullif(:name, ''), (SELECT tool_name FROM details WHERE session_id = :session
                                                 AND source_id = replace(:source, ':result', ''))),
                    :input, :output, :kind, :is_error, :source, :at
             -- A call that was forgotten does not come back.
             WHERE NOT EXISTS (SELECT 1 FROM known_ids
                               WHERE scope = 'a call' AND id = replace(:source, ':result', '') AND same_as IS NULL)
             -- The memory may have stored it before the turn was known.
             ON CONFLICT DO UPDATE SET turn = excluded.turn, created_at = excluded.created_at,
                                       input_text = excluded.input_text, output_text = excluded.output_text,
                                       is_error = max(is_error, excluded.is_error)",
        )?
        .execute(named_params! {
            ":session": session.row,
            ":turn": turn,
            ":name": detail.name,
            ":input": input,
            ":output": output,
            ":kind": detail.kind.as_str(),
            ":is_error": detail.is_error,
            ":source": detail.source,
            ":at": Time(detail.at.unwrap_or(at)),
        })
        .map(drop)
}

/// Writes the turn in one line, from what is stored of it.
fn put_line(connection: &Connection, turn: i64, answered: &str) -> rusqlite::Result<()> {
    let (interrupted, failure, role, prompt): (bool, Option<String>, String, Option<String>) = connection
        .prepare_cached("SELECT interrupted, failure, role, prompt FROM turns WHERE id = ?1")?
        .query_row([turn], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let asked = prompt.filter(|_| role != BOOKMARK).unwrap_or_default();
    let mut statement = connection.prepare_cached(
        "SELECT coalesce(tool_name, ''), coalesce(input_text, ''), is_error FROM details
         WHERE turn = ?1 AND kind = 'tool_input' ORDER BY rowid",
    )?;
    let calls: Vec<(String, String, bool)> =
        statement.query_map([turn], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect::<Result<_, _>>()?;
    let actions: Vec<ToolUse<'_>> = calls
        .iter()
        .map(|(tool, input, is_error)| {
            let mut action = ToolUse::new(tool, input);
            action.is_error = *is_error;
            action
        })
        .collect();
    let mut work = TurnWork::new(&asked, answered, &actions);
    work.interrupted = interrupted;
    work.failure = failure.as_deref();
    let line = skeleton(&work);
    connection.prepare_cached("UPDATE turns SET line = ?2 WHERE id = ?1")?.execute((turn, line)).map(drop)
}
