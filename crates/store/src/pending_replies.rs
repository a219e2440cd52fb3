//! What a hook told of a turn, kept until the transcript has it.

use longhaul_core::Millis;
use rusqlite::Connection;

use crate::model::lines;
use crate::recall::replies;
use crate::{Store, StoreError, cannot, forgotten_prompts, limit};

/// How many turns may lie between a prompt and the reply to it, such as commands that only the client saw.
const MAX_BETWEEN: usize = 8;

impl Store {
    /// Keeps a session's last reply as the hook told it, until the transcript has it.
    ///
    /// Where no turn is there that `prompt` began, because the transcript lags or cannot be read, the two make a turn of
    /// their own, named by `turn`; [`Store::ingest`] takes it away when the real one comes. A reply to a prompt that was
    /// forgotten is not kept.
    pub fn keep_reply(
        &self,
        session: &str,
        turn: &str,
        prompt: Option<&str>,
        reply: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        // Stop may fire again, and the transcript may have it already: a look costs less than a commit.
        let newest = newest(&self.connection, session).map_err(cannot("keep the reply"))?;
        if place(&newest, prompt, reply) == Place::There {
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
    /// Returns whether `prompt` began it, as far as is known.
    fn is_of(&self, prompt: Option<&str>) -> bool {
        prompt.is_none_or(|prompt| self.asked.as_deref().is_some_and(|asked| squeeze(asked) == squeeze(prompt)))
    }

    fn has(&self, reply: &str) -> bool {
        let reply = squeeze(reply);
        self.replied.as_deref().is_some_and(|replied| squeeze(replied).contains(&reply))
            || self.pending.as_deref().is_some_and(|pending| squeeze(pending) == reply)
    }

    /// Returns whether the model answers it: what the client does by itself is only noted.
    fn is_answered(&self) -> bool {
        !matches!(self.role.as_str(), "shell" | "command")
    }
}

/// Where a reply belongs.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// It is stored already.
    There,
    /// In the turn of this number.
    Turn(i64),
    /// In a turn that the transcript does not have yet.
    New,
}

fn place(newest: &[Candidate], prompt: Option<&str>, reply: &str) -> Place {
    let Some(asked) = newest.iter().position(|turn| turn.is_of(prompt)) else { return Place::New };
    let since = &newest[..=asked];
    if since.iter().any(|turn| turn.has(reply)) {
        return Place::There;
    }
    let answered = since.iter().find(|turn| turn.is_answered()).unwrap_or(&newest[asked]);
    Place::Turn(answered.number)
}

/// Returns the turns that no rewind has taken back, the newest first, as far as the last that a person's prompt began.
fn newest(connection: &Connection, session: &str) -> rusqlite::Result<Vec<Candidate>> {
    let sql = format!(
        "SELECT t.turn_number, t.role, u.text, a.text, t.pending_reply FROM turns t
         LEFT JOIN bodies u ON u.session_id = t.session_id AND u.origin_session_id = t.origin_session_id
                           AND u.turn_number = t.turn_number AND u.role = 'user'
         LEFT JOIN bodies a ON a.session_id = t.session_id AND a.origin_session_id = t.origin_session_id
                           AND a.turn_number = t.turn_number AND a.role = 'assistant'
         WHERE t.origin_session_id = ?1 AND t.replaced = 0 ORDER BY t.turn_number DESC {}",
        limit(MAX_BETWEEN)
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([session], |row| {
        Ok(Candidate {
            number: row.get(0)?,
            role: row.get(1)?,
            asked: row.get(2)?,
            replied: row.get(3)?,
            pending: row.get(4)?,
        })
    })?;
    let mut turns = Vec::new();
    for turn in rows {
        turns.push(turn?);
        if turns.last().is_some_and(|turn: &Candidate| turn.role == "user") {
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
    let number = match place(&newest(connection, session)?, prompt, reply) {
        Place::There => return Ok(()),
        Place::Turn(number) => number,
        Place::New => {
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

/// Takes away the turn that a hook told of, now that the transcript has it.
pub(crate) fn forget_turn(connection: &Connection, owner: &str, origin: &str, asked: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT t.turn_number, b.text FROM turns t
         JOIN bodies b ON b.session_id = t.session_id AND b.origin_session_id = t.origin_session_id
                      AND b.turn_number = t.turn_number AND b.role = 'user'
         WHERE t.origin_session_id = ?1 AND t.turn_id BETWEEN 'hook:' AND 'hook;'",
    )?;
    let told: Vec<(i64, String)> =
        statement.query_map([origin], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let asked = squeeze(asked);
    for (number, _) in told.into_iter().filter(|(_, text)| squeeze(text) == asked) {
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

/// Takes away the replies that a hook told of and that have come in one of `replies`, in whichever turn.
pub(crate) fn forget_replies(connection: &Connection, origin: &str, replies: &[String]) -> rusqlite::Result<()> {
    if replies.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(
        // Left to itself it looks at every turn of the session.
        "SELECT turn_number, pending_reply FROM turns INDEXED BY turns_pending
         WHERE origin_session_id = ?1 AND pending_reply IS NOT NULL",
    )?;
    let pending: Vec<(i64, String)> =
        statement.query_map([origin], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    if pending.is_empty() {
        return Ok(());
    }
    let replies: Vec<String> = replies.iter().map(|reply| squeeze(reply)).collect();
    for (number, told) in pending {
        let told = squeeze(&told);
        if replies.iter().any(|reply| reply.ends_with(&told)) {
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

/// Returns a text without its spaces and line ends, which the hook and the transcript set differently.
pub(crate) fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
