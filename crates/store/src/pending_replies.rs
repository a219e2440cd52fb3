//! Replies that a hook has reported, stored until the transcript has them.

use longhaul_core::Millis;
use rusqlite::Connection;

use crate::model::lines;
use crate::recall::replies;
use crate::{BOOKMARK, Store, StoreError, cannot, forgotten_prompts};

/// How many turns may lie between a prompt and its reply, such as commands that the client handles itself. Bookmarks do
/// not count: a long turn has many.
const MAX_BETWEEN: usize = 8;

impl Store {
    /// Stores a session's last reply as the hook reports it, until the transcript has it.
    ///
    /// If there is no turn that `prompt` began, because the transcript is late or cannot be read, prompt and reply become a
    /// turn of their own with the id `turn`, which [`Store::ingest`] removes when the real one comes. A reply to a
    /// prompt that was forgotten is not stored.
    pub fn keep_reply(
        &self,
        session: &str,
        turn: &str,
        prompt: Option<&str>,
        reply: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        // Stop may fire again, and the transcript may have it already: reading costs less than a commit.
        let newest = newest(&self.connection, session).map_err(cannot("keep the reply"))?;
        if turn_of(&newest, prompt, reply) == ReplyTurn::Stored {
            return Ok(());
        }
        self.write("keep the reply", |tx| keep(tx, session, turn, prompt, reply, at.0 as i64))
    }
}

/// A turn that a reply may belong to.
struct Candidate {
    number: i64,
    role: String,
    asked: Option<String>,
    replied: Option<String>,
    pending: Option<String>,
}

impl Candidate {
    /// Returns whether `prompt` began it; `true` if the prompt is not known.
    fn is_of(&self, prompt: Option<&str>) -> bool {
        prompt.is_none_or(|prompt| self.asked.as_deref().is_some_and(|asked| squeeze(asked) == squeeze(prompt)))
    }

    fn has(&self, reply: &str) -> bool {
        let reply = squeeze(reply);
        self.replied.as_deref().is_some_and(|replied| squeeze(replied).contains(&reply))
            || self.pending.as_deref().is_some_and(|pending| squeeze(pending) == reply)
    }

    /// Returns whether the transcript has `reply` as its last one.
    fn ends_with(&self, reply: &str) -> bool {
        self.replied.as_deref().is_some_and(|replied| squeeze(replied).ends_with(&squeeze(reply)))
    }

    /// Returns whether the model answers it. Commands that the client handles itself are only recorded.
    fn is_answered(&self) -> bool {
        !matches!(self.role.as_str(), "shell" | "command")
    }
}

/// The turn that a reply belongs to.
#[derive(Debug, PartialEq, Eq)]
enum ReplyTurn {
    /// The reply is stored already.
    Stored,
    /// The turn with this number.
    Number(i64),
    /// A turn that the transcript does not have yet.
    New,
}

fn turn_of(newest: &[Candidate], prompt: Option<&str>, reply: &str) -> ReplyTurn {
    let Some(asked) = newest.iter().position(|turn| turn.is_of(prompt)) else {
        // Where the database was locked when the prompt came, the one that is known is that of an earlier turn.
        let is_read = newest.iter().any(|turn| turn.ends_with(reply));
        return if is_read { ReplyTurn::Stored } else { ReplyTurn::New };
    };
    let since = &newest[..=asked];
    if since.iter().any(|turn| turn.has(reply)) {
        return ReplyTurn::Stored;
    }
    let answered = since.iter().find(|turn| turn.is_answered()).unwrap_or(&newest[asked]);
    ReplyTurn::Number(answered.number)
}

/// Returns the turns that no rewind has removed, the newest first, up to the last one that a person's prompt began.
fn newest(connection: &Connection, session: &str) -> rusqlite::Result<Vec<Candidate>> {
    let sql = "SELECT t.turn_number, t.role, u.text, a.text, t.pending_reply FROM turns t
         LEFT JOIN bodies u ON u.session_id = t.session_id AND u.origin_session_id = t.origin_session_id
                           AND u.turn_number = t.turn_number AND u.role = 'user'
         LEFT JOIN bodies a ON a.session_id = t.session_id AND a.origin_session_id = t.origin_session_id
                           AND a.turn_number = t.turn_number AND a.role = 'assistant'
         WHERE t.origin_session_id = ?1 AND t.replaced = 0 ORDER BY t.turn_number DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([session], |row| {
        Ok(Candidate {
            number: row.get(0)?,
            role: row.get(1)?,
            asked: row.get(2)?,
            replied: row.get(3)?,
            pending: row.get(4)?,
        })
    })?;
    let (mut turns, mut between) = (Vec::new(), 0);
    for turn in rows {
        let turn = turn?;
        let is_asked = turn.role == "user";
        between += usize::from(turn.role != BOOKMARK);
        turns.push(turn);
        if is_asked || between == MAX_BETWEEN {
            break;
        }
    }
    Ok(turns)
}

fn keep(
    connection: &Connection,
    session: &str,
    turn: &str,
    prompt: Option<&str>,
    reply: &str,
    at: i64,
) -> rusqlite::Result<()> {
    if forgotten_prompts::has_asked_for(connection, session, at)? {
        return Ok(());
    }
    let number = match turn_of(&newest(connection, session)?, prompt, reply) {
        ReplyTurn::Stored => return Ok(()),
        ReplyTurn::Number(number) => number,
        ReplyTurn::New => {
            let number: i64 = connection.query_row(
                "INSERT INTO turns (session_id, origin_session_id, turn_number, turn_id, role, created_at)
                 VALUES (?1, ?1, 1 + coalesce((SELECT turn_number FROM turns WHERE origin_session_id = ?1
                                               ORDER BY turn_number DESC LIMIT 1), 0), ?2, 'user', ?3)
                 ON CONFLICT DO UPDATE SET replaced = 0 RETURNING turn_number",
                (session, turn, at),
                |row| row.get(0),
            )?;
            connection.execute(
                "INSERT INTO bodies (session_id, origin_session_id, turn_number, role, text, token_count, created_at)
                 VALUES (?1, ?1, ?2, 'user', ?3, (length(?3) + 3) / 4, ?4) ON CONFLICT DO NOTHING",
                (session, number, prompt.unwrap_or_default(), at),
            )?;
            number
        }
    };
    let before = replies::text(connection, session, number)?;
    let line = lines::before_change(connection, session, number)?;
    let sql = "UPDATE turns SET pending_reply = ?3 WHERE origin_session_id = ?1 AND turn_number = ?2";
    connection.execute(sql, (session, number, reply))?;
    replies::reindex(connection, session, number, &before)?;
    lines::after_change(connection, session, number, line)
}

/// Removes the turn that a hook has reported, now that the transcript has it.
pub(crate) fn forget_turn(connection: &Connection, owner: &str, origin: &str, asked: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT t.turn_number, b.text FROM turns t
         JOIN bodies b ON b.session_id = t.session_id AND b.origin_session_id = t.origin_session_id
                      AND b.turn_number = t.turn_number AND b.role = 'user'
         WHERE t.origin_session_id = ?1 AND t.turn_id BETWEEN 'hook:' AND 'hook;'",
    )?;
    let reported: Vec<(i64, String)> =
        statement.query_map([origin], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let asked = squeeze(asked);
    for (number, _) in reported.into_iter().filter(|(_, text)| squeeze(text) == asked) {
        lines::drop_line(connection, origin, number)?;
        replies::remove(connection, origin, number)?;
        let key = (owner, origin, number);
        connection
            .execute("DELETE FROM bodies WHERE session_id = ?1 AND origin_session_id = ?2 AND turn_number = ?3", key)?;
        connection
            .execute("DELETE FROM turns WHERE session_id = ?1 AND origin_session_id = ?2 AND turn_number = ?3", key)?;
    }
    Ok(())
}

/// Removes the replies that a hook has reported and that one of `replies` now has, in whichever turn.
///
/// The iterator is used only if there are any: it makes long texts.
pub(crate) fn forget_replies(
    connection: &Connection,
    origin: &str,
    replies: impl Iterator<Item = String>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        // Without the hint, SQLite reads every turn of the session.
        "SELECT turn_number, pending_reply FROM turns INDEXED BY turns_pending
         WHERE origin_session_id = ?1 AND pending_reply IS NOT NULL",
    )?;
    let pending: Vec<(i64, String)> =
        statement.query_map([origin], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    if pending.is_empty() {
        return Ok(());
    }
    let replies: Vec<String> = replies.map(|reply| squeeze(&reply)).collect();
    for (number, reported) in pending {
        let reported = squeeze(&reported);
        if replies.iter().any(|reply| reply.ends_with(&reported)) {
            let before = replies::text(connection, origin, number)?;
            let line = lines::before_change(connection, origin, number)?;
            let sql = "UPDATE turns SET pending_reply = NULL WHERE origin_session_id = ?1 AND turn_number = ?2";
            connection.execute(sql, (origin, number))?;
            replies::reindex(connection, origin, number, &before)?;
            lines::after_change(connection, origin, number, line)?;
        }
    }
    Ok(())
}

/// Returns a text without white space, in which the hook and the transcript differ.
pub(crate) fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
