//! The rows of a turn: its number, what was said, the details, and its line.

use longhaul_core::{Config, Millis, private_tags};
use longhaul_handoff::{ToolUse, TurnWork, skeleton};
use longhaul_transcript::{COMPACTED, Detail, DetailKind, Turn};
use rusqlite::{Connection, OptionalExtension, named_params};

use super::{BOOKMARK, turn_role};
use crate::model::lines;
use crate::recall::replies;
use crate::row_ids::Time;
use crate::{Sanitizer, pending_replies};

/// Stores a turn, or what a further read of the transcript adds to it.
pub(super) fn store_turn(
    connection: &Connection,
    owner: &str,
    origin: &str,
    turn: &Turn,
    config: &Config,
    now: Millis,
) -> rusqlite::Result<()> {
    let sanitizer = Sanitizer::new(config);
    let at = turn.at.unwrap_or(now);
    let asked = turn.prompt.as_ref().map(|prompt| sanitizer.capped(&prompt.text));
    let Some(number) = number_turn(connection, owner, origin, turn, turn_role(turn, config), asked.as_deref(), at)?
    else {
        return Ok(());
    };
    let rows = TurnRows { connection, owner, origin, number };
    let said_before = replies::text(connection, origin, number)?;
    let line_before = lines::before_change(connection, origin, number)?;
    if let Some(asked) = &asked {
        rows.put_body("user", asked, at)?;
    }
    let reply = rows.put_reply(turn, sanitizer, at)?;
    let detail_bytes = rows.put_details(turn, sanitizer, at)?;
    let bytes = reply.bytes + asked.as_ref().map_or(0, String::len) + detail_bytes;
    connection
        .prepare_cached(
            "UPDATE turns SET interrupted = max(interrupted, ?3), failure = coalesce(?4, failure),
                              chars = iif(?5, ?6, chars + ?6), pending_reply = iif(?7, NULL, pending_reply), hidden = ?8
             WHERE origin_session_id = ?1 AND turn_number = ?2",
        )?
        .execute((
            origin,
            number,
            turn.interrupted,
            turn.failure.as_ref().map(|failure| sanitizer.capped(&failure.text)),
            turn.begins,
            bytes as i64,
            reply.bytes > 0,
            reply.ends_in_private_text,
        ))?;
    replies::reindex(connection, origin, number, &said_before)?;
    lines::after_change(connection, origin, number, line_before)?;
    rows.put_skeleton(at)
}

/// Returns a turn's number, adding the turn if it begins; `None` for the rest of a turn that is not stored.
fn number_turn(
    connection: &Connection,
    owner: &str,
    origin: &str,
    turn: &Turn,
    role: &str,
    asked: Option<&str>,
    at: Millis,
) -> rusqlite::Result<Option<i64>> {
    let known: Option<i64> = connection
        .prepare_cached("SELECT turn_number FROM turns WHERE origin_session_id = ?1 AND turn_id = ?2")?
        .query_row((origin, &turn.id), |row| row.get(0))
        .optional()?;
    if known.is_some() || !turn.begins {
        return Ok(known);
    }
    if let Some(asked) = asked {
        pending_replies::forget_turn(connection, owner, origin, asked)?;
    }
    connection
        .prepare_cached(
            "INSERT INTO turns (session_id, origin_session_id, turn_number, turn_id, role, created_at)
             VALUES (?1, ?2, 1 + coalesce((SELECT turn_number FROM turns WHERE origin_session_id = ?2
                                           ORDER BY turn_number DESC LIMIT 1), 0), ?3, ?4, ?5)
             RETURNING turn_number",
        )?
        .query_row((owner, origin, &turn.id, role, Time(at)), |row| row.get(0))
        .map(Some)
}

/// What was stored of a reply.
struct StoredReply {
    bytes: usize,
    /// Whether it ends inside a private passage, which a further read may go on with.
    ends_in_private_text: bool,
}

/// The rows of one turn.
struct TurnRows<'a> {
    connection: &'a Connection,
    owner: &'a str,
    origin: &'a str,
    number: i64,
}

impl TurnRows<'_> {
    /// Stores the reply of a turn that begins, or adds to the one that is stored.
    fn put_reply(&self, turn: &Turn, sanitizer: Sanitizer, at: Millis) -> rusqlite::Result<StoredReply> {
        let is_hidden: bool = self
            .connection
            .prepare_cached("SELECT hidden FROM turns WHERE origin_session_id = ?1 AND turn_number = ?2")?
            .query_row((self.origin, self.number), |row| row.get(0))?;
        let mut said = turn.reply();
        if is_hidden && !turn.begins {
            // An earlier read ended inside a private passage, which goes on here.
            said = sanitizer.reopened(&said);
        }
        let reply = sanitizer.reply(&said);
        if turn.begins {
            // The file may be another one than before, with another reply in it.
            self.drop_reply()?;
            let replied_at = turn.replies.first().and_then(|said| said.at).unwrap_or(at);
            self.put_body("assistant", &reply, replied_at)?;
        } else if !reply.is_empty() {
            self.append_reply(&reply, at)?;
        }
        Ok(StoredReply { bytes: reply.len(), ends_in_private_text: private_tags::leaves_open(&said) })
    }

    /// Stores a turn's details; returns the bytes of their whole texts.
    fn put_details(&self, turn: &Turn, sanitizer: Sanitizer, at: Millis) -> rusqlite::Result<usize> {
        let mut bytes = 0;
        for detail in turn.details() {
            bytes += detail.text.len();
            // The summary at a compaction repeats everything before it, private turns included, without their tags.
            if detail.name != COMPACTED {
                self.put_detail(&detail, &sanitizer.detail(detail.kind, detail.name, detail.text), at)?;
            }
        }
        Ok(bytes)
    }

    fn put_body(&self, role: &str, text: &str, at: Millis) -> rusqlite::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.connection
            .prepare_cached(
                "INSERT INTO bodies (session_id, origin_session_id, turn_number, role, text, token_count, created_at)
                 -- Four characters count as a token, as in `core::budget`.
                 VALUES (?1, ?2, ?3, ?4, ?5, (length(?5) + 3) / 4, ?6)
                 ON CONFLICT DO UPDATE SET text = excluded.text, token_count = excluded.token_count",
            )?
            .execute((self.owner, self.origin, self.number, role, text, Time(at)))
            .map(drop)
    }

    fn drop_reply(&self) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "DELETE FROM bodies
                 WHERE session_id = ?1 AND origin_session_id = ?2 AND turn_number = ?3 AND role = 'assistant'",
            )?
            .execute((self.owner, self.origin, self.number))
            .map(drop)
    }

    fn append_reply(&self, text: &str, at: Millis) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "INSERT INTO bodies (session_id, origin_session_id, turn_number, role, text, token_count, created_at)
                 VALUES (?1, ?2, ?3, 'assistant', ?4, (length(?4) + 3) / 4, ?5)
                 ON CONFLICT DO UPDATE SET text = text || char(10) || char(10) || excluded.text,
                                           token_count = (length(text) + 2 + length(excluded.text) + 3) / 4",
            )?
            .execute((self.owner, self.origin, self.number, text, Time(at)))
            .map(drop)
    }

    fn put_detail(&self, detail: &Detail<'_>, text: &str, at: Millis) -> rusqlite::Result<()> {
        let (input, output) = match detail.kind {
            DetailKind::ToolInput => (Some(text), None),
            DetailKind::ToolOutput | DetailKind::System | DetailKind::Image | DetailKind::Thinking => {
                (None, Some(text))
            }
        };
        self.connection
            .prepare_cached("INSERT INTO details (session_id, origin_session_id, turn_number, tool_name, input_text, output_text,
                                      token_count, kind, is_error, source_id, created_at)
                 SELECT :owner, :origin, :number,
                         coalesce(nullif(:name, ''), (SELECT tool_name FROM details WHERE session_id = :owner AND origin_session_id = :origin
                                                      AND source_id = replace(:source, ':result', ''))),
                         :input, :output, (length(coalesce(:input, :output)) + 3) / 4, :kind, :is_error, :source, :at
                 -- A call that was forgotten does not come back.
                 WHERE NOT EXISTS (SELECT 1 FROM folded_calls
                                   WHERE tool_use_id = replace(:source, ':result', '') AND observation_id IS NULL)
                 -- The memory may have stored it before the turn was known.
                 ON CONFLICT DO UPDATE SET turn_number = excluded.turn_number, created_at = excluded.created_at,
                                           input_text = excluded.input_text, output_text = excluded.output_text, token_count = excluded.token_count,
                                           is_error = max(is_error, excluded.is_error)")?.execute(named_params! {
                    ":owner": self.owner,
                    ":origin": self.origin,
                    ":number": self.number,
                    ":name": detail.name,
                    ":input": input,
                    ":output": output,
                    ":kind": detail.kind.as_str(),
                    ":is_error": detail.is_error,
                    ":source": detail.source,
                    ":at": Time(detail.at.unwrap_or(at)),
                },
            )
            .map(drop)
    }

    /// Writes the turn in one line, from what is stored of it.
    fn put_skeleton(&self, at: Millis) -> rusqlite::Result<()> {
        let body = |role: &str| {
            // By all columns of the index: without the first, SQLite would read the whole table.
            let sql = "SELECT text FROM bodies
                       WHERE session_id = ?1 AND origin_session_id = ?2 AND turn_number = ?3 AND role = ?4";
            let key = (self.owner, self.origin, self.number, role);
            let text = self.connection.prepare_cached(sql)?.query_row(key, |row| row.get::<_, String>(0));
            text.optional().map(Option::unwrap_or_default)
        };
        let (interrupted, failure, role): (bool, Option<String>, String) = self
            .connection
            .prepare_cached(
                "SELECT interrupted, failure, role FROM turns WHERE origin_session_id = ?1 AND turn_number = ?2",
            )?
            .query_row((self.origin, self.number), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let asked = if role == BOOKMARK { String::new() } else { body("user")? };
        let answered = body("assistant")?;
        let mut statement = self.connection.prepare_cached(
            "SELECT coalesce(tool_name, ''), coalesce(input_text, ''), is_error FROM details
             WHERE origin_session_id = ?1 AND turn_number = ?2 AND kind = 'tool_input' ORDER BY rowid",
        )?;
        let calls: Vec<(String, String, bool)> = statement
            .query_map((self.origin, self.number), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_, _>>()?;
        let actions: Vec<ToolUse<'_>> = calls
            .iter()
            .map(|(tool, input, is_error)| {
                let mut action = ToolUse::new(tool, input);
                action.is_error = *is_error;
                action
            })
            .collect();
        let mut work = TurnWork::new(&asked, &answered, &actions);
        work.interrupted = interrupted;
        work.failure = failure.as_deref();
        let line = skeleton(&work);
        self.connection
            .prepare_cached(
                "INSERT INTO skeletons (session_id, origin_session_id, turn_number, role, summary, created_at)
                 VALUES (?1, ?2, ?3, 'turn', ?4, ?5)
                 ON CONFLICT DO UPDATE SET summary = excluded.summary",
            )?
            .execute((self.owner, self.origin, self.number, line, Time(at)))
            .map(drop)
    }
}
