//! Taking a transcript in: in one transaction what a read brought, and how far it got.

mod links;

use longhaul_core::Millis;
use longhaul_handoff::MAX_MERGES;
use longhaul_transcript::{Batch, COMPACTED, Cursor, DetailKind, Origin, Turn, may_rewind};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, named_params};

use self::links::{mark_replaced, store_links};
use crate::model::lines;
use crate::recall::replies;
use crate::{Session, Store, StoreError, cannot, pending_replies};

/// Makes text fit to be stored: what is private is gone, what is too long is cut.
pub trait Clean {
    /// Returns what a person or the model said; empty where nothing of it may be kept.
    fn said(&self, text: &str) -> String;

    /// Returns whether a text ends inside a private passage.
    fn leaves_open(&self, text: &str) -> bool;

    /// Returns a text as the continuation of a private passage.
    fn reopened(&self, text: &str) -> String;

    /// Returns what went into a tool or came out of it.
    fn detail(&self, kind: DetailKind, text: &str) -> String;

    /// Returns a turn in one line.
    fn skeleton(&self, work: &Work) -> String;
}

/// What a turn was, as its line needs it.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// What was asked.
    pub asked: String,
    /// What the model said.
    pub answered: String,
    /// The tool calls, in order: tool, input, whether it failed.
    pub actions: Vec<(String, String, bool)>,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// The failed request that ended it.
    pub failure: Option<String>,
}

impl Store {
    /// Stores what a read brought, and where the next begins; returns whether it did.
    ///
    /// `expected` is how far the transcript had been read when the read began. Where somebody else has read on meanwhile,
    /// nothing is stored: it is there already.
    pub fn ingest(
        &mut self,
        session: &Session,
        expected: &Cursor,
        batch: &Batch,
        clean: &impl Clean,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let failed = cannot("take the transcript in");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let read_so_far: (i64, u32) = transaction
            .query_row("SELECT read_offset, read_mark FROM sessions WHERE session_id = ?1", [&session.session], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .map_err(&failed)?;
        if read_so_far != (expected.offset as i64, expected.mark) {
            return Ok(false);
        }
        take_in(&transaction, session, batch, clean, now).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(true)
    }
}

fn take_in(
    connection: &Connection,
    session: &Session,
    batch: &Batch,
    clean: &impl Clean,
    now: Millis,
) -> rusqlite::Result<()> {
    let id = session.session.as_str();
    let owner = owner(connection, id)?;
    let sql = "SELECT coalesce(forgotten_at, -1) FROM sessions WHERE session_id = ?1";
    let forgotten: i64 = connection.query_row(sql, [id], |row| row.get(0))?;
    // What somebody wanted forgotten does not come back with a part of the file that was not read then.
    let is_forgotten = |turn: &Turn| turn.at.is_some_and(|at| at.0 as i64 <= forgotten);
    let mut before = session.cursor.turn.as_deref();
    for turn in &batch.turns {
        let is_hidden = is_hidden(connection, id, turn, before, clean)?;
        before = Some(&turn.id);
        if is_hidden {
            hide(connection, id, turn)?;
        } else if !is_forgotten(turn) {
            store_turn(connection, &owner, id, turn, clean, now)?;
        }
    }
    let replies: Vec<String> =
        batch.turns.iter().map(|turn| clean.said(&turn.reply())).filter(|reply| !reply.trim().is_empty()).collect();
    pending_replies::forget_replies(connection, id, &replies)?;
    store_links(connection, id, session.cursor.offset, &batch.links)?;
    if may_rewind(session.cursor.tip.as_deref(), &batch.links) {
        mark_replaced(connection, id)?;
    }
    let cursor = &batch.cursor;
    connection.execute(
        "UPDATE sessions SET read_offset = ?2, read_mark = ?3, read_turn = ?4, read_tip = ?5 WHERE session_id = ?1",
        (id, cursor.offset as i64, cursor.mark, &cursor.turn, &cursor.tip),
    )?;
    Ok(())
}

/// Returns who has a session's turns: itself, or whoever has inherited it.
pub(crate) fn owner(connection: &Connection, session: &str) -> rusqlite::Result<String> {
    let mut owner = session.to_owned();
    // A chain that is longer is broken, and its end as good as any.
    for _ in 0..MAX_MERGES {
        let sql = "SELECT merged_into FROM sessions WHERE session_id = ?1";
        let next: Option<String> =
            connection.prepare_cached(sql)?.query_row([&owner], |row| row.get(0)).optional()?.flatten();
        match next {
            Some(next) if next != session => owner = next,
            Some(_) | None => break,
        }
    }
    Ok(owner)
}

/// Returns whether nothing of a turn may be kept: its prompt is wholly private, or it belongs to one whose prompt was.
fn is_hidden(
    connection: &Connection,
    session: &str,
    turn: &Turn,
    before: Option<&str>,
    clean: &impl Clean,
) -> rusqlite::Result<bool> {
    let prompt = turn.prompt.as_ref().map_or("", |prompt| prompt.text.as_str());
    if !prompt.trim().is_empty() && clean.said(prompt).trim().is_empty() {
        return Ok(true);
    }
    let mut known = connection.prepare_cached("SELECT 1 FROM private_ids WHERE session_id = ?1 AND id = ?2")?;
    if let Some(id) = &turn.prompt_id
        && known.exists((session, id))?
    {
        return Ok(true);
    }
    if !turn.begins {
        return Ok(!is_kept(connection, session, Some(&turn.id))?);
    }
    // What was typed into a turn that is not kept, and what comes back from its work, is not kept either.
    if (turn.origin == Origin::Queued || !turn.origin.is_person()) && !is_kept(connection, session, before)? {
        return Ok(true);
    }
    let mut named =
        connection.prepare_cached("SELECT 1 FROM private_ids WHERE session_id = ?1 AND instr(?2, id) > 0")?;
    Ok(!turn.origin.is_person() && named.exists((session, prompt))?)
}

/// Notes by which ids the rest of a turn that is not kept will be known.
fn hide(connection: &Connection, session: &str, turn: &Turn) -> rusqlite::Result<()> {
    let agents = turn.calls.iter().filter(|call| matches!(call.name.as_deref(), Some("Agent" | "Task")));
    let ids = turn.prompt_id.iter().chain(agents.map(|call| &call.id));
    let sql = "INSERT INTO private_ids (session_id, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    let mut statement = connection.prepare_cached(sql)?;
    for id in ids.filter(|id| !id.is_empty()) {
        statement.execute((session, id))?;
    }
    Ok(())
}

/// Returns whether a turn is stored; where there is none, there is nothing to hide.
fn is_kept(connection: &Connection, session: &str, turn: Option<&str>) -> rusqlite::Result<bool> {
    let Some(turn) = turn else { return Ok(true) };
    let sql = "SELECT 1 FROM turns WHERE origin_session_id = ?1 AND turn_id = ?2";
    connection.prepare_cached(sql)?.exists((session, turn))
}

fn store_turn(
    connection: &Connection,
    owner: &str,
    origin: &str,
    turn: &Turn,
    clean: &impl Clean,
    now: Millis,
) -> rusqlite::Result<()> {
    let at = turn.at.unwrap_or(now).0 as i64;
    let asked = turn.prompt.as_ref().map(|prompt| clean.said(&prompt.text));
    let known: Option<i64> = connection
        .prepare_cached("SELECT turn_number FROM turns WHERE origin_session_id = ?1 AND turn_id = ?2")?
        .query_row((origin, &turn.id), |row| row.get(0))
        .optional()?;
    if let Some(asked) = asked.as_deref().filter(|_| turn.begins && known.is_none()) {
        pending_replies::forget_turn(connection, owner, origin, asked)?;
    }
    let number = match known {
        Some(number) => number,
        None if !turn.begins => return Ok(()),
        None => connection
            .prepare_cached(
                "INSERT INTO turns (session_id, origin_session_id, turn_number, turn_id, role, created_at)
             VALUES (?1, ?2, 1 + coalesce((SELECT turn_number FROM turns WHERE origin_session_id = ?2
                                           ORDER BY turn_number DESC LIMIT 1), 0), ?3, ?4, ?5)
             RETURNING turn_number",
            )?
            .query_row((owner, origin, &turn.id, turn.origin.role(), at), |row| row.get(0))?,
    };
    let place = Place { connection, owner, origin, number };
    let said_before = replies::text(connection, origin, number)?;
    let line_before = lines::before_change(connection, origin, number)?;
    if let Some(asked) = &asked {
        place.put_body("user", asked, at)?;
    }
    // A private passage that an earlier read left open goes on here.
    let hidden: bool = connection
        .prepare_cached("SELECT hidden FROM turns WHERE origin_session_id = ?1 AND turn_number = ?2")?
        .query_row((origin, number), |row| row.get(0))?;
    let said = if hidden && !turn.begins { clean.reopened(&turn.reply()) } else { turn.reply() };
    let reply = clean.said(&said);
    if turn.begins {
        // The file may be another than before: what was said in it is not what is said now.
        place.drop_reply()?;
        place.put_body(
            "assistant",
            &reply,
            turn.replies.first().and_then(|said| said.at).map_or(at, |at| at.0 as i64),
        )?;
    } else if !reply.is_empty() {
        place.append_body(&reply, at)?;
    }
    let mut chars = reply.len() + asked.as_ref().map_or(0, String::len);
    for detail in turn.details() {
        chars += detail.text.len();
        // It tells of everything before it, private turns included, in words that no tag marks.
        if detail.name == COMPACTED {
            continue;
        }
        let text = clean.detail(detail.kind, detail.text);
        place.put_detail(
            detail.kind,
            &detail.source,
            detail.name,
            &text,
            detail.is_error,
            detail.at.map_or(at, |at| at.0 as i64),
        )?;
    }
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
            turn.failure.as_ref().map(|failure| clean.said(&failure.text)),
            turn.begins,
            chars as i64,
            !reply.is_empty(),
            clean.leaves_open(&said),
        ))?;
    replies::reindex(connection, origin, number, &said_before)?;
    lines::after_change(connection, origin, number, line_before)?;
    place.put_skeleton(clean, at)
}

/// A turn's place in the tables.
struct Place<'a> {
    connection: &'a Connection,
    owner: &'a str,
    origin: &'a str,
    number: i64,
}

impl Place<'_> {
    fn put_body(&self, role: &str, text: &str, at: i64) -> rusqlite::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.connection
            .prepare_cached(
                "INSERT INTO bodies (session_id, origin_session_id, turn_number, role, text, token_count, created_at)
                 -- Four characters a token, as everywhere.
                 VALUES (?1, ?2, ?3, ?4, ?5, (length(?5) + 3) / 4, ?6)
                 ON CONFLICT DO UPDATE SET text = excluded.text, token_count = excluded.token_count",
            )?
            .execute((self.owner, self.origin, self.number, role, text, at))
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

    fn append_body(&self, text: &str, at: i64) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "INSERT INTO bodies (session_id, origin_session_id, turn_number, role, text, token_count, created_at)
                 VALUES (?1, ?2, ?3, 'assistant', ?4, (length(?4) + 3) / 4, ?5)
                 ON CONFLICT DO UPDATE SET text = text || char(10) || char(10) || excluded.text,
                                           token_count = (length(text) + 2 + length(excluded.text) + 3) / 4",
            )?
            .execute((self.owner, self.origin, self.number, text, at))
            .map(drop)
    }

    fn put_detail(
        &self,
        kind: DetailKind,
        source: &str,
        name: &str,
        text: &str,
        is_error: bool,
        at: i64,
    ) -> rusqlite::Result<()> {
        let (input, output) = match kind {
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
                 -- What somebody wanted forgotten stays so.
                 WHERE NOT EXISTS (SELECT 1 FROM folded_calls
                                   WHERE tool_use_id = replace(:source, ':result', '') AND observation_id IS NULL)
                 -- Memory may have put it there before the turn was known.
                 ON CONFLICT DO UPDATE SET turn_number = excluded.turn_number, created_at = excluded.created_at,
                                           input_text = excluded.input_text, output_text = excluded.output_text, token_count = excluded.token_count,
                                           is_error = max(is_error, excluded.is_error)")?.execute(named_params! {
                    ":owner": self.owner,
                    ":origin": self.origin,
                    ":number": self.number,
                    ":name": name,
                    ":input": input,
                    ":output": output,
                    ":kind": kind.as_str(),
                    ":is_error": is_error,
                    ":source": source,
                    ":at": at,
                },
            )
            .map(drop)
    }

    fn put_skeleton(&self, clean: &impl Clean, at: i64) -> rusqlite::Result<()> {
        let body = |role: &str| {
            // By all columns of the index: without the first, the whole table would be read.
            let sql = "SELECT text FROM bodies
                       WHERE session_id = ?1 AND origin_session_id = ?2 AND turn_number = ?3 AND role = ?4";
            let key = (self.owner, self.origin, self.number, role);
            let text = self.connection.prepare_cached(sql)?.query_row(key, |row| row.get::<_, String>(0));
            text.optional().map(Option::unwrap_or_default)
        };
        let (interrupted, failure) = self
            .connection
            .prepare_cached("SELECT interrupted, failure FROM turns WHERE origin_session_id = ?1 AND turn_number = ?2")?
            .query_row((self.origin, self.number), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut statement = self.connection.prepare_cached(
            "SELECT coalesce(tool_name, ''), coalesce(input_text, ''), is_error FROM details
             WHERE origin_session_id = ?1 AND turn_number = ?2 AND kind = 'tool_input' ORDER BY rowid",
        )?;
        let actions = statement
            .query_map((self.origin, self.number), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_, _>>()?;
        let work = Work { asked: body("user")?, answered: body("assistant")?, actions, interrupted, failure };
        self.connection
            .prepare_cached(
                "INSERT INTO skeletons (session_id, origin_session_id, turn_number, role, summary, created_at)
                 VALUES (?1, ?2, ?3, 'turn', ?4, ?5)
                 ON CONFLICT DO UPDATE SET summary = excluded.summary",
            )?
            .execute((self.owner, self.origin, self.number, clean.skeleton(&work), at))
            .map(drop)
    }
}
