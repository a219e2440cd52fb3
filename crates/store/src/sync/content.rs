//! Rows of the memory as the entries of records, and entries as rows: which columns a record has, under which names, which of
//! them a newer version changes, and what is stored of a text of another host, which is only what a text of this one could be.
//!
//! A text that this program has stored on another host is not changed: the hosts have the same.

use longhaul_core::text::cut_middle;
use longhaul_memory::{Exchange, Kind, MadeBy, REPLY_CHARS, SAID_CHARS};
use longhaul_sync::{Body, EntityId, Entry, ProjectId};
use longhaul_transcript::DetailKind;
use rusqlite::types::{Value as Column, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use serde_json::{Map, Value, json};

use super::identity::EntityTable;
use crate::Sanitizer;
use crate::memory::records::{RawText, raw, texts};
use crate::recall::replies;
use crate::row_ids::{ProjectRow, SessionRow};
use crate::sql::Sql;

/// What of a field is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// A number, an id, or what is cleaned before: its form is checked when it is decrypted.
    AsItIs,
    /// 0 or 1 in the row.
    Flag,
    Prompt,
    Reply,
    /// One line of so many characters.
    Line(usize),
    /// A JSON array of lines in the row.
    Lines,
    Passage,
    Exchanges,
    Kind,
    Maker,
    Raw(DetailKind),
}

/// A field of a record: its name there, its column, what is stored of it, and whether a newer version changes it.
struct FieldOf(&'static str, &'static str, Field, bool);

/// The longest line: a title, a fact, a path.
const LINE_CHARS: usize = 2_000;
const LINE: Field = Field::Line(LINE_CHARS);

/// The longest name: of a tool, of a commit.
const NAME: Field = Field::Line(200);

/// How many lines a list has at most.
const LIST_LINES: usize = 500;

/// How many requests a summary has at most.
const EXCHANGES: usize = 20;

const PROMPT: &[FieldOf] = &[
    FieldOf("number", "prompt_number", Field::AsItIs, false),
    FieldOf("prompt_id", "prompt_id", Field::AsItIs, false),
    FieldOf("prompt", "prompt", Field::Prompt, false),
    FieldOf("reply", "", Field::Reply, false),
];

const OBSERVATION: &[FieldOf] = &[
    FieldOf("prompt_number", "prompt_number", Field::AsItIs, false),
    FieldOf("tool_use_id", "tool_use_id", Field::AsItIs, false),
    FieldOf("observed", "kind", Field::Kind, false),
    FieldOf("tool", "tool_name", NAME, false),
    FieldOf("title", "title", LINE, true),
    FieldOf("narrative", "narrative", Field::Passage, true),
    FieldOf("facts", "facts", Field::Lines, true),
    FieldOf("files_read", "files_read", Field::Lines, false),
    FieldOf("files_modified", "files_modified", Field::Lines, false),
    FieldOf("command_key", "command_key", LINE, false),
    FieldOf("repeats", "repeats", Field::AsItIs, true),
    FieldOf("made_by", "made_by", Field::Maker, true),
    FieldOf("input", "", Field::Raw(DetailKind::ToolInput), false),
    FieldOf("output", "", Field::Raw(DetailKind::ToolOutput), false),
];

const SUMMARY: &[FieldOf] = &[
    FieldOf("prompt_number", "prompt_number", Field::AsItIs, false),
    FieldOf("request", "request", Field::Passage, true),
    FieldOf("investigated", "investigated", Field::Passage, true),
    FieldOf("learned", "learned", Field::Passage, true),
    FieldOf("completed", "completed", Field::Passage, true),
    FieldOf("next_steps", "next_steps", Field::Passage, true),
    FieldOf("exchanges", "exchanges", Field::Exchanges, true),
    FieldOf("made_by", "made_by", Field::Maker, true),
];

const BOOKMARK: &[FieldOf] = &[
    FieldOf("prompt_id", "prompt_id", Field::AsItIs, false),
    FieldOf("note", "note", LINE, true),
    FieldOf("git_commit", "git_commit", NAME, false),
    FieldOf("git_dirty", "git_dirty", Field::Flag, true),
    FieldOf("context_tokens", "context_tokens", Field::AsItIs, false),
];

fn fields(table: EntityTable) -> &'static [FieldOf] {
    match table {
        EntityTable::Prompts => PROMPT,
        EntityTable::Observations => OBSERVATION,
        EntityTable::Summaries => SUMMARY,
        EntityTable::Bookmarks => BOOKMARK,
    }
}

/// Returns the fields that are columns.
fn columns(table: EntityTable) -> impl Iterator<Item = &'static FieldOf> {
    fields(table).iter().filter(|FieldOf(_, column, ..)| !column.is_empty())
}

/// A row of the memory, in the form of a record.
pub(super) struct RowContent {
    pub(super) project_key: String,
    session: Option<String>,
    /// When it was made, in milliseconds of this host's clock.
    pub(super) at: i64,
    body: Body,
}

pub(super) fn read(
    connection: &Connection,
    table: EntityTable,
    row: i64,
    raw_text: RawText,
) -> rusqlite::Result<Option<RowContent>> {
    let names: Vec<&str> = columns(table).map(|FieldOf(_, column, ..)| *column).collect();
    let project = if table == EntityTable::Bookmarks {
        "JOIN sessions s ON s.session_id = t.session_id JOIN projects p ON p.project_key = s.project_key"
    } else {
        "LEFT JOIN sessions s ON s.id = t.session_id JOIN projects p ON p.id = t.project_id"
    };
    let sql = format!(
        "SELECT p.project_key, s.session_id, t.created_at, t.{} FROM {} t {project} WHERE t.id = ?1",
        names.join(", t."),
        table.name()
    );
    let found = connection.first_with(&sql, [row], |found| {
        let mut body = Map::new();
        for (at, FieldOf(name, _, field, _)) in columns(table).enumerate() {
            body.insert((*name).to_owned(), value(found, at + 3, *field)?);
        }
        Ok((found.get(0)?, found.get::<_, Option<String>>(1)?, found.get(2)?, body))
    })?;
    let Some((project_key, session, at, mut body)) = found else { return Ok(None) };
    let kind = match table {
        EntityTable::Prompts => {
            // Another host stores no more of it, and a record has a limit.
            let reply = cut_middle(&replies::to_prompt(connection, row)?, REPLY_CHARS);
            body.insert("reply".to_owned(), reply.into());
            "prompt"
        }
        EntityTable::Observations if body["tool_use_id"].is_null() && body["observed"] == "note" => "note",
        EntityTable::Observations => {
            if let (RawText::With, Some(session), Some(call)) = (raw_text, &session, body["tool_use_id"].as_str()) {
                let (input, output) = raw(connection, session, call)?;
                body.extend([("input".to_owned(), input.into()), ("output".to_owned(), output.into())]);
            }
            "observation"
        }
        EntityTable::Summaries => "summary",
        EntityTable::Bookmarks => "bookmark",
    };
    let Some(body) = body_of(kind, body) else { return Ok(None) };
    Ok(Some(RowContent { project_key, session, at, body }))
}

fn value(row: &Row<'_>, at: usize, field: Field) -> rusqlite::Result<Value> {
    Ok(match (row.get_ref(at)?, field) {
        (ValueRef::Integer(number), Field::Flag) => (number != 0).into(),
        (ValueRef::Integer(number), _) => number.into(),
        (ValueRef::Text(_), Field::Lines) => texts(row.get_ref(at)?.as_str()?).into(),
        (ValueRef::Text(_), _) => row.get_ref(at)?.as_str()?.into(),
        _ => Value::Null,
    })
}

/// Returns a body of a kind; `None` if a field is not what it must be.
fn body_of(kind: &str, fields: Map<String, Value>) -> Option<Body> {
    serde_json::from_value(json!({ "kind": kind, "body": fields })).ok()
}

/// Returns the kind of a body and its fields.
fn fields_of(body: &Body) -> Option<(String, Map<String, Value>)> {
    let mut value = serde_json::to_value(body).ok()?;
    match (value["kind"].take(), value["body"].take()) {
        (Value::String(kind), Value::Object(fields)) => Some((kind, fields)),
        _ => None,
    }
}

impl RowContent {
    /// Returns the id of the entity that a row is, which has none yet: the same on every host that has the same row.
    pub(super) fn entity(&self, row: i64) -> EntityId {
        let session = self.session.as_deref().unwrap_or_default().as_bytes();
        let (at, number) = (self.at.to_be_bytes(), row.to_be_bytes());
        // A copy of the host has another row with the same number, and so have others: time and text tell them apart. Without
        // the id of the host: a row that was copied before it was sent is the same on both. A summary that was deleted may be
        // made again: it is another entity then.
        let of_row = |kind: &str, text: &str| EntityId::of(kind, &[session, &number, &at, text.as_bytes()]);
        match &self.body {
            Body::Prompt(body) => match &body.prompt_id {
                Some(id) => EntityId::of("prompt", &[session, id.as_bytes()]),
                None => EntityId::of("prompt", &[session, &at, body.prompt.as_bytes()]),
            },
            Body::Observation(body) => match &body.tool_use_id {
                Some(id) => EntityId::of("observation", &[id.as_bytes()]),
                None => of_row("observation", &body.narrative),
            },
            Body::Summary(body) => of_row("summary", &body.request),
            Body::Note(body) => of_row("note", &body.narrative),
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

/// Returns what the columns of a row get from an entry. Of one that is there, only what a newer version changes.
fn stored(table: EntityTable, body: &Body, is_there: bool) -> Vec<(&'static str, Column)> {
    let Some((_, fields)) = fields_of(body) else { return Vec::new() };
    let changed = columns(table).filter(|FieldOf(.., changes)| *changes || !is_there);
    let column = |FieldOf(name, column, ..): &FieldOf| {
        let value = match fields.get(*name) {
            None | Some(Value::Null) => Column::Null,
            Some(Value::String(text)) => Column::Text(text.clone()),
            Some(Value::Bool(flag)) => Column::Integer((*flag).into()),
            Some(Value::Number(number)) => Column::Integer(number.as_i64().unwrap_or_default()),
            Some(list) => Column::Text(list.to_string()),
        };
        (*column, value)
    };
    changed.map(column).collect()
}

/// Changes a row to a newer version, or to another entity.
pub(super) fn change(
    connection: &Connection,
    table: EntityTable,
    row: i64,
    entry: &Entry,
    is_same_entity: bool,
) -> rusqlite::Result<()> {
    let mut columns = stored(table, &entry.body, is_same_entity);
    if table == EntityTable::Summaries || !is_same_entity {
        columns.push(("created_at", Column::Integer(entry.at_ms as i64)));
    }
    let (names, mut values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    values.push(Column::Integer(row));
    let places = vec!["?"; names.len()].join(", ");
    let sql = format!("UPDATE {} SET ({}) = ({places}) WHERE id = ?", table.name(), names.join(", "));
    connection.run(&sql, params_from_iter(values)).map(drop)
}

/// Inserts a row; returns its number. That of a prompt is inserted by the capture of turns.
pub(super) fn insert(
    connection: &Connection,
    table: EntityTable,
    entry: &Entry,
    session: Option<SessionRow>,
    project: ProjectRow,
) -> rusqlite::Result<i64> {
    let mut columns = stored(table, &entry.body, false);
    columns.push(("created_at", Column::Integer(entry.at_ms as i64)));
    if table == EntityTable::Bookmarks {
        columns.extend(entry.session.clone().map(|session| ("session_id", Column::Text(session))));
    } else {
        columns.extend(session.map(|session| ("session_id", Column::Integer(session.0))));
        columns.push(("project_id", Column::Integer(project.0)));
    }
    let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let places = vec!["?"; names.len()].join(", ");
    let sql = format!("INSERT INTO {} ({}) VALUES ({places})", table.name(), names.join(", "));
    connection.add(&sql, params_from_iter(values))
}

/// Returns an entry of another host as it may be stored.
pub(super) fn cleaned(mut entry: Entry) -> Option<Entry> {
    let (kind, mut body) = fields_of(&entry.body)?;
    for FieldOf(name, _, field, _) in fields(EntityTable::of(&entry.body)) {
        if let Some(value) = body.get_mut(*name) {
            clean(value, *field, kind == "note");
        }
    }
    entry.body = body_of(&kind, body)?;
    Some(entry)
}

fn clean(value: &mut Value, field: Field, is_note: bool) {
    let sanitizer = Sanitizer::default();
    match (value, field) {
        (Value::Array(list), Field::Lines) => {
            list.truncate(LIST_LINES);
            list.iter_mut().for_each(|text| clean(text, LINE, is_note));
        }
        (Value::String(text), field) => {
            *text = match field {
                Field::AsItIs | Field::Flag | Field::Lines => return,
                Field::Prompt => sanitizer.capped(text),
                Field::Reply => sanitizer.reply(text),
                Field::Line(most) => line(text, most),
                Field::Passage => passage(text),
                Field::Exchanges => exchanges(text),
                // Only a note may be outside of any session.
                Field::Kind if is_note => Kind::Note.as_str().to_owned(),
                Field::Kind => Kind::from_name(text).unwrap_or(Kind::Discovery).as_str().to_owned(),
                Field::Maker => maker(text, is_note),
                Field::Raw(kind) => sanitizer.detail(kind, "", text),
            }
        }
        _ => {}
    }
}

fn exchanges(text: &str) -> String {
    let mut exchanges = Exchange::from_json(text);
    exchanges.truncate(EXCHANGES);
    for exchange in &mut exchanges {
        exchange.asked = line(&exchange.asked, LINE_CHARS);
        exchange.outcome = line(&exchange.outcome, LINE_CHARS);
    }
    Exchange::to_json(&exchanges)
}

/// Returns who has written a text. Only a note is a person's: a summary of a person is overwritten by nothing.
fn maker(name: &str, is_note: bool) -> String {
    let maker = MadeBy::from_name(name).unwrap_or(MadeBy::Rule);
    let maker = if maker == MadeBy::Person && !is_note { MadeBy::Model } else { maker };
    maker.as_str().to_owned()
}

/// Returns a text as one line. One that is a line already stays as it is.
fn line(text: &str, most: usize) -> String {
    let text = Sanitizer::default().clean(text);
    if text.chars().any(char::is_control) || is_longer(&text, most) {
        return Sanitizer::default().line(&text, most);
    }
    text
}

/// Returns a text without control characters; line breaks and tabs stay.
fn passage(text: &str) -> String {
    let is_printable = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    let text: String = Sanitizer::default().clean(text).chars().filter(is_printable).collect();
    if is_longer(&text, SAID_CHARS) { cut_middle(&text, SAID_CHARS) } else { text }
}

fn is_longer(text: &str, max: usize) -> bool {
    text.len() > max && text.chars().count() > max
}
