//! Replies that a hook has reported, stored until the transcript has them.

use longhaul_core::Millis;
use rusqlite::Connection;

use super::{squeeze, was_for_forgotten};
use crate::memory::session_row::session_row;
use crate::model::lines;
use crate::recall::replies;
use crate::row_ids::SessionRow;
use crate::sql::Sql;
use crate::{BOOKMARK, Store, StoreError, cannot};

/// The next number of a turn in the session `?1`.
pub(crate) const NEXT_NUMBER: &str =
    "(SELECT 1 + coalesce((SELECT number FROM turns WHERE session_id = ?1 ORDER BY number DESC LIMIT 1), 0))";

/// With what the id of a turn begins that only the hook at its end has told.
pub(crate) const TURN: &str = "hook:";

/// How many turns may lie between a prompt and its reply, such as commands that the client handles itself. Bookmarks do
/// not count: a long turn has many.
const MAX_BETWEEN: usize = 8;

/// The reply of a turn: what the transcript has, and after that what a hook has told and the transcript does not have yet.
pub(crate) struct ReplyText {
    pub(crate) kept: String,
    pub(crate) provisional: String,
}

impl ReplyText {
    pub(crate) fn read(connection: &Connection, turn: i64) -> rusqlite::Result<Self> {
        let sql = "SELECT reply, provisional FROM turns WHERE id = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok(Self::new(row.get(0)?, row.get(1)?));
        Ok(connection.first_with(sql, [turn], read)?.unwrap_or_else(|| Self::new(None, 0)))
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
    pub(super) fn add(&mut self, said: &str) {
        self.kept = joined(&self.kept, said);
        self.provisional.clear();
    }

    pub(crate) fn whole(&self) -> String {
        joined(&self.kept, &self.provisional)
    }

    pub(crate) fn write(&self, connection: &Connection, turn: i64) -> rusqlite::Result<()> {
        let sql = "UPDATE turns SET reply = nullif(?2, ''), provisional = ?3 WHERE id = ?1";
        connection.run(sql, (turn, self.whole(), self.provisional.len() as i64)).map(drop)
    }
}

fn joined(first: &str, second: &str) -> String {
    let between = if first.is_empty() || second.is_empty() { "" } else { "\n\n" };
    format!("{first}{between}{second}")
}

impl Store {
    /// Stores a session's last reply as the hook reports it, until the transcript has it.
    ///
    /// If there is no turn that `prompt` began, because the transcript is late or cannot be read, prompt and reply become a
    /// turn of their own with the id `turn`, which [`Store::ingest`] takes over when the real one comes. A reply to a
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
        let failed = cannot("keep the reply");
        let Some(row) = session_row(&self.connection, session).map_err(&failed)? else { return Ok(()) };
        let newest = newest(&self.connection, row).map_err(failed)?;
        if turn_of(&newest, prompt, reply) == ReplyTurn::Stored {
            return Ok(());
        }
        self.write("keep the reply", |tx| {
            let is_forgotten = was_for_forgotten(tx, row, at.0 as i64)?;
            if is_forgotten { Ok(()) } else { keep(tx, row, turn, prompt, reply, at.0 as i64) }
        })
    }
}

/// A turn that a reply may belong to.
struct Candidate {
    id: i64,
    role: String,
    asked: Option<String>,
    reply: ReplyText,
}

impl Candidate {
    /// Returns whether `prompt` began it; `true` if the prompt is not known.
    fn is_of(&self, prompt: Option<&str>) -> bool {
        prompt.is_none_or(|prompt| self.asked.as_deref().is_some_and(|asked| squeeze(asked) == squeeze(prompt)))
    }

    fn has(&self, reply: &str) -> bool {
        let reply = squeeze(reply);
        squeeze(&self.reply.kept).contains(&reply) || squeeze(&self.reply.provisional) == reply
    }

    /// Returns whether the transcript has `reply` as its last one.
    fn ends_with(&self, reply: &str) -> bool {
        !self.reply.kept.is_empty() && squeeze(&self.reply.kept).ends_with(&squeeze(reply))
    }

    /// Returns whether the model answers it. Commands that the client handles itself are only recorded.
    fn is_answered(&self) -> bool {
        !matches!(self.role.as_str(), "shell" | "command")
    }
}

/// The turn that a reply belongs to.
#[derive(Debug, PartialEq, Eq)]
enum ReplyTurn {
    Stored,
    Known(i64),
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
    ReplyTurn::Known(answered.id)
}

/// Returns the turns that no rewind has removed, the newest first, up to the last one that a person's prompt began.
fn newest(connection: &Connection, session: SessionRow) -> rusqlite::Result<Vec<Candidate>> {
    let sql = "SELECT id, role, prompt, reply, provisional FROM turns
               WHERE session_id = ?1 AND number IS NOT NULL AND replaced = 0 ORDER BY number DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([session], |row| {
        let reply = ReplyText::new(row.get(3)?, row.get(4)?);
        Ok(Candidate { id: row.get(0)?, role: row.get(1)?, asked: row.get(2)?, reply })
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
    session: SessionRow,
    turn: &str,
    prompt: Option<&str>,
    reply: &str,
    at: i64,
) -> rusqlite::Result<()> {
    let id = match turn_of(&newest(connection, session)?, prompt, reply) {
        ReplyTurn::Stored => return Ok(()),
        ReplyTurn::Known(id) => id,
        ReplyTurn::New => {
            match prompt.map(|prompt| untold_prompt(connection, session, prompt)).transpose()?.flatten() {
                Some(id) => {
                    let sql = format!(
                        "UPDATE turns SET number = {NEXT_NUMBER}, turn_id = ?3 || ':' || id, role = 'user', began_at = ?4
                     WHERE id = ?2"
                    );
                    connection.run(&sql, (session, id, turn, at))?;
                    id
                }
                None => {
                    let sql = format!(
                        "INSERT INTO turns (session_id, owner_id, number, turn_id, role, prompt, began_at, created_at)
                     VALUES (?1, ?1, {NEXT_NUMBER}, ?2, 'user', ?3, ?4, ?4)
                     ON CONFLICT DO UPDATE SET replaced = 0 RETURNING id"
                    );
                    connection.one(&sql, (session, turn, prompt.unwrap_or_default(), at))?
                }
            }
        }
    };
    set_provisional(connection, id, reply)
}

/// Returns the last prompt with this text that the memory has and the transcript has not yet.
fn untold_prompt(connection: &Connection, session: SessionRow, prompt: &str) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT id, prompt FROM turns WHERE session_id = ?1 AND number IS NULL AND forgotten = 0
               ORDER BY created_at DESC, id DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([session])?;
    let prompt = squeeze(prompt);
    while let Some(row) = rows.next()? {
        if row.get_ref(1)?.as_str_or_null()?.is_some_and(|asked| squeeze(asked) == prompt) {
            return row.get(0).map(Some);
        }
    }
    Ok(None)
}

/// Replaces what a hook has told of a turn's reply.
fn set_provisional(connection: &Connection, turn: i64, told: &str) -> rusqlite::Result<()> {
    let mut reply = ReplyText::read(connection, turn)?;
    let before = reply.whole();
    let line = lines::before_change(connection, turn)?;
    told.clone_into(&mut reply.provisional);
    reply.write(connection, turn)?;
    replies::reindex(connection, turn, &before)?;
    lines::after_change(connection, turn, line)
}

/// Removes the replies that a hook has reported and that one of `replies` now has, in whichever turn.
///
/// The iterator is used only if there are any: it makes long texts.
pub(crate) fn forget_replies(
    connection: &Connection,
    session: SessionRow,
    replies: impl Iterator<Item = String>,
) -> rusqlite::Result<()> {
    let told: Vec<(i64, ReplyText)> = connection.all_with(
        // Without the hint, SQLite reads every turn of the session.
        "SELECT id, reply, provisional FROM turns INDEXED BY turns_special
         WHERE session_id = ?1 AND provisional > 0",
        [session],
        |row| Ok((row.get(0)?, ReplyText::new(row.get(1)?, row.get(2)?))),
    )?;
    if told.is_empty() {
        return Ok(());
    }
    let replies: Vec<String> = replies.map(|reply| squeeze(&reply)).collect();
    for (turn, reply) in told {
        let told = squeeze(&reply.provisional);
        if replies.iter().any(|reply| reply.ends_with(&told)) {
            set_provisional(connection, turn, "")?;
        }
    }
    Ok(())
}
