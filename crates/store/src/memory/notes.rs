//! Notes: records that a person, or a model on request, has written.

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy};
use rusqlite::Connection;

use super::What;
use super::session_row::{MemorySession, add_project};
use crate::recall::index;
use crate::row_ids::Time;
use crate::{Store, StoreError};

/// A note, to be stored.
///
/// It belongs to a project, and to a session only if it was made in one: no session is invented for it, because an invented
/// one would be offered for a handoff like any other.
#[derive(Debug, Clone)]
pub struct NewNote<'a> {
    /// The session in which it was made, if any; the note then belongs to the session's project.
    pub session: Option<&'a str>,
    /// The key of the project.
    pub project_key: &'a str,
    /// The project's name.
    pub project: &'a str,
    /// The note in one line.
    pub title: &'a str,
    /// The whole note.
    pub text: &'a str,
    /// When it was made.
    pub at: Millis,
}

impl Store {
    /// Stores a note; returns its number among the observations.
    pub fn save_note(&self, note: &NewNote<'_>) -> Result<i64, StoreError> {
        self.write("save the note", |tx| save(tx, note))
    }
}

pub(super) fn save(connection: &Connection, note: &NewNote<'_>) -> rusqlite::Result<i64> {
    let session = match note.session {
        Some(session) => MemorySession::find(connection, session)?,
        None => None,
    };
    let (session, project, prompt) = match session {
        Some(session) => (Some(session.row), session.project, session.prompts),
        None => (None, add_project(connection, note.project_key, note.project)?, 0),
    };
    let id = connection.query_row(
        "INSERT INTO observations (session_id, project_id, prompt_number, kind, tool_name, title, narrative, facts,
                                   files_read, files_modified, made_by, created_at)
         VALUES (?1, ?2, ?3, ?4, '', ?5, ?6, '[]', '[]', '[]', ?7, ?8) RETURNING id",
        (session, project, prompt, Kind::Note.as_str(), note.title, note.text, MadeBy::Person.as_str(), Time(note.at)),
        |row| row.get(0),
    )?;
    index::add(connection, What::Observation, id)?;
    Ok(id)
}
