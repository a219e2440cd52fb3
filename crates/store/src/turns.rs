//! Turns and their details, as they are read back.

use longhaul_core::Millis;
use longhaul_transcript::{HOOK_RECORDS, is_hook_record};
use rusqlite::{Row, ToSql};

use crate::{Store, StoreError, cannot, limit};

/// A turn with what was said in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The session that it was in at first.
    pub origin: String,
    /// Its number there.
    pub number: i64,
    /// Who asked.
    pub role: String,
    /// What was asked.
    pub asked: String,
    /// When.
    pub at: Millis,
    /// What the model said.
    pub replied: String,
    /// When.
    pub replied_at: Millis,
    /// The turn in one line: by a model where one was asked, else by rule.
    pub skeleton: String,
    /// Whether there is more: tool calls, attachments, thoughts.
    pub has_detail: bool,
    /// Characters of everything in it.
    pub chars: u64,
}

/// A piece of detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// `tool_input`, `tool_output`, `system`, `image` or `thinking`.
    pub kind: String,
    /// The tool, or what the attachment is.
    pub name: String,
    /// The text.
    pub text: String,
    /// Whether a tool failed.
    pub is_error: bool,
    /// When.
    pub at: Millis,
}

/// Where turns are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within<'a> {
    /// In sessions whose id begins so.
    Session(&'a str),
    /// In the sessions of a project, which is told by its key.
    Project(&'a str),
    /// In all that there are.
    Everything,
}

impl<'a> Within<'a> {
    /// Returns the condition, and what stands for `?1` in it.
    fn condition(self) -> (&'static str, &'a str) {
        match self {
            Self::Session(prefix) => ("substr(t.origin_session_id, 1, length(?1)) = ?1", prefix),
            Self::Project(key) => {
                ("t.origin_session_id IN (SELECT session_id FROM sessions WHERE project_key = ?1)", key)
            }
            Self::Everything => ("?1 = ''", ""),
        }
    }
}

/// A fork's transcript begins with a copy of its origin's: of a turn that came by both, the session's own counts.
const ONCE: &str = "(t.turn_id BETWEEN 'hook:' AND 'hook;' OR NOT EXISTS (
        SELECT 1 FROM turns o WHERE t.origin_session_id <> t.session_id
            AND o.origin_session_id = t.session_id AND o.turn_id = t.turn_id
        UNION ALL
        SELECT 1 FROM turns o WHERE t.origin_session_id <> t.session_id
            AND o.session_id = t.session_id AND o.created_at = t.created_at AND o.turn_id = t.turn_id
            AND o.origin_session_id > t.origin_session_id AND o.replaced = 0))";

const TURNS: &str = "SELECT t.origin_session_id, t.turn_number, t.role, coalesce(u.text, ''), t.created_at,
        trim(coalesce(a.text, '') || iif(t.pending_reply IS NULL, '', char(10) || char(10) || t.pending_reply), char(10)),
        coalesce(a.created_at, t.created_at), coalesce(nullif(m.summary, ''), s.summary, ''),
        EXISTS (SELECT 1 FROM details d WHERE d.origin_session_id = t.origin_session_id AND d.turn_number = t.turn_number
                AND coalesce(d.tool_name, '') NOT IN (HOOK_RECORDS)),
        t.chars
     FROM turns t
     LEFT JOIN bodies u ON u.session_id = t.session_id AND u.origin_session_id = t.origin_session_id
                       AND u.turn_number = t.turn_number AND u.role = 'user'
     LEFT JOIN bodies a ON a.session_id = t.session_id AND a.origin_session_id = t.origin_session_id
                       AND a.turn_number = t.turn_number AND a.role = 'assistant'
     LEFT JOIN skeletons s ON s.session_id = t.session_id AND s.origin_session_id = t.origin_session_id
                          AND s.turn_number = t.turn_number AND s.role = 'turn'
     LEFT JOIN skeletons m ON m.session_id = t.session_id AND m.origin_session_id = t.origin_session_id
                          AND m.turn_number = t.turn_number AND m.role = 'model'
     WHERE t.replaced = 0";

impl Store {
    /// Returns a session's own newest turns, the oldest first, at a cost that does not grow with how many there are.
    pub fn newest_turns(&self, session: &str, most: usize) -> Result<Vec<Turn>, StoreError> {
        let failed = cannot("read the turns");
        let sql = format!("{} AND t.origin_session_id = ?1 ORDER BY t.turn_number DESC {}", turns(), limit(most));
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let rows = statement.query_map([session], read).map_err(&failed)?;
        let mut turns: Vec<Turn> = rows.collect::<Result<_, _>>().map_err(failed)?;
        turns.reverse();
        Ok(turns)
    }

    /// Returns a session's newest turns, those that it inherited included, the oldest first; and how many there are older.
    ///
    /// Those that `besides` has itself, as a fork has its origin's, are left out.
    pub fn turns(&self, session: &str, besides: Option<&str>, most: usize) -> Result<(Vec<Turn>, usize), StoreError> {
        let failed = cannot("read the turns");
        let wanted = format!(
            "t.session_id = ?1 AND {ONCE}
             AND NOT EXISTS (SELECT 1 FROM turns o WHERE o.origin_session_id = ?2 AND o.turn_id = t.turn_id)"
        );
        // By their order, and not by time alone, for a clock may step back: a turn counts as no later than any that follows it
        // in its session.
        let newest = format!(
            "SELECT t.origin_session_id AS origin, t.turn_number AS number,
                    min(t.created_at) OVER (PARTITION BY t.origin_session_id ORDER BY t.turn_number DESC) AS placed
             FROM turns t WHERE t.replaced = 0 AND {wanted} ORDER BY placed DESC, origin = t.session_id DESC, number DESC {}",
            limit(most)
        );
        let joined = format!(
            "FROM ({newest}) k CROSS JOIN turns t ON t.origin_session_id = k.origin AND t.turn_number = k.number"
        );
        let order = "ORDER BY k.placed DESC, k.origin = t.session_id DESC, k.number DESC";
        let sql = format!("{} {order}", turns().replace("FROM turns t", &joined));
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let rows = statement.query_map((session, besides), read).map_err(&failed)?;
        let mut turns: Vec<Turn> = rows.collect::<Result<_, _>>().map_err(&failed)?;
        turns.reverse();
        let sql = format!("SELECT count(*) FROM turns t WHERE t.replaced = 0 AND {wanted}");
        let all: i64 = self.connection.query_row(&sql, (session, besides), |row| row.get(0)).map_err(failed)?;
        let older = usize::try_from(all).unwrap_or_default().saturating_sub(turns.len());
        Ok((turns, older))
    }

    /// Returns whether a turn of a session's own transcript is stored.
    pub fn has_turn(&self, session: &str, turn: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM turns WHERE origin_session_id = ?1 AND turn_id = ?2)";
        self.connection.query_row(sql, (session, turn), |row| row.get(0)).map_err(cannot("look for the turn"))
    }

    /// Returns the turns that began between two moments, the oldest first.
    pub fn turns_between(&self, within: Within<'_>, from: Millis, to: Millis) -> Result<Vec<Turn>, StoreError> {
        let order = "AND t.created_at BETWEEN ?2 AND ?3 ORDER BY t.origin_session_id, t.turn_number";
        self.list_turns(within, order, &[&(from.0 as i64), &(to.0 as i64)]).map(in_order)
    }

    /// Returns the turn that ran at a moment: the last that began before it.
    pub fn turn_at(&self, within: Within<'_>, at: Millis) -> Result<Option<Turn>, StoreError> {
        let before = "AND t.created_at <= ?2";
        let latest = format!("{before} ORDER BY t.created_at DESC, t.turn_number DESC LIMIT 1");
        let Some(latest) = self.list_turns(within, &latest, &[&(at.0 as i64)])?.pop() else { return Ok(None) };
        // In that session, a later one may have an earlier time.
        let last = format!("{before} AND t.origin_session_id = ?3 ORDER BY t.turn_number DESC LIMIT 1");
        self.list_turns(within, &last, &[&(at.0 as i64), &latest.origin]).map(|mut turns| turns.pop())
    }

    /// Returns the turns whose id begins so, or whose number it is, the newest first.
    pub fn turns_named(&self, within: Within<'_>, name: &str) -> Result<Vec<Turn>, StoreError> {
        let order = "AND iif(?2 GLOB '[0-9]*' AND length(?2) < 8, CAST(t.turn_number AS TEXT) = ?2,
                             substr(t.turn_id, 1, length(?2)) = ?2)
                     ORDER BY t.origin_session_id, t.turn_number";
        let mut turns = self.list_turns(within, order, &[&name]).map(in_order)?;
        turns.reverse();
        Ok(turns)
    }

    fn list_turns(&self, within: Within<'_>, order: &str, values: &[&dyn ToSql]) -> Result<Vec<Turn>, StoreError> {
        let failed = cannot("read the turns");
        let (condition, place) = within.condition();
        // Who names a session means its turns, wherever else there is a copy.
        let once = if matches!(within, Within::Session(_)) { "1" } else { ONCE };
        let sql = format!("{} AND {condition} AND {once} {order}", turns());
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let all: Vec<&dyn ToSql> = std::iter::once(&place as &dyn ToSql).chain(values.iter().copied()).collect();
        let rows = statement.query_map(all.as_slice(), read).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// Returns whether a session has turns of its own.
    pub fn has_turns(&self, session: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM turns WHERE origin_session_id = ?1 AND replaced = 0)";
        self.connection.query_row(sql, [session], |row| row.get(0)).map_err(cannot("look for turns"))
    }

    /// Returns a turn's details, in the order in which they came, without the client's notes of hooks that ran.
    pub fn details(&self, turn: &Turn) -> Result<Vec<Detail>, StoreError> {
        let failed = cannot("read the details");
        let mut statement = self
            .connection
            .prepare(
                "SELECT kind, coalesce(tool_name, ''), coalesce(input_text, output_text, ''), is_error, created_at
                 FROM details WHERE origin_session_id = ?1 AND turn_number = ?2 ORDER BY created_at, rowid",
            )
            .map_err(&failed)?;
        let rows = statement
            .query_map((&turn.origin, turn.number), |row| {
                Ok(Detail {
                    kind: row.get(0)?,
                    name: row.get(1)?,
                    text: row.get(2)?,
                    is_error: row.get(3)?,
                    at: Millis(row.get::<_, i64>(4)?.unsigned_abs()),
                })
            })
            .map_err(&failed)?;
        let mut details: Vec<Detail> = rows.collect::<Result<_, _>>().map_err(failed)?;
        // Earlier versions have stored them.
        details.retain(|detail| detail.kind != "system" || !is_hook_record(&detail.name, &detail.text));
        Ok(details)
    }
}

/// Returns the statement that reads turns, up to its first condition.
fn turns() -> String {
    // Names of our own: nothing in them needs quoting.
    TURNS.replace("HOOK_RECORDS", &format!("'{}'", HOOK_RECORDS.join("','")))
}

/// Returns turns, which come session by session in their order, by their time: a turn counts as no later than any that
/// follows it in its session, for a clock may step back.
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

fn read(row: &Row<'_>) -> rusqlite::Result<Turn> {
    let millis = |column: usize| row.get::<_, i64>(column).map(|ms| Millis(ms.unsigned_abs()));
    Ok(Turn {
        origin: row.get(0)?,
        number: row.get(1)?,
        role: row.get(2)?,
        asked: row.get(3)?,
        at: millis(4)?,
        replied: row.get(5)?,
        replied_at: millis(6)?,
        skeleton: row.get(7)?,
        has_detail: row.get(8)?,
        chars: row.get::<_, i64>(9)?.unsigned_abs(),
    })
}
