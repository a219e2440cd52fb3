//! What somebody wanted remembered.

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy};
use rusqlite::{Connection, TransactionBehavior};

use super::What;
use super::session_row::{Place, number_project};
use crate::recall::index;
use crate::{Store, StoreError, cannot};

/// A note, to be stored.
///
/// It belongs to a project. It needs no session, and no row is made up for one: a made-up session would be offered for
/// handing over like any other.
#[derive(Debug, Clone)]
pub struct NewNote<'a> {
    /// The session in which it was made, if any; its project is then the note's.
    pub session: Option<&'a str>,
    /// What tells projects apart.
    pub project_key: &'a str,
    /// The project's name.
    pub project: &'a str,
    /// It in one line.
    pub title: &'a str,
    /// All of it.
    pub text: &'a str,
    /// When.
    pub at: Millis,
}

impl Store {
    /// Stores a note; returns its number among the observations.
    pub fn save_note(&mut self, note: &NewNote<'_>) -> Result<i64, StoreError> {
        let failed = cannot("save the note");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let id = save(&transaction, note).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(id)
    }
}

pub(super) fn save(connection: &Connection, note: &NewNote<'_>) -> rusqlite::Result<i64> {
    let place = match note.session {
        Some(session) => Place::find(connection, session)?,
        None => None,
    };
    let (session, project, prompt) = match place {
        Some(place) => (Some(place.session), place.project, place.prompts),
        None => (None, number_project(connection, note.project_key, note.project)?, 0),
    };
    let id = connection.query_row(
        "INSERT INTO observations (session_id, project_id, prompt_number, kind, tool_name, title, narrative, facts,
                                   files_read, files_modified, made_by, created_at)
         VALUES (?1, ?2, ?3, ?4, '', ?5, ?6, '[]', '[]', '[]', ?7, ?8) RETURNING id",
        (
            session,
            project,
            prompt,
            Kind::Note.as_str(),
            note.title,
            note.text,
            MadeBy::Person.as_str(),
            note.at.0 as i64,
        ),
        |row| row.get(0),
    )?;
    index::add(connection, What::Observation, id)?;
    Ok(id)
}
