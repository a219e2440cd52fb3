//! Throughline's database: prompts, replies and tool calls.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_core::Millis;

use super::{Columns, Foreign, number, text, time};
use crate::StoreError;

/// The number of a turn, as an expression.
const NUMBER: &str = "coalesce(CAST(turn_number AS INTEGER), 0)";

#[derive(Debug)]
pub struct Throughline {
    foreign: Foreign,
    bodies: Columns,
    details: Columns,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldSession {
    /// Its id in the client.
    pub id: String,
    pub folder: String,
    pub at: Option<Millis>,
}

/// A turn without its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldTurnSize {
    pub number: i64,
    /// The length of its texts and details together.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OldTurn {
    pub number: i64,
    pub asked: String,
    pub replied: String,
    pub at: Option<Millis>,
    pub replied_at: Option<Millis>,
    pub details: Vec<OldDetail>,
}

/// A detail of a turn: the input or output of a tool, an attachment, a thought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldDetail {
    /// `tool_input`, `tool_output`, `system`, `image`, `thinking`; empty in the oldest version, which has input and output in one row.
    pub kind: String,
    pub name: String,
    /// Its id; the output of a call has `:result` behind the call's id.
    pub source: String,
    pub input: String,
    pub output: String,
    pub at: Option<Millis>,
}

impl Throughline {
    /// Opens it; fails if it is no database of Throughline.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let foreign = Foreign::open(path)?;
        foreign.must_have("sessions", &[&["session_id"], &["project_path"]])?;
        let bodies = foreign.must_have("bodies", &[&["session_id"], &["turn_number"], &["role"], &["text"]])?;
        let details = foreign.columns("details")?;
        Ok(Self { foreign, bodies, details })
    }

    /// Returns every session that has turns, the oldest first.
    ///
    /// A turn belongs to the session in which it ran, whichever session has inherited it since.
    pub fn sessions(&self) -> Result<Vec<OldSession>, StoreError> {
        let columns = self.foreign.columns("sessions")?;
        let origin = origin(&self.bodies);
        let sql = format!(
            "SELECT s.session_id, s.project_path, {} AS at FROM sessions s
             WHERE s.session_id IN (SELECT {origin} FROM bodies) ORDER BY at, s.session_id",
            columns.time(&[], "created_at")
        );
        self.foreign
            .rows(&sql, [], |row| Ok(OldSession { id: text(row, 0)?, folder: text(row, 1)?, at: time(row, 2)? }))
    }

    /// Returns how large a session's turns are, in order.
    pub fn turn_sizes(&self, session: &str) -> Result<Vec<OldTurnSize>, StoreError> {
        let sizes = |table: &str, columns: &Columns, texts: &[&str]| {
            let lengths = texts.iter().filter_map(|name| columns.first(&[name]));
            let lengths: Vec<String> = lengths.map(|name| format!("coalesce(octet_length({name}), 0)")).collect();
            let sum = if lengths.is_empty() { "0".to_owned() } else { lengths.join(" + ") };
            let origin = origin(columns);
            let sql =
                format!("SELECT {NUMBER} AS n, sum({sum}) FROM {table} WHERE {origin} = ?1 GROUP BY n ORDER BY n");
            let size = |row: &rusqlite::Row<'_>| Ok((number(row, 0)?.unwrap_or_default(), number(row, 1)?));
            self.foreign.rows(&sql, [session], size)
        };
        let bytes = |bytes: Option<i64>| bytes.unwrap_or_default().unsigned_abs();
        let mut turns: BTreeMap<i64, u64> =
            sizes("bodies", &self.bodies, &["text"])?.into_iter().map(|(number, size)| (number, bytes(size))).collect();
        if self.has_details() {
            for (number, size) in sizes("details", &self.details, &["input_text", "output_text"])? {
                if let Some((_, turn)) = turns.range_mut(number..).next() {
                    *turn += bytes(size);
                }
            }
        }
        Ok(turns.into_iter().map(|(number, bytes)| OldTurnSize { number, bytes }).collect())
    }

    /// Returns a session's turns in order: those after the number `after`, up to the number `last`.
    pub fn turns(&self, session: &str, after: i64, last: i64) -> Result<Vec<OldTurn>, StoreError> {
        let mut turns: BTreeMap<i64, OldTurn> = BTreeMap::new();
        let sql = format!(
            "SELECT {NUMBER}, role, {}, {} FROM bodies WHERE {} = ?1 AND {NUMBER} > ?2 AND {NUMBER} <= ?3
             ORDER BY turn_number, rowid",
            self.bodies.text(&["text"]),
            self.bodies.time(&[], "created_at"),
            origin(&self.bodies),
        );
        let said = self.foreign.rows(&sql, (session, after, last), |row| {
            Ok((number(row, 0)?.unwrap_or_default(), text(row, 1)?, text(row, 2)?, time(row, 3)?))
        })?;
        for (number, role, text, at) in said {
            let turn = turns.entry(number).or_insert_with(|| OldTurn { number, ..OldTurn::default() });
            match role.as_str() {
                "user" => (turn.asked, turn.at) = (text, at),
                _ => (turn.replied, turn.replied_at) = (text, at),
            }
        }
        for (number, detail) in self.details(session, after, last)? {
            // A detail without a turn was made between two turns: it belongs to the next.
            if let Some((_, turn)) = turns.range_mut(number..).next() {
                turn.details.push(detail);
            }
        }
        Ok(turns.into_values().collect())
    }

    fn has_details(&self) -> bool {
        self.details.first(&["tool_name"]).is_some()
    }

    fn details(&self, session: &str, after: i64, last: i64) -> Result<Vec<(i64, OldDetail)>, StoreError> {
        let columns = &self.details;
        if !self.has_details() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT {NUMBER}, {}, {}, {}, {}, {}, {} AS at FROM details
             WHERE {} = ?1 AND {NUMBER} > ?2 AND {NUMBER} <= ?3 ORDER BY at, rowid",
            columns.text(&["kind"]),
            columns.text(&["tool_name"]),
            columns.text(&["source_id"]),
            columns.text(&["input_text"]),
            columns.text(&["output_text"]),
            columns.time(&[], "created_at"),
            origin(columns),
        );
        self.foreign.rows(&sql, (session, after, last), |row| {
            let detail = OldDetail {
                kind: text(row, 1)?,
                name: text(row, 2)?,
                source: text(row, 3)?,
                input: text(row, 4)?,
                output: text(row, 5)?,
                at: time(row, 6)?,
            };
            Ok((number(row, 0)?.unwrap_or_default(), detail))
        })
    }
}

/// Returns the column or expression for the session in which a row was made.
fn origin(columns: &Columns) -> &'static str {
    match columns.first(&["origin_session_id"]) {
        Some(_) => "coalesce(origin_session_id, session_id)",
        None => "session_id",
    }
}
