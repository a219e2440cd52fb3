//! Throughline's database: what was said, word for word, and what tools did.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_core::Millis;

use super::{Columns, Foreign, number, text, time};
use crate::StoreError;

/// Throughline's database.
#[derive(Debug)]
pub struct Throughline {
    foreign: Foreign,
    bodies: Columns,
    details: Columns,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldSession {
    /// The client's id.
    pub id: String,
    /// Its folder.
    pub folder: String,
    /// When it began.
    pub at: Option<Millis>,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OldTurn {
    /// Its number in the session.
    pub number: i64,
    /// What was asked.
    pub asked: String,
    /// What the model said.
    pub replied: String,
    /// When it was asked.
    pub at: Option<Millis>,
    /// When it was answered.
    pub replied_at: Option<Millis>,
    /// What else belongs to it, in order.
    pub details: Vec<OldDetail>,
}

/// What went into a tool, came out of it, or stood beside the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldDetail {
    /// `tool_input`, `tool_output`, `system`, `image`, `thinking`; empty in the oldest shape, which has both in one row.
    pub kind: String,
    /// The tool.
    pub name: String,
    /// By what it is known; the output of a call has `:result` behind the call's id.
    pub source: String,
    /// What went in.
    pub input: String,
    /// What came out.
    pub output: String,
    /// When.
    pub at: Option<Millis>,
}

impl Throughline {
    /// Opens it; fails where it is no database of Throughline.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let foreign = Foreign::open(path)?;
        foreign.must_have("sessions", &[&["session_id"], &["project_path"]])?;
        let bodies = foreign.must_have("bodies", &[&["session_id"], &["turn_number"], &["role"], &["text"]])?;
        let details = foreign.columns("details")?;
        Ok(Self { foreign, bodies, details })
    }

    /// Returns every session in which something was said, the oldest first.
    ///
    /// A turn belongs to the session that it was in at first, whoever has inherited it since.
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

    /// Returns a session's turns, in order.
    pub fn turns(&self, session: &str) -> Result<Vec<OldTurn>, StoreError> {
        let mut turns: BTreeMap<i64, OldTurn> = BTreeMap::new();
        let sql = format!(
            "SELECT turn_number, role, text, {} FROM bodies WHERE {} = ?1 ORDER BY turn_number, rowid",
            self.bodies.time(&[], "created_at"),
            origin(&self.bodies),
        );
        let said = self.foreign.rows(&sql, [session], |row| {
            Ok((number(row, 0)?.unwrap_or_default(), text(row, 1)?, text(row, 2)?, time(row, 3)?))
        })?;
        for (number, role, text, at) in said {
            let turn = turns.entry(number).or_insert_with(|| OldTurn { number, ..OldTurn::default() });
            match role.as_str() {
                "user" => (turn.asked, turn.at) = (text, at),
                _ => (turn.replied, turn.replied_at) = (text, at),
            }
        }
        for (number, detail) in self.details(session)? {
            // What belongs to no turn was between two: it came before the next.
            if let Some((_, turn)) = turns.range_mut(number..).next() {
                turn.details.push(detail);
            }
        }
        Ok(turns.into_values().collect())
    }

    fn details(&self, session: &str) -> Result<Vec<(i64, OldDetail)>, StoreError> {
        let columns = &self.details;
        if columns.first(&["tool_name"]).is_none() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT turn_number, {}, tool_name, {}, {}, {}, {} AS at FROM details WHERE {} = ?1 ORDER BY at, rowid",
            columns.or_null(&["kind"]),
            columns.or_null(&["source_id"]),
            columns.or_null(&["input_text"]),
            columns.or_null(&["output_text"]),
            columns.time(&[], "created_at"),
            origin(columns),
        );
        self.foreign.rows(&sql, [session], |row| {
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

/// Returns the column, or expression, that names the session that a row was in at first.
fn origin(columns: &Columns) -> &'static str {
    match columns.first(&["origin_session_id"]) {
        Some(_) => "coalesce(origin_session_id, session_id)",
        None => "session_id",
    }
}
