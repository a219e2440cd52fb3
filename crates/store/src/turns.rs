//! Turns and their details, as they are read back.

use longhaul_core::Millis;
use rusqlite::{OptionalExtension, Row};

use crate::{Store, StoreError, cannot};

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
    /// The turn in one line.
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

const TURNS: &str = "SELECT t.origin_session_id, t.turn_number, t.role, coalesce(u.text, ''), t.created_at,
        trim(coalesce(a.text, '') || iif(t.pending_reply IS NULL, '', char(10) || char(10) || t.pending_reply), char(10)),
        coalesce(a.created_at, t.created_at), coalesce(s.summary, ''),
        EXISTS (SELECT 1 FROM details d WHERE d.origin_session_id = t.origin_session_id AND d.turn_number = t.turn_number),
        t.chars
     FROM turns t
     LEFT JOIN bodies u ON u.session_id = t.session_id AND u.origin_session_id = t.origin_session_id
                       AND u.turn_number = t.turn_number AND u.role = 'user'
     LEFT JOIN bodies a ON a.session_id = t.session_id AND a.origin_session_id = t.origin_session_id
                       AND a.turn_number = t.turn_number AND a.role = 'assistant'
     LEFT JOIN skeletons s ON s.session_id = t.session_id AND s.origin_session_id = t.origin_session_id
                          AND s.turn_number = t.turn_number AND s.role = 'turn'
     WHERE t.replaced = 0";

impl Store {
    /// Returns a session's newest turns, those that it inherited included, the oldest first; and how many there are older.
    pub fn turns(&self, session: &str, most: usize) -> Result<(Vec<Turn>, usize), StoreError> {
        let failed = cannot("read the turns");
        let sql = format!("{TURNS} AND t.session_id = ?1 ORDER BY t.created_at DESC, t.turn_number DESC LIMIT ?2");
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let rows = statement.query_map((session, most as i64), read).map_err(&failed)?;
        let mut turns: Vec<Turn> = rows.collect::<Result<_, _>>().map_err(&failed)?;
        turns.reverse();
        let all: i64 = self
            .connection
            .query_row("SELECT count(*) FROM turns WHERE session_id = ?1 AND replaced = 0", [session], |row| row.get(0))
            .map_err(failed)?;
        let older = usize::try_from(all).unwrap_or_default().saturating_sub(turns.len());
        Ok((turns, older))
    }

    /// Returns the turns that began between two moments, of sessions whose id begins with `prefix`, the oldest first.
    pub fn turns_between(&self, prefix: &str, from: Millis, to: Millis) -> Result<Vec<Turn>, StoreError> {
        let failed = cannot("read the turns");
        let sql = format!(
            "{TURNS} AND substr(t.origin_session_id, 1, length(?1)) = ?1 AND t.created_at BETWEEN ?2 AND ?3
             ORDER BY t.created_at, t.turn_number"
        );
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let rows = statement.query_map((prefix, from.0 as i64, to.0 as i64), read).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// Returns the turn that ran at a moment: the last that began before it.
    pub fn turn_at(&self, prefix: &str, at: Millis) -> Result<Option<Turn>, StoreError> {
        let sql = format!(
            "{TURNS} AND substr(t.origin_session_id, 1, length(?1)) = ?1 AND t.created_at <= ?2
             ORDER BY t.created_at DESC, t.turn_number DESC LIMIT 1"
        );
        self.connection.query_row(&sql, (prefix, at.0 as i64), read).optional().map_err(cannot("read the turn"))
    }

    /// Returns the turns whose id begins so, or whose number it is, of sessions whose id begins with `prefix`.
    pub fn turns_named(&self, prefix: &str, name: &str) -> Result<Vec<Turn>, StoreError> {
        let failed = cannot("read the turn");
        let sql = format!(
            "{TURNS} AND substr(t.origin_session_id, 1, length(?1)) = ?1
               AND iif(?2 GLOB '[0-9]*' AND length(?2) < 8, CAST(t.turn_number AS TEXT) = ?2,
                       substr(t.turn_id, 1, length(?2)) = ?2)
             ORDER BY t.created_at DESC"
        );
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let rows = statement.query_map((prefix, name), read).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// Returns a turn's details, in the order in which they came.
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
        rows.collect::<Result<_, _>>().map_err(failed)
    }
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
