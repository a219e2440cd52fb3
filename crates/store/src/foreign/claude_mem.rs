//! claude-mem's database, in every shape that it has had: the columns that name a session have changed twice.

use std::path::Path;

use longhaul_core::Millis;
use longhaul_memory::Summary;

use super::{Columns, Foreign, list, number, text, time};
use crate::StoreError;

/// What an observation or a summary names its session by, the newest first.
const SITTING: [&str; 3] = ["memory_session_id", "sdk_session_id", "session_id"];
/// What a session is named by that came from the client.
const CLIENT: [&str; 2] = ["content_session_id", "claude_session_id"];

/// claude-mem's database.
#[derive(Debug)]
pub struct ClaudeMem {
    foreign: Foreign,
    sessions: Columns,
    prompts: Columns,
    observations: Columns,
    summaries: Columns,
}

/// By what the tables name a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sitting {
    row: i64,
    client: String,
    own: String,
}

/// A session of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSession {
    /// How to ask for more of it.
    pub sitting: Sitting,
    /// The client's id.
    pub id: String,
    /// The project's name; its folder is not known there.
    pub project: String,
    /// When it began.
    pub at: Option<Millis>,
    /// When it was over.
    pub completed: Option<Millis>,
}

/// What somebody asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPrompt {
    /// Its row.
    pub id: i64,
    /// Its number in the session.
    pub number: i64,
    /// What was asked.
    pub text: String,
    /// When.
    pub at: Option<Millis>,
}

/// What was observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignObservation {
    /// Its row.
    pub id: i64,
    /// The number of the prompt in its session.
    pub prompt_number: Option<i64>,
    /// What it is about, in that program's words.
    pub kind: String,
    /// It in one line.
    pub title: String,
    /// The same in a few more words.
    pub subtitle: String,
    /// It in a few lines.
    pub narrative: String,
    /// Single facts.
    pub facts: Vec<String>,
    /// What it is an example of.
    pub concepts: Vec<String>,
    /// Files that were read.
    pub files_read: Vec<String>,
    /// Files that were changed.
    pub files_modified: Vec<String>,
    /// The tool, and what went in and came out; empty in the shapes that keep none of it.
    pub tool: String,
    pub input: String,
    pub response: String,
    /// The project's name.
    pub project: String,
    /// When.
    pub at: Option<Millis>,
}

/// What a session came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSummary {
    /// Its row.
    pub id: i64,
    /// The number of the prompt in its session.
    pub prompt_number: Option<i64>,
    /// What it says.
    pub summary: Summary,
    /// What it says beside that.
    pub notes: String,
    /// When.
    pub at: Option<Millis>,
}

impl ClaudeMem {
    /// Opens it; fails where it is no database of claude-mem.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let foreign = Foreign::open(path)?;
        let sessions = foreign.must_have("sdk_sessions", &[&["id"], &CLIENT, &["project"]])?;
        let observations = foreign.must_have("observations", &[&["id"], &SITTING])?;
        // Older ones have none of these.
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
            "SELECT id, {}, {}, project, {}, {} FROM sdk_sessions ORDER BY 5, id",
            columns.or_null(&CLIENT),
            columns.or_null(&SITTING[..2]),
            columns.time(&["started_at_epoch", "created_at_epoch"], columns.or_null(&["started_at", "created_at"])),
            columns.time(&["completed_at_epoch"], "completed_at"),
        );
        self.foreign.rows(&sql, [], |row| {
            let sitting = Sitting { row: row.get(0)?, client: text(row, 1)?, own: text(row, 2)? };
            let (id, project) = (sitting.client.clone(), text(row, 3)?);
            Ok(ForeignSession { sitting, id, project, at: time(row, 4)?, completed: time(row, 5)? })
        })
    }

    /// Returns what was asked in a session, in order.
    pub fn prompts(&self, sitting: &Sitting) -> Result<Vec<ForeignPrompt>, StoreError> {
        let columns = &self.prompts;
        let Some(by) = columns.first(&["content_session_id", "claude_session_id", "session_id"]) else {
            return Ok(Vec::new());
        };
        let sql = format!(
            "SELECT id, prompt_number, {}, {} FROM user_prompts WHERE {by} = ?1 ORDER BY prompt_number, id",
            columns.or_null(&["prompt_text", "prompt"]),
            columns.time(&["created_at_epoch"], "created_at"),
        );
        self.foreign.rows(&sql, [sitting.named(by)], |row| {
            let number = number(row, 1)?.unwrap_or_default();
            Ok(ForeignPrompt { id: row.get(0)?, number, text: text(row, 2)?, at: time(row, 3)? })
        })
    }

    /// Returns what was observed in a session, in order.
    pub fn observations(&self, sitting: &Sitting) -> Result<Vec<ForeignObservation>, StoreError> {
        let by = self.observations.or_null(&SITTING);
        let sql = format!("{} WHERE {by} = ?1 ORDER BY at, id", self.observed());
        self.foreign.rows(&sql, [sitting.named(by)], observation)
    }

    /// Returns what was observed in no session that is there.
    pub fn strays(&self) -> Result<Vec<ForeignObservation>, StoreError> {
        let by = self.observations.or_null(&SITTING);
        let known = if by == "session_id" { "id" } else { self.sessions.or_null(&[by]) };
        let sql = format!(
            "{} WHERE {by} IS NULL OR {by} NOT IN (SELECT {known} FROM sdk_sessions WHERE {known} IS NOT NULL)
             ORDER BY at, id",
            self.observed()
        );
        self.foreign.rows(&sql, [], observation)
    }

    /// Returns what a session came to, in order.
    pub fn summaries(&self, sitting: &Sitting) -> Result<Vec<ForeignSummary>, StoreError> {
        let columns = &self.summaries;
        let Some(by) = columns.first(&SITTING) else { return Ok(Vec::new()) };
        let part = |name: &'static str| columns.or_null(&[name]);
        let sql = format!(
            "SELECT id, {}, {}, {}, {}, {}, {}, {}, {} AS at FROM session_summaries WHERE {by} = ?1 ORDER BY at, id",
            part("prompt_number"),
            part("request"),
            part("investigated"),
            part("learned"),
            part("completed"),
            part("next_steps"),
            part("notes"),
            columns.time(&["created_at_epoch"], "created_at"),
        );
        self.foreign.rows(&sql, [sitting.named(by)], |row| {
            let summary = Summary {
                request: text(row, 2)?,
                investigated: text(row, 3)?,
                learned: text(row, 4)?,
                completed: text(row, 5)?,
                next_steps: text(row, 6)?,
            };
            let (id, prompt_number) = (row.get(0)?, number(row, 1)?);
            Ok(ForeignSummary { id, prompt_number, summary, notes: text(row, 7)?, at: time(row, 8)? })
        })
    }

    /// Returns the query for observations, all of them.
    fn observed(&self) -> String {
        let columns = &self.observations;
        let one = |name: &'static str| columns.or_null(&[name]);
        let narrative = match (columns.first(&["narrative"]), columns.first(&["text", "compressed_observation"])) {
            (Some(narrative), Some(text)) => format!("coalesce(nullif({narrative}, ''), {text})"),
            (Some(only), None) | (None, Some(only)) => only.to_owned(),
            (None, None) => "NULL".to_owned(),
        };
        format!(
            "SELECT id, {}, {}, {}, {}, {narrative}, {}, {}, {}, {}, {}, {}, {}, {}, {} AS at FROM observations",
            one("prompt_number"),
            one("type"),
            one("title"),
            one("subtitle"),
            one("facts"),
            one("concepts"),
            one("files_read"),
            one("files_modified"),
            one("tool_name"),
            one("tool_input_text"),
            one("tool_response_text"),
            one("project"),
            columns.time(&["created_at_epoch"], "created_at"),
        )
    }
}

impl Sitting {
    /// Returns what stands for the session in a column.
    fn named(&self, column: &str) -> rusqlite::types::Value {
        match column {
            "session_id" => self.row.into(),
            column if CLIENT.contains(&column) => self.client.clone().into(),
            // One that nobody has observed anything in has no name there, and an empty one is nobody's.
            _ if self.own.is_empty() => rusqlite::types::Value::Null,
            _ => self.own.clone().into(),
        }
    }
}

fn observation(row: &rusqlite::Row<'_>) -> rusqlite::Result<ForeignObservation> {
    Ok(ForeignObservation {
        id: row.get(0)?,
        prompt_number: number(row, 1)?,
        kind: text(row, 2)?,
        title: text(row, 3)?,
        subtitle: text(row, 4)?,
        narrative: text(row, 5)?,
        facts: list(row, 6)?,
        concepts: list(row, 7)?,
        files_read: list(row, 8)?,
        files_modified: list(row, 9)?,
        tool: text(row, 10)?,
        input: text(row, 11)?,
        response: text(row, 12)?,
        project: text(row, 13)?,
        at: time(row, 14)?,
    })
}
