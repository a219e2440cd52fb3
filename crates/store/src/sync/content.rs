//! Reads rows of the memory as the entries of records.

use longhaul_core::text::cut_middle;
use longhaul_memory::REPLY_CHARS;
use longhaul_sync::{Body, BookmarkBody, EntityId, Entry, ObservationBody, ProjectId, PromptBody, SummaryBody};
use rusqlite::{Connection, Row};

use super::entities::EntityTable;
use crate::memory::records::{RawText, raw, texts};
use crate::recall::replies;
use crate::sql::Sql;

/// A row of the memory, in the form of a record.
pub(super) struct RowContent {
    /// The project's key here.
    pub(super) project_key: String,
    session: Option<String>,
    /// When it was made, in milliseconds of this host's clock.
    pub(super) at: i64,
    body: Body,
}

/// Reads a row; `None` if it does not exist.
pub(super) fn read(
    connection: &Connection,
    table: EntityTable,
    row: i64,
    raw_text: RawText,
) -> rusqlite::Result<Option<RowContent>> {
    match table {
        EntityTable::Prompts => prompt(connection, row),
        EntityTable::Observations => observation(connection, row, raw_text),
        EntityTable::Summaries => summary(connection, row),
        EntityTable::Bookmarks => bookmark(connection, row),
    }
}

impl RowContent {
    /// Returns the id of the entity that a row is, which has none yet: the same on every host that has the same row.
    pub(super) fn entity(&self, row: i64) -> EntityId {
        let session = self.session.as_deref().unwrap_or_default().as_bytes();
        let (at, number) = (self.at.to_be_bytes(), row.to_be_bytes());
        let text = match &self.body {
            Body::Prompt(body) => body.prompt.as_str(),
            Body::Observation(body) | Body::Note(body) => body.narrative.as_str(),
            Body::Summary(body) => body.request.as_str(),
            Body::Bookmark(_) => "",
        };
        // A copy of the host has another row with the same number, and so have others: time and text tell them apart. Without
        // the id of the host: a row that was copied before it was sent is the same on both.
        let here: [&[u8]; 4] = [session, &number, &at, text.as_bytes()];
        match &self.body {
            Body::Prompt(body) => match &body.prompt_id {
                Some(id) => EntityId::of("prompt", &[session, id.as_bytes()]),
                None => EntityId::of("prompt", &[session, &at, body.prompt.as_bytes()]),
            },
            Body::Observation(body) => match &body.tool_use_id {
                Some(id) => EntityId::of("observation", &[id.as_bytes()]),
                None => EntityId::of("observation", &here),
            },
            // A summary that was deleted may be made again: it is another entity then.
            Body::Summary(_) => EntityId::of("summary", &here),
            Body::Note(_) => EntityId::of("note", &here),
            Body::Bookmark(_) => EntityId::of("bookmark", &[session, &at]),
        }
    }

    /// Returns it as the entry of a record; the time is that of this host's clock.
    pub(super) fn entry(self, entity: EntityId, project: ProjectId) -> Entry {
        let mut entry = Entry::new(entity, project, self.body);
        entry.session = self.session;
        entry.at_ms = self.at.unsigned_abs();
        entry
    }

    /// Returns whether nothing more is to be expected of it, apart from a reply that grows.
    pub(super) fn has_reply(&self) -> bool {
        match &self.body {
            Body::Prompt(body) => !body.reply.trim().is_empty(),
            _ => true,
        }
    }
}

/// What all tables of the memory are read with.
const HEAD: &str = "p.project_key, s.session_id, t.created_at, t.prompt_number";

fn read_row<T>(
    connection: &Connection,
    table: &str,
    columns: &str,
    id: i64,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    let sql = format!(
        "SELECT {HEAD}, {columns} FROM {table} t JOIN projects p ON p.id = t.project_id
         LEFT JOIN sessions s ON s.id = t.session_id WHERE t.id = ?1"
    );
    connection.first_with(&sql, [id], read)
}

fn prompt(connection: &Connection, id: i64) -> rusqlite::Result<Option<RowContent>> {
    // Another host stores no more of it, and a record has a limit.
    let reply = cut_middle(&replies::to_prompt(connection, id)?, REPLY_CHARS);
    read_row(connection, "prompts", "t.prompt_id, t.prompt", id, |row| {
        let mut body = PromptBody::default();
        body.number = row.get(3)?;
        body.prompt_id = row.get(4)?;
        body.prompt = row.get(5)?;
        body.reply = reply;
        content(row, Body::Prompt(body))
    })
}

fn observation(connection: &Connection, id: i64, raw_text: RawText) -> rusqlite::Result<Option<RowContent>> {
    let columns = "t.tool_use_id, t.kind, t.tool_name, t.title, t.narrative, t.facts, t.files_read, t.files_modified,
                   t.command_key, t.repeats, t.made_by";
    let found = read_row(connection, "observations", columns, id, |row| {
        let mut body = ObservationBody::default();
        body.prompt_number = row.get(3)?;
        body.tool_use_id = row.get(4)?;
        body.observed = row.get(5)?;
        body.tool = row.get(6)?;
        body.title = row.get(7)?;
        body.narrative = row.get(8)?;
        body.facts = texts(&row.get::<_, String>(9)?);
        body.files_read = texts(&row.get::<_, String>(10)?);
        body.files_modified = texts(&row.get::<_, String>(11)?);
        body.command_key = row.get(12)?;
        body.repeats = row.get(13)?;
        body.made_by = row.get(14)?;
        let is_note = body.tool_use_id.is_none() && body.observed == "note";
        content(row, if is_note { Body::Note(body) } else { Body::Observation(body) })
    })?;
    let Some(mut found) = found else { return Ok(None) };
    if raw_text == RawText::With
        && let (Some(session), Body::Observation(body)) = (&found.session, &mut found.body)
        && let Some(call) = &body.tool_use_id
    {
        body.input = raw(connection, session, call)?;
        body.output = raw(connection, session, &format!("{call}:result"))?;
    }
    Ok(Some(found))
}

fn summary(connection: &Connection, id: i64) -> rusqlite::Result<Option<RowContent>> {
    let columns = "t.request, t.investigated, t.learned, t.completed, t.next_steps, t.exchanges, t.made_by";
    read_row(connection, "session_summaries", columns, id, |row| {
        let mut body = SummaryBody::default();
        body.prompt_number = row.get(3)?;
        body.request = row.get(4)?;
        body.investigated = row.get(5)?;
        body.learned = row.get(6)?;
        body.completed = row.get(7)?;
        body.next_steps = row.get(8)?;
        body.exchanges = row.get(9)?;
        body.made_by = row.get(10)?;
        content(row, Body::Summary(body))
    })
}

fn bookmark(connection: &Connection, id: i64) -> rusqlite::Result<Option<RowContent>> {
    let sql = "SELECT s.project_key, b.session_id, b.created_at, b.prompt_id, b.note, b.git_commit, b.git_dirty,
                      b.context_tokens
               FROM bookmarks b JOIN sessions s ON s.session_id = b.session_id WHERE b.id = ?1";
    connection.first_with(sql, [id], |row| {
        let mut body = BookmarkBody::default();
        body.prompt_id = row.get(3)?;
        body.note = row.get(4)?;
        body.git_commit = row.get(5)?;
        body.git_dirty = row.get(6)?;
        body.context_tokens = row.get(7)?;
        content(row, Body::Bookmark(body))
    })
}

fn content(row: &Row<'_>, body: Body) -> rusqlite::Result<RowContent> {
    Ok(RowContent { project_key: row.get(0)?, session: row.get(1)?, at: row.get(2)?, body })
}
