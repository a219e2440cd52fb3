//! claude-mem's database, in all its versions: the columns that refer to a session have changed twice.

use std::path::Path;

use longhaul_core::Millis;
use longhaul_memory::Summary;

use super::{Columns, Foreign, list, number, text, time};
use crate::StoreError;

/// The columns by which an observation or a summary refers to its session, the newest version first.
const SITTING: [&str; 3] = ["memory_session_id", "sdk_session_id", "session_id"];
/// The columns that hold the client's id of a session.
const CLIENT: [&str; 2] = ["content_session_id", "claude_session_id"];

/// The columns by which a prompt refers to its session.
const ASKED_IN: [&str; 3] = ["content_session_id", "claude_session_id", "session_id"];

#[derive(Debug)]
pub struct ClaudeMem {
    foreign: Foreign,
    sessions: Columns,
    prompts: Columns,
    observations: Columns,
    summaries: Columns,
}

/// The columns by which each table refers to a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sitting {
    row: i64,
    client: String,
    own: String,
}

/// A session of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSession {
    /// The values that refer to it in the tables.
    pub sitting: Sitting,
    /// Its id in the client.
    pub id: String,
    /// The project's name; claude-mem does not store its folder.
    pub project: String,
    pub at: Option<Millis>,
    pub completed: Option<Millis>,
}

/// A record without its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignHead {
    /// Its position in the table.
    place: i64,
    pub id: i64,
    /// The number of the prompt in its session.
    pub number: Option<i64>,
    pub at: Option<Millis>,
}

/// The records of a session, in order, without their texts. Those are read one by one: together they may not fit into memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForeignRecords {
    pub prompts: Vec<ForeignHead>,
    pub observations: Vec<ForeignHead>,
    pub summaries: Vec<ForeignHead>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignObservation {
    /// Its kind, as claude-mem names it.
    pub kind: String,
    pub title: String,
    pub subtitle: String,
    pub narrative: String,
    pub facts: Vec<String>,
    /// Concepts that it belongs to.
    pub concepts: Vec<String>,
    pub files_read: Vec<String>,
    pub files_modified: Vec<String>,
    /// The tool, its input and its output; empty in versions that do not store them.
    pub tool: String,
    pub input: String,
    pub response: String,
    pub project: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSummary {
    /// Its fields that Longhaul has too.
    pub summary: Summary,
    pub notes: String,
}

impl ClaudeMem {
    /// Opens it; fails if it is no database of claude-mem.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let foreign = Foreign::open(path)?;
        let sessions = foreign.must_have("sdk_sessions", &[&["id"], &CLIENT, &["project"]])?;
        let observations = foreign.must_have("observations", &[&["id"], &SITTING])?;
        // Older versions have none of these tables.
        let prompts = foreign.columns("user_prompts")?;
        let summaries = foreign.columns("session_summaries")?;
        Ok(Self { foreign, sessions, prompts, observations, summaries })
    }

    /// Returns how many observations there are.
    pub fn observation_count(&self) -> Result<usize, StoreError> {
        self.foreign.count("observations")
    }

    /// Returns every session, the oldest first.
    pub fn sessions(&self) -> Result<Vec<ForeignSession>, StoreError> {
        let columns = &self.sessions;
        let sql = format!(
            "SELECT id, {}, {}, {}, {}, {} FROM sdk_sessions ORDER BY 5, id",
            columns.text(&CLIENT),
            columns.text(&SITTING[..2]),
            columns.text(&["project"]),
            columns.time(&["started_at_epoch", "created_at_epoch"], columns.or_null(&["started_at", "created_at"])),
            columns.time(&["completed_at_epoch"], "completed_at"),
        );
        self.foreign.rows(&sql, [], |row| {
            let sitting = Sitting { row: row.get(0)?, client: text(row, 1)?, own: text(row, 2)? };
            let (id, project) = (sitting.client.clone(), text(row, 3)?);
            Ok(ForeignSession { sitting, id, project, at: time(row, 4)?, completed: time(row, 5)? })
        })
    }

    pub fn records(&self, sitting: &Sitting) -> Result<ForeignRecords, StoreError> {
        let (prompts, observations, summaries) = (&self.prompts, &self.observations, &self.summaries);
        Ok(ForeignRecords {
            prompts: self.heads("user_prompts", prompts, &ASKED_IN, "3, id", sitting)?,
            observations: self.heads("observations", observations, &SITTING, "at, id", sitting)?,
            summaries: self.heads("session_summaries", summaries, &SITTING, "at, id", sitting)?,
        })
    }

    /// Returns the observations whose session is not in the database.
    pub fn strays(&self) -> Result<Vec<ForeignHead>, StoreError> {
        let by = self.observations.or_null(&SITTING);
        let known = if by == "session_id" { "id" } else { self.sessions.or_null(&[by]) };
        let sql = format!(
            "{} WHERE {by} IS NULL OR {by} NOT IN (SELECT {known} FROM sdk_sessions WHERE {known} IS NOT NULL)
             ORDER BY at, id",
            select_heads("observations", &self.observations)
        );
        self.foreign.rows(&sql, [], head)
    }

    fn heads(
        &self,
        table: &str,
        columns: &Columns,
        by: &[&'static str],
        order: &str,
        sitting: &Sitting,
    ) -> Result<Vec<ForeignHead>, StoreError> {
        let Some(by) = columns.first(by) else { return Ok(Vec::new()) };
        let sql = format!("{} WHERE {by} = ?1 ORDER BY {order}", select_heads(table, columns));
        self.foreign.rows(&sql, [sitting.named(by)], head)
    }

    /// Returns the text of a prompt; `None` if it is gone.
    pub fn prompt(&self, head: &ForeignHead) -> Result<Option<String>, StoreError> {
        let prompt = self.prompts.text(&["prompt_text", "prompt"]);
        let sql = format!("SELECT {prompt} FROM user_prompts WHERE rowid = ?1");
        Ok(self.foreign.rows(&sql, [head.place], |row| text(row, 0))?.pop())
    }

    /// Returns an observation; `None` if it is gone.
    pub fn observation(&self, head: &ForeignHead) -> Result<Option<ForeignObservation>, StoreError> {
        let columns = &self.observations;
        let column = |name: &str| columns.text(&[name]);
        let narrative = match (columns.first(&["narrative"]), columns.first(&["text", "compressed_observation"])) {
            (Some(narrative), Some(other)) => {
                format!("coalesce(nullif({}, ''), {})", columns.text(&[narrative]), columns.text(&[other]))
            }
            (Some(only), None) | (None, Some(only)) => columns.text(&[only]),
            (None, None) => "NULL".to_owned(),
        };
        let names = ["facts", "concepts", "files_read", "files_modified", "tool_name"];
        let sql = format!(
            "SELECT {}, {}, {}, {narrative}, {}, {}, {}, {} FROM observations WHERE rowid = ?1",
            column("type"),
            column("title"),
            column("subtitle"),
            names.map(column).join(", "),
            column("tool_input_text"),
            column("tool_response_text"),
            column("project"),
        );
        Ok(self.foreign.rows(&sql, [head.place], observation)?.pop())
    }

    /// Returns a summary; `None` if it is gone.
    pub fn summary(&self, head: &ForeignHead) -> Result<Option<ForeignSummary>, StoreError> {
        let names = ["request", "investigated", "learned", "completed", "next_steps", "notes"];
        let parts = names.map(|name| self.summaries.text(&[name])).join(", ");
        let sql = format!("SELECT {parts} FROM session_summaries WHERE rowid = ?1");
        let mut found = self.foreign.rows(&sql, [head.place], |row| {
            let mut summary = Summary::new(text(row, 0)?);
            summary.investigated = text(row, 1)?;
            summary.learned = text(row, 2)?;
            summary.completed = text(row, 3)?;
            summary.next_steps = text(row, 4)?;
            Ok(ForeignSummary { summary, notes: text(row, 5)? })
        })?;
        Ok(found.pop())
    }
}

/// Returns the query for the heads of a table's records, all of them.
fn select_heads(table: &str, columns: &Columns) -> String {
    let at = columns.time(&["created_at_epoch"], "created_at");
    format!("SELECT rowid, id, {}, {at} AS at FROM {table}", columns.or_null(&["prompt_number"]))
}

fn head(row: &rusqlite::Row<'_>) -> rusqlite::Result<ForeignHead> {
    Ok(ForeignHead { place: row.get(0)?, id: row.get(1)?, number: number(row, 2)?, at: time(row, 3)? })
}

impl Sitting {
    /// Returns the value that refers to the session in a column.
    fn named(&self, column: &str) -> rusqlite::types::Value {
        match column {
            "session_id" => self.row.into(),
            column if CLIENT.contains(&column) => self.client.clone().into(),
            // A session without observations has no value there, and an empty value refers to no session.
            _ if self.own.is_empty() => rusqlite::types::Value::Null,
            _ => self.own.clone().into(),
        }
    }
}

fn observation(row: &rusqlite::Row<'_>) -> rusqlite::Result<ForeignObservation> {
    Ok(ForeignObservation {
        kind: text(row, 0)?,
        title: text(row, 1)?,
        subtitle: text(row, 2)?,
        narrative: text(row, 3)?,
        facts: list(row, 4)?,
        concepts: list(row, 5)?,
        files_read: list(row, 6)?,
        files_modified: list(row, 7)?,
        tool: text(row, 8)?,
        input: text(row, 9)?,
        response: text(row, 10)?,
        project: text(row, 11)?,
    })
}
