//! Reading turns and their details; and rewinds: to which message the user went back, and whether that was reported.

use longhaul_core::Millis;
use longhaul_core::text::cut_middle;
use longhaul_memory::SAID_CHARS;
use rusqlite::{Connection, Row, ToSql};

use crate::capture::SAME_PROMPT_MS;
use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot, limit, newest_last};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The session in which it ran.
    pub origin: String,
    pub number: i64,
    /// The role of the prompt: `user`, or what else began the turn.
    pub role: String,
    pub asked: String,
    pub at: Millis,
    pub replied: String,
    pub replied_at: Millis,
    /// The turn in one line, by a model if one was asked, else by rule.
    pub skeleton: String,
    /// Whether it has details: tool calls, attachments, thoughts.
    pub has_detail: bool,
    /// Bytes of everything in it.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnWords {
    pub role: String,
    pub asked: String,
    pub replied: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// `tool_input`, `tool_output`, `system`, `image` or `thinking`.
    pub kind: String,
    /// The name of the tool or of the attachment.
    pub name: String,
    pub text: String,
    pub is_error: bool,
    pub at: Millis,
}

/// Where turns are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within<'a> {
    /// In sessions whose id begins with this.
    Session(&'a str),
    /// In the sessions of the project with this key.
    Project(&'a str),
    Everything,
}

impl<'a> Within<'a> {
    /// Returns the condition, and the value of `?1` in it.
    fn condition(self) -> (&'static str, &'a str) {
        match self {
            Self::Session(prefix) => ("substr(s.session_id, 1, length(?1)) = ?1", prefix),
            Self::Project(key) => ("s.project_key = ?1", key),
            Self::Everything => ("?1 = ''", ""),
        }
    }
}

/// The condition that leaves out copies. A fork's transcript begins with a copy of its origin's; of a turn that is stored for
/// both, the session's own counts.
const ONCE: &str = "(t.turn_id BETWEEN 'hook:' AND 'hook;' OR NOT EXISTS (
        SELECT 1 FROM turns o WHERE t.session_id <> t.owner_id
            AND o.session_id = t.owner_id AND o.turn_id = t.turn_id
        UNION ALL
        SELECT 1 FROM turns o WHERE t.session_id <> t.owner_id
            AND o.owner_id = t.owner_id AND o.began_at = t.began_at AND o.turn_id = t.turn_id
            AND o.session_id > t.session_id AND o.replaced = 0))";

const REPLY: &str = "trim(coalesce(t.reply, ''), char(10))";

/// Reads turns, up to the first condition.
const TURNS: &str = "SELECT s.session_id, t.number, t.role, coalesce(t.prompt, ''), t.began_at,
        trim(coalesce(t.reply, ''), char(10)), coalesce(t.replied_at, t.began_at),
        coalesce(nullif(t.model_line, ''), t.line, ''),
        EXISTS (SELECT 1 FROM details d WHERE d.turn = t.id), t.chars
     FROM turns t JOIN sessions s ON s.id = t.session_id WHERE t.number IS NOT NULL AND t.replaced = 0";

/// The row of the session `?1`.
const SESSION: &str = "(SELECT id FROM sessions WHERE session_id = ?1)";

impl Store {
    /// Returns what was said in a session's own newest turns, at most `most`, the oldest of them first. Long replies are cut.
    pub fn newest_words(&self, session: &str, most: usize) -> Result<Vec<TurnWords>, StoreError> {
        let sql = format!(
            "SELECT t.role, coalesce(t.prompt, ''), {REPLY} FROM turns t
             WHERE t.number IS NOT NULL AND t.replaced = 0 AND t.session_id = {SESSION} ORDER BY t.number DESC {}",
            limit(most)
        );
        let read = |row: &Row<'_>| Ok(TurnWords { role: row.get(0)?, asked: row.get(1)?, replied: cut(row.get(2)?) });
        newest_last(&self.connection, &sql, [session], read).map_err(cannot("read the turns"))
    }

    /// Returns a session's own newest turns, at most `most`, the oldest of them first. Long replies are cut.
    ///
    /// The cost does not grow with the number of turns in the session.
    pub fn newest_turns(&self, session: &str, most: usize) -> Result<Vec<Turn>, StoreError> {
        let sql = format!("{TURNS} AND t.session_id = {SESSION} ORDER BY t.number DESC {}", limit(most));
        newest_last(&self.connection, &sql, [session], read_cut).map_err(cannot("read the turns"))
    }

    /// Returns a session's newest turns, including those that it inherited, the oldest first; and how many older ones there
    /// are. Long replies are cut.
    ///
    /// Turns that the session `besides` has itself, as a fork has those of its origin, are left out.
    pub fn turns(&self, session: &str, besides: Option<&str>, most: usize) -> Result<(Vec<Turn>, usize), StoreError> {
        let failed = cannot("read the turns");
        let wanted = format!(
            "t.owner_id = {SESSION} AND {ONCE} AND NOT EXISTS (SELECT 1 FROM turns o
                 WHERE o.session_id = (SELECT id FROM sessions WHERE session_id = ?2) AND o.turn_id = t.turn_id)"
        );
        // By their order, not by time alone, because a clock may be set back: a turn counts as no later than the turns that
        // follow it in its session.
        let newest = format!(
            "SELECT t.id AS turn, min(t.began_at) OVER (PARTITION BY t.session_id ORDER BY t.number DESC) AS placed
             FROM turns t WHERE t.number IS NOT NULL AND t.replaced = 0 AND {wanted}
             ORDER BY placed DESC, t.session_id = t.owner_id DESC, t.number DESC {}",
            limit(most)
        );
        let joined = format!("FROM ({newest}) k CROSS JOIN turns t ON t.id = k.turn");
        let order = "ORDER BY k.placed DESC, t.session_id = t.owner_id DESC, t.number DESC";
        let sql = format!("{} {order}", TURNS.replace("FROM turns t", &joined));
        let turns = newest_last(&self.connection, &sql, (session, besides), read_cut).map_err(&failed)?;
        let sql = format!("SELECT count(*) FROM turns t WHERE t.number IS NOT NULL AND t.replaced = 0 AND {wanted}");
        let all: i64 = self.connection.one(&sql, (session, besides)).map_err(failed)?;
        let older = usize::try_from(all).unwrap_or_default().saturating_sub(turns.len());
        Ok((turns, older))
    }

    /// Returns whether a turn of a session's own transcript is stored.
    pub fn has_turn(&self, session: &str, turn: &str) -> Result<bool, StoreError> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM turns WHERE session_id = {SESSION} AND turn_id = ?2)");
        self.connection.one(&sql, (session, turn)).map_err(cannot("look up the turn"))
    }

    /// Returns the turns that began between two times, the oldest first.
    pub fn turns_between(&self, within: Within<'_>, from: Millis, to: Millis) -> Result<Vec<Turn>, StoreError> {
        let order = "AND t.began_at BETWEEN ?2 AND ?3 ORDER BY t.session_id, t.number";
        self.list_turns(within, order, &[&Time(from), &Time(to)]).map(in_order)
    }

    /// Returns the turn that ran at a time: the last that began before it.
    pub fn turn_at(&self, within: Within<'_>, at: Millis) -> Result<Option<Turn>, StoreError> {
        let before = "AND t.began_at <= ?2";
        let latest = format!("{before} ORDER BY t.began_at DESC, t.number DESC LIMIT 1");
        let Some(latest) = self.list_turns(within, &latest, &[&Time(at)])?.pop() else { return Ok(None) };
        // A later turn of that session may have an earlier time.
        let last = format!("{before} AND s.session_id = ?3 ORDER BY t.number DESC LIMIT 1");
        self.list_turns(within, &last, &[&Time(at), &latest.origin]).map(|mut turns| turns.pop())
    }

    /// Returns the turns whose id begins with `name`, or whose number it is, the newest first.
    pub fn turns_named(&self, within: Within<'_>, name: &str) -> Result<Vec<Turn>, StoreError> {
        let order = "AND iif(?2 GLOB '[0-9]*' AND length(?2) < 8, CAST(t.number AS TEXT) = ?2,
                             substr(t.turn_id, 1, length(?2)) = ?2)
                     ORDER BY t.session_id, t.number";
        let mut turns = self.list_turns(within, order, &[&name]).map(in_order)?;
        turns.reverse();
        Ok(turns)
    }

    fn list_turns(&self, within: Within<'_>, order: &str, values: &[&dyn ToSql]) -> Result<Vec<Turn>, StoreError> {
        let (condition, value) = within.condition();
        // A session that is named has its turns, whichever other session has a copy of them.
        let once = if matches!(within, Within::Session(_)) { "1" } else { ONCE };
        let sql = format!("{TURNS} AND {condition} AND {once} {order}");
        let all: Vec<&dyn ToSql> = std::iter::once(&value as &dyn ToSql).chain(values.iter().copied()).collect();
        self.connection.all_with(&sql, all.as_slice(), read).map_err(cannot("read the turns"))
    }

    /// Returns whether a session has turns of its own.
    pub fn has_turns(&self, session: &str) -> Result<bool, StoreError> {
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM turns WHERE session_id = {SESSION} AND number IS NOT NULL AND replaced = 0)"
        );
        self.connection.one(&sql, [session]).map_err(cannot("look for turns"))
    }

    /// Returns a turn's details in their order, without the client's records of hooks that ran. A call is two: its input and its
    /// output.
    pub fn details(&self, turn: &Turn) -> Result<Vec<Detail>, StoreError> {
        let sql = format!(
            "WITH found AS (SELECT rowid AS place, * FROM details
                            WHERE turn = (SELECT id FROM turns WHERE session_id = {SESSION} AND number = ?2))
             SELECT kind, name, text, is_error, created_at FROM (
                 SELECT iif(kind = 'tool', 'tool_input', kind) AS kind, coalesce(tool_name, '') AS name, input_text AS text,
                        is_error, created_at, place, 0 AS part FROM found
                 UNION ALL
                 SELECT iif(kind = 'tool', 'tool_output', kind), coalesce(tool_name, ''), output_text, is_error, created_at,
                        place, 1 FROM found)
             WHERE text IS NOT NULL ORDER BY created_at, place, part"
        );
        let read = |row: &Row<'_>| {
            Ok(Detail {
                kind: row.get(0)?,
                name: row.get(1)?,
                text: row.get(2)?,
                is_error: row.get(3)?,
                at: row.get::<_, Time>(4)?.into(),
            })
        };
        self.connection.all_with(&sql, (&turn.origin, turn.number), read).map_err(cannot("read the details"))
    }
}

/// Sorts turns, which come session by session in their order, by their time.
///
/// A turn counts as no later than the turns that follow it in its session, because a clock may be set back.
fn in_order(turns: Vec<Turn>) -> Vec<Turn> {
    let mut next: Option<(String, Millis)> = None;
    let mut placed: Vec<(Millis, Turn)> = Vec::with_capacity(turns.len());
    for turn in turns.into_iter().rev() {
        let after = next.take().filter(|(origin, _)| *origin == turn.origin).map_or(turn.at, |(_, at)| at);
        let at = turn.at.min(after);
        next = Some((turn.origin.clone(), at));
        placed.push((at, turn));
    }
    placed.reverse();
    placed.sort_by_key(|(at, _)| *at);
    placed.into_iter().map(|(_, turn)| turn).collect()
}

/// Reads a turn to be shown to a model or to be summarized: a long reply is cut.
fn read_cut(row: &Row<'_>) -> rusqlite::Result<Turn> {
    let turn = read(row)?;
    Ok(Turn { replied: cut(turn.replied), ..turn })
}

fn cut(replied: String) -> String {
    if replied.len() > SAID_CHARS { cut_middle(&replied, SAID_CHARS) } else { replied }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Turn> {
    let time = |column: usize| row.get::<_, Time>(column).map(Millis::from);
    Ok(Turn {
        origin: row.get(0)?,
        number: row.get(1)?,
        role: row.get(2)?,
        asked: row.get(3)?,
        at: time(4)?,
        replied: row.get(5)?,
        replied_at: time(6)?,
        skeleton: row.get(7)?,
        has_detail: row.get(8)?,
        bytes: row.get::<_, i64>(9)?.unsigned_abs(),
    })
}

/// The value of `turns.replaced` for a turn that a rewind took back; 0 for one that is part of the conversation.
pub(crate) const REPLACED: i64 = 1;

/// The same for the turn to which the user went back, until that was reported.
pub(crate) const UNREPORTED: i64 = 2;

/// The same for a turn that a line of the same rollout of Codex took back.
pub(crate) const ROLLED_BACK: i64 = 3;

/// The same for a turn that a later rollout of the same session of Codex leaves out.
const LEFT_OUT: i64 = 4;

/// The turns that are [`UNREPORTED`], by an index that SQLite would not choose: every end of a turn looks for them.
const UNREPORTED_TURNS: &str = "turns INDEXED BY turns_special";

/// Selects the turns of a session among [`UNREPORTED_TURNS`]. The index says `<> 0`, since SQLite would use `> 0` for its
/// search instead of the value.
const OF_SESSION: &str =
    "session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND replaced <> 0 AND replaced = 2";

/// A rewind that was not reported yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewind {
    /// The time of the message to which the user went back.
    pub at: Millis,
    /// The snapshot that was taken for that message.
    pub snapshot: Option<i64>,
}

/// Whether a rewind took back every turn of a prompt. Of a prompt without a reply, the turn is found by its text and time:
/// only in a session with a rewind, since a search asks for each of its candidates.
const IS_TAKEN_BACK: &str = "SELECT coalesce(
        (SELECT min(t.replaced) > 0 FROM turns t WHERE t.passage = p.id),
        (SELECT min(t.replaced) > 0 FROM turns t
         WHERE t.session_id = p.session_id AND abs(t.began_at - p.created_at) <= ?3 AND t.prompt = p.prompt
           AND EXISTS (SELECT 1 FROM turns INDEXED BY turns_special
                       WHERE session_id = p.session_id AND replaced <> 0)),
        0)
    FROM prompts p WHERE p.session_id = ?1 AND p.prompt_number = ?2";

/// Returns whether a rewind took back the prompt with a number in a session, and with it everything that was done for it.
pub(crate) fn is_taken_back(connection: &Connection, session: i64, prompt_number: i64) -> rusqlite::Result<bool> {
    let found = connection.first(IS_TAKEN_BACK, (session, prompt_number, SAME_PROMPT_MS))?;
    Ok(found.unwrap_or(false))
}

impl Store {
    /// Returns the rewind of a session that was not reported yet.
    pub fn unreported_rewind(&self, session: &str) -> Result<Option<Rewind>, StoreError> {
        let failed = cannot("look for a rewind");
        let sql = format!("SELECT began_at FROM {UNREPORTED_TURNS} WHERE {OF_SESSION} LIMIT 1");
        let Some(at) = self.connection.first::<Time>(&sql, [session]).map_err(&failed)? else { return Ok(None) };
        // The client writes the time of a message before it starts the hook that takes the snapshot. If that failed, the
        // next snapshot is that of a later message.
        let sql = "SELECT id FROM snapshots
                   WHERE session_id = ?1 AND kind IN ('prompt', 'bookmark') AND commit_id IS NOT NULL AND created_at >= ?2
                     AND created_at < coalesce((SELECT min(began_at) FROM turns
                                                WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND began_at > ?2), created_at + 1)
                   ORDER BY created_at LIMIT 1";
        let snapshot = self.connection.first(sql, (session, at)).map_err(failed)?;
        Ok(Some(Rewind { at: at.0, snapshot }))
    }

    /// Records that a later rollout of Codex leaves these turns of a session out; returns how many were part of it.
    pub fn leave_out(&self, session: &str, turns: &[String]) -> Result<usize, StoreError> {
        self.write("record a rewind of Codex", |connection| {
            let sql =
                "UPDATE turns SET replaced = ?3 WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1)
                       AND turn_id = ?2 AND replaced = 0";
            let mut statement = connection.prepare(sql)?;
            let mut count = 0;
            for turn in turns {
                count += statement.execute((session, turn, LEFT_OUT))?;
            }
            Ok(count)
        })
    }

    /// Records that the rewind of a session was reported; returns whether this call did.
    pub fn settle_rewind(&self, session: &str) -> Result<bool, StoreError> {
        self.write("record that a rewind was reported", |connection| {
            let sql = format!("UPDATE {UNREPORTED_TURNS} SET replaced = ?2 WHERE {OF_SESSION}");
            Ok(connection.run(&sql, (session, REPLACED))? > 0)
        })
    }
}
