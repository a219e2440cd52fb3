//! Salvaging: taking what can be read of a damaged database into this one.
//!
//! It may be killed at any time, and run while hooks write: each transaction records how far it is. What is here already, or was
//! forgotten here, is left out, and numbers that are taken here are replaced.

mod pages;
mod tables;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use longhaul_core::{Millis, SessionId};
use longhaul_memory::{Kind, MadeBy};
use longhaul_transcript::DetailKind;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use self::pages::Pages;
use self::tables::{Damaged, Fields, SALVAGED};
use crate::capture::SAME_PROMPT_MS;
use crate::memory::session_row::add_project;
use crate::recall::backlog::Room;
use crate::recall::index::NewTerms;
use crate::recall::replies;
use crate::row_ids::SessionRow;
use crate::sql::Sql;
use crate::{Sanitizer, Store, StoreError, What, cannot};

/// Where `known_ids` says how far a file was salvaged.
const SCOPE: &str = "from salvage";

/// How many rows one transaction stores, so that hooks can write in between.
const ROWS: usize = 200;

/// How long it waits where many processes want to write.
const PAUSE: Duration = Duration::from_millis(50);

/// The turns whose prompt the memory has, which are counted.
const PROMPTS: &str = "prompts";

/// The longest text of a row, in bytes.
const MOST_TEXT: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Salvaged {
    /// Prompts, observations and summaries that are in this database now.
    pub prompts: usize,
    pub observations: usize,
    pub summaries: usize,
    pub bookmarks: usize,
    pub snapshots: usize,
    /// Records that are here already, or were forgotten here.
    pub known: usize,
    /// Records of other machines, which the exchange with them brings again.
    pub others: usize,
    /// Rows that are there and cannot be read.
    pub damaged_rows: usize,
    /// Pages with rows that cannot be read.
    pub damaged_pages: usize,
    pub missing_tables: usize,
}

impl Salvaged {
    fn count(&mut self, table: &str, fate: Fate) {
        let stored = match table {
            PROMPTS => Some(&mut self.prompts),
            "observations" => Some(&mut self.observations),
            "session_summaries" => Some(&mut self.summaries),
            "bookmarks" => Some(&mut self.bookmarks),
            "snapshots" => Some(&mut self.snapshots),
            _ => None,
        };
        // Of what belongs to a record, only losses are counted.
        let count = match (fate, stored) {
            (Fate::Damaged, _) => &mut self.damaged_rows,
            (Fate::Stored, Some(stored)) => stored,
            (Fate::Known, Some(_)) => &mut self.known,
            (Fate::OfOther, Some(_)) => &mut self.others,
            (_, None) => return,
        };
        *count += 1;
    }
}

impl Store {
    /// Takes what can be read of the damaged database at `path` into this one; `key` identifies its content. Returns `None` if
    /// that was done before: what was forgotten since does not come back.
    pub fn salvage(
        &self,
        path: &Path,
        key: &str,
        sanitizer: Sanitizer,
        now: Millis,
    ) -> Result<Option<Salvaged>, StoreError> {
        let done = format!("{key} done");
        if self.has_moved_in("salvage", &done)? {
            return Ok(None);
        }
        let refuse = |problem: String| StoreError::Foreign { path: path.to_owned(), problem };
        let pages = Pages::open(path).map_err(|error| refuse(format!("it cannot be read ({error})")))?;
        let damaged = Damaged::read(pages, &self.connection).map_err(cannot("read the schema"))?;
        let missing_tables = SALVAGED.into_iter().filter(|table| !damaged.has(table)).count();
        if missing_tables > SALVAGED.len() / 2 {
            return Err(refuse("it is no database of Longhaul, or too little of it can be read".to_owned()));
        }
        let mut copy = Copy {
            store: self,
            damaged: &damaged,
            key,
            sanitizer,
            now: i64::try_from(now.0).unwrap_or(i64::MAX),
            names: [damaged.names("projects"), damaged.names("sessions")],
            projects: HashMap::new(),
            sessions: HashMap::new(),
            elsewhere: HashSet::new(),
            turns: HashMap::new(),
            terms: NewTerms::default(),
            salvaged: Salvaged { missing_tables, ..Salvaged::default() },
        };
        for (index, table) in SALVAGED.into_iter().enumerate() {
            copy.table(index, table)?;
        }
        copy.link_replies()?;
        self.write("record what was salvaged", |tx| note_progress(tx, key, &done))?;
        Ok(Some(copy.salvaged))
    }
}

/// Records how far a file was salvaged, instead of what was recorded of it before.
fn note_progress(connection: &Connection, key: &str, progress: &str) -> rusqlite::Result<()> {
    // The keys of a file begin with what identifies it, and a space.
    let sql = "DELETE FROM known_ids WHERE scope = ?1 AND id > ?2 || ' ' AND id < ?2 || '!'";
    connection.run(sql, (SCOPE, key))?;
    let sql = "INSERT INTO known_ids (scope, id) VALUES (?1, ?2)";
    connection.run(sql, (SCOPE, progress)).map(drop)
}

/// What became of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Session {
    /// It has this row. One that was here before has had prompts here, too.
    Here { row: i64, was_here: bool },
    /// Another machine has made it.
    OfOther,
}

/// What becomes of a row.
enum Fate {
    Stored,
    Known,
    OfOther,
    Damaged,
}

struct Copy<'a> {
    store: &'a Store,
    damaged: &'a Damaged,
    key: &'a str,
    sanitizer: Sanitizer,
    now: i64,
    /// The names of projects and of sessions whose rows may be lost.
    names: [HashMap<i64, String>; 2],
    projects: HashMap<i64, i64>,
    sessions: HashMap<i64, Session>,
    /// Sessions whose turns are not copied: those of other machines, and those that were here before, whose transcript is read
    /// again from its beginning.
    elsewhere: HashSet<String>,
    turns: HashMap<i64, i64>,
    terms: NewTerms,
    salvaged: Salvaged,
}

impl Copy<'_> {
    fn connection(&self) -> &Connection {
        &self.store.connection
    }

    /// Copies the rows of a table, in several transactions.
    fn table(&mut self, index: usize, name: &'static str) -> Result<(), StoreError> {
        self.salvaged.damaged_pages += self.damaged.damaged_pages(name);
        let damaged = self.damaged;
        let mut waiting = Vec::new();
        let mut part = 0;
        let pages = damaged.pages(name);
        let last = pages.last().copied();
        for page in pages {
            let read = damaged.rows(page);
            self.salvaged.damaged_rows += read.damaged;
            for row in read.rows {
                match damaged.table(name).fields(row) {
                    Some(fields) => waiting.push(fields),
                    None => self.salvaged.damaged_rows += 1,
                }
            }
            if waiting.len() >= ROWS || (Some(page) == last && !waiting.is_empty()) {
                self.part(index, part, std::mem::take(&mut waiting))?;
                part += 1;
            }
        }
        Ok(())
    }

    /// Copies some rows in one transaction, unless that was done before.
    fn part(&mut self, index: usize, part: usize, rows: Vec<Fields<'_>>) -> Result<(), StoreError> {
        while self.store.is_crowded() {
            std::thread::sleep(PAUSE);
        }
        // Written so that they are in order as texts.
        let progress = format!("{} {index:02}:{part:09}", self.key);
        let store = self.store;
        store.write("store what was salvaged", |tx| {
            let sql = "SELECT 1 FROM known_ids WHERE scope = ?1 AND id >= ?2 AND id < ?3 || '!'";
            let is_done = tx.has(sql, (SCOPE, &progress, self.key))?;
            for row in rows {
                let name = if row.integer("prompt_number").is_some() && row.table.name == "turns" {
                    PROMPTS
                } else {
                    row.table.name
                };
                let fate = self.row(row, is_done)?;
                self.salvaged.count(name, fate);
            }
            if is_done {
                return Ok(());
            }
            self.terms.write(tx)?;
            note_progress(tx, self.key, &progress)
        })
    }

    /// Copies a row. If that was done before, only finds out what became of it.
    fn row(&mut self, mut row: Fields<'_>, is_done: bool) -> rusqlite::Result<Fate> {
        if !self.check(&mut row) {
            return Ok(Fate::Damaged);
        }
        let is_of_other = row.integer("host_id").is_some();
        // The circle has to be joined again.
        row.set("uid", Value::Null);
        row.set("version", Value::Null);
        match row.table.name {
            "projects" if row.text("project_key").is_none() => Ok(Fate::OfOther),
            "turns" | "observations" | "session_summaries" | "bookmarks" if is_of_other => Ok(Fate::OfOther),
            "projects" => self.project(&row),
            "sessions" => self.session(row, is_done),
            "observations" => self.record(row, What::Observation, is_done),
            "session_summaries" => self.record(row, What::Summary, is_done),
            "turns" => self.turn(row, is_done),
            _ if is_done => Ok(Fate::Stored),
            "details" => self.detail(row),
            "model_spending" if row.integer("prompt_id").is_some() => Ok(Fate::Known),
            "bookmarks" | "snapshots" | "links" => self.of_session(row),
            _ => self.insert(row).map(|_| Fate::Stored),
        }
    }

    /// Checks a row, and cleans its texts as everything that is stored. Returns whether it can be stored.
    fn check(&self, row: &mut Fields<'_>) -> bool {
        let (now, sanitizer) = (self.now, self.sanitizer);
        if let Some(at) = row.integer("created_at") {
            if at < 0 {
                return false;
            }
            // Nothing is newer than now.
            row.set("created_at", Value::Integer(at.min(now)));
        }
        let table = row.table.name;
        let is_file_name = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        let tool = row.text("tool_name").map(str::to_owned).unwrap_or_default();
        row.texts().all(|(name, text)| {
            if text.len() > MOST_TEXT {
                return false;
            }
            match (table, name) {
                (_, "session_id" | "merged_into" | "inherits") if !text.is_empty() => {
                    SessionId::new(text).is_some_and(|id| id.as_str() == text)
                }
                ("observations", "kind") => Kind::from_name(text).is_some(),
                (_, "made_by") => MadeBy::from_name(text).is_some(),
                ("sessions", "status") => matches!(text.as_str(), "initialized" | "active" | "completed"),
                ("snapshots", "tree_key") => text.split('/').all(|part| !part.starts_with('.') && is_file_name(part)),
                ("snapshots", "kind" | "commit_id" | "tree_id" | "head" | "index_tree") => is_file_name(text),
                (_, "facts" | "files_read" | "files_modified" | "exchanges" | "changed_some") => {
                    clean_json(text, sanitizer)
                }
                ("details", "input_text" | "output_text") => {
                    let kind = if name == "input_text" { DetailKind::ToolInput } else { DetailKind::ToolOutput };
                    *text = sanitizer.detail(kind, &tool, text);
                    true
                }
                ("turns", "prompt") => {
                    *text = sanitizer.capped(text);
                    true
                }
                (
                    _,
                    "title" | "narrative" | "request" | "investigated" | "learned" | "completed" | "next_steps"
                    | "reply" | "line" | "model_line" | "first_user_prompt" | "last_prompt" | "failure" | "note"
                    | "error",
                ) => {
                    *text = sanitizer.clean(text);
                    true
                }
                _ => true,
            }
        })
    }

    fn project(&mut self, row: &Fields<'_>) -> rusqlite::Result<Fate> {
        let (Some(old), Some(key), Some(name)) = (row.integer("id"), row.text("project_key"), row.text("name")) else {
            return Ok(Fate::Damaged);
        };
        let new = add_project(self.connection(), key, name)?;
        self.projects.insert(old, new.0);
        Ok(Fate::Stored)
    }

    fn session(&mut self, mut row: Fields<'_>, is_done: bool) -> rusqlite::Result<Fate> {
        let (Some(old), Some(session)) = (row.integer("id"), row.text("session_id").map(str::to_owned)) else {
            return Ok(Fate::Damaged);
        };
        if row.integer("host_id").is_some() {
            self.sessions.insert(old, Session::OfOther);
            self.elsewhere.insert(session);
            return Ok(Fate::Stored);
        }
        let created_at = row.integer("created_at");
        let sql = "SELECT id, created_at FROM sessions WHERE session_id = ?1";
        let find = || {
            let found = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            self.connection().first_with(sql, [&session], found)
        };
        let mut here: Option<(i64, Option<i64>)> = find()?;
        // One that was salvaged has the time of its row.
        let was_here = here.is_some_and(|(_, at)| at != created_at);
        if let (Some((new, _)), true, false) = (here, was_here, is_done) {
            // Once: another copy of the file may be salvaged, too.
            let room = format!("room {session} {}", created_at.unwrap_or_default());
            let sql = "INSERT OR IGNORE INTO known_ids (scope, id) VALUES (?1, ?2)";
            if self.connection().run(sql, (SCOPE, room))? > 0 {
                self.make_room(new, &row)?;
            }
        }
        if here.is_none() && !is_done {
            row.set("prompt_counter", Value::Integer(row.integer("prompt_counter").unwrap_or_default().max(0)));
            self.insert(row)?;
            here = find()?;
        }
        let Some((new, _)) = here else { return Ok(Fate::Damaged) };
        self.sessions.insert(old, Session::Here { row: new, was_here });
        if was_here {
            self.elsewhere.insert(session);
        }
        Ok(Fate::Stored)
    }

    /// Numbers what a session has had in this database after what it had before.
    fn make_room(&self, session: i64, before: &Fields<'_>) -> rusqlite::Result<()> {
        let prompts = before.integer("prompt_counter").unwrap_or_default().clamp(0, 1 << 32);
        // Twice, because a number may be taken by a row that changes later.
        for table in ["turns", "session_summaries"] {
            let sql = format!("UPDATE {table} SET prompt_number = -(prompt_number + ?2) WHERE session_id = ?1");
            self.connection().run(&sql, (session, prompts))?;
            let sql = format!("UPDATE {table} SET prompt_number = -prompt_number WHERE session_id = ?1");
            self.connection().run(&sql, [session])?;
        }
        let sql = "UPDATE observations SET prompt_number = prompt_number + ?2 WHERE session_id = ?1";
        self.connection().run(sql, (session, prompts))?;
        let sql = "UPDATE sessions SET prompt_counter = prompt_counter + ?2, first_user_prompt = coalesce(?3, first_user_prompt)
                   WHERE id = ?1";
        self.connection().run(sql, (session, prompts, before.text("first_user_prompt"))).map(drop)
    }

    /// Returns the session of a record. One whose row is lost gets a new row, under its name if an index still has that.
    fn session_of(&mut self, old: i64, project: Option<i64>) -> rusqlite::Result<Option<Session>> {
        if let Some(found) = self.sessions.get(&old) {
            return Ok(Some(*found));
        }
        let Some(project) = project else { return Ok(None) };
        let name = self.names[1].get(&old).filter(|name| SessionId::new(name).is_some_and(|id| id.as_str() == *name));
        let name =
            name.cloned().unwrap_or_else(|| format!("salvaged-{}-{old}", self.key.chars().take(8).collect::<String>()));
        let sql = "INSERT OR IGNORE INTO sessions (session_id, project, project_key, project_path, created_at, status)
                   SELECT ?1, name, project_key, project_key, 0, 'completed' FROM projects WHERE id = ?2";
        self.connection().run(sql, (&name, project))?;
        let sql = "SELECT id FROM sessions WHERE session_id = ?1";
        let row = self.connection().one(sql, [&name])?;
        let session = Session::Here { row, was_here: false };
        self.sessions.insert(old, session);
        Ok(Some(session))
    }

    /// Returns the project of a record, which may only be known by the index of its name or by its session.
    fn project_of(&mut self, row: &Fields<'_>) -> rusqlite::Result<Option<i64>> {
        let Some(old) = row.integer("project_id") else { return Ok(None) };
        if let Some(found) = self.projects.get(&old) {
            return Ok(Some(*found));
        }
        let new = match (self.names[0].get(&old), row.integer("session_id").and_then(|id| self.sessions.get(&id))) {
            (Some(key), _) => {
                let name = Path::new(key).file_name().map_or(key.as_str().into(), |name| name.to_string_lossy());
                Some(add_project(self.connection(), key, &name)?.0)
            }
            (None, Some(Session::Here { row, .. })) => {
                let sql = "SELECT project_key, project FROM sessions WHERE id = ?1";
                let (key, name): (String, String) = self.connection().one(sql, [row])?;
                Some(add_project(self.connection(), &key, &name)?.0)
            }
            (None, _) => None,
        };
        self.projects.extend(new.map(|new| (old, new)));
        Ok(new)
    }

    /// Copies an observation or a summary.
    fn record(&mut self, mut row: Fields<'_>, what: What, is_done: bool) -> rusqlite::Result<Fate> {
        let Some(project) = self.project_of(&row)? else { return Ok(Fate::Damaged) };
        row.set("project_id", Value::Integer(project));
        if let Some(session) = row.integer("session_id") {
            match self.session_of(session, Some(project))? {
                None => return Ok(Fate::Damaged),
                Some(Session::OfOther) => return Ok(Fate::OfOther),
                Some(Session::Here { row: new, .. }) => row.set("session_id", Value::Integer(new)),
            }
        } else if row.text("kind").is_some_and(|kind| kind != Kind::Note.as_str()) {
            return Ok(Fate::Damaged);
        }
        if is_done {
            return Ok(Fate::Stored);
        }
        if self.is_known(&row, what, false)? {
            return Ok(Fate::Known);
        }
        let Some(id) = self.insert(row)? else { return Ok(Fate::Known) };
        self.index(what, id).map(|()| Fate::Stored)
    }

    fn index(&mut self, what: What, id: i64) -> rusqlite::Result<()> {
        let mut terms = std::mem::take(&mut self.terms);
        let taken = terms.take_record(self.connection(), what, id);
        self.terms = terms;
        taken
    }

    /// Returns whether a record is here already, or was forgotten here.
    fn is_known(&self, row: &Fields<'_>, what: What, was_here: bool) -> rusqlite::Result<bool> {
        let (session, at) = (row.integer("session_id"), row.integer("created_at").unwrap_or_default());
        let exists = |sql: &str, values: &[&dyn rusqlite::ToSql]| self.connection().has(sql, values);
        if exists("SELECT 1 FROM sessions WHERE id = ?1 AND forgotten_at >= ?2", &[&session, &at])? {
            return Ok(true);
        }
        match what {
            What::Prompt => {
                if exists(
                    "SELECT 1 FROM turns WHERE session_id = ?1 AND forgotten > 0 AND created_at = ?2",
                    &[&session, &at],
                )? {
                    return Ok(true);
                }
                let (id, prompt) = (row.text("prompt_id"), row.text("prompt"));
                let sql = "SELECT 1 FROM prompts WHERE session_id = ?1 AND prompt = ?2
                           AND (prompt_id = ?3 OR abs(created_at - ?4) < ?5)";
                Ok(was_here && exists(sql, &[&session, &prompt, &id, &at, &SAME_PROMPT_MS])?)
            }
            What::Observation => match row.text("tool_use_id") {
                Some(call) => exists(
                    "SELECT 1 FROM observations WHERE tool_use_id = ?1 UNION ALL
                     SELECT 1 FROM known_ids WHERE scope = 'a call' AND id = ?1",
                    &[&call],
                ),
                None => exists(
                    "SELECT 1 FROM observations WHERE project_id = ?1 AND created_at = ?2 AND tool_use_id IS NULL
                     AND title = ?3 AND narrative = ?4",
                    &[&row.integer("project_id"), &at, &row.text("title"), &row.text("narrative")],
                ),
            },
            What::Summary => Ok(false),
        }
    }

    /// Returns the row of the session in which raw text was made; `None` if it is not copied: it is another
    /// machine's, it was here before and its transcript is read again from its beginning, or it was forgotten here.
    fn copied_session(&self, row: &Fields<'_>) -> rusqlite::Result<Option<i64>> {
        let found = row.integer("session_id").and_then(|old| self.sessions.get(&old));
        let Some(Session::Here { row: session, was_here: false }) = found else { return Ok(None) };
        let sql = "SELECT 1 FROM sessions WHERE id = ?1 AND forgotten_at >= ?2";
        let at = row.integer("created_at").unwrap_or_default();
        Ok((!self.connection().has(sql, (session, at))?).then_some(*session))
    }

    fn turn(&mut self, mut row: Fields<'_>, is_done: bool) -> rusqlite::Result<Fate> {
        let old = row.integer("id").unwrap_or_default();
        let is_prompt = row.integer("prompt_number").is_some();
        let is_forgotten = row.integer("forgotten").is_some_and(|forgotten| forgotten > 0);
        let project = self.project_of(&row)?;
        if is_prompt {
            let Some(project) = project else { return Ok(Fate::Damaged) };
            row.set("project_id", Value::Integer(project));
        }
        let session = row.integer("session_id").map(|old| self.session_of(old, project)).transpose()?.flatten();
        let (session, was_here) = match session {
            Some(Session::Here { row, was_here }) => (row, was_here),
            Some(Session::OfOther) => return Ok(Fate::OfOther),
            None => return Ok(Fate::Damaged),
        };
        if was_here {
            if !is_prompt && !is_forgotten {
                return Ok(Fate::Known);
            }
            // The transcript is read again from its beginning.
            for column in ["number", "turn_id", "role", "began_at", "replied_at", "reply", "line", "model_line"] {
                row.set(column, Value::Null);
            }
            row.set("provisional", Value::Integer(0));
        }
        if is_done {
            let sql = "SELECT id FROM turns WHERE session_id = ?1 AND turn_id = ?2";
            let key = (session, row.text("turn_id"));
            let new = self.connection().first(sql, key)?;
            self.turns.extend(new.map(|new| (old, new)));
            return Ok(Fate::Stored);
        }
        let owner = row.integer("owner_id").and_then(|old| self.sessions.get(&old));
        let owner = if let Some(Session::Here { row, .. }) = owner { *row } else { session };
        row.set("session_id", Value::Integer(session));
        row.set("owner_id", Value::Integer(owner));
        // The index is made again.
        row.set("passage", Value::Null);
        row.set("part", Value::Null);
        row.set("provisional", Value::Integer(row.integer("provisional").unwrap_or_default().max(0)));
        if self.is_known(&row, What::Prompt, was_here)? {
            return Ok(Fate::Known);
        }
        let Some(id) = self.insert(row)? else { return Ok(Fate::Known) };
        if is_prompt {
            self.index(What::Prompt, id)?;
        }
        self.turns.insert(old, id);
        Ok(Fate::Stored)
    }

    fn detail(&self, mut row: Fields<'_>) -> rusqlite::Result<Fate> {
        let Some(session) = self.copied_session(&row)? else { return Ok(Fate::Known) };
        let turn = row.integer("turn").and_then(|old| self.turns.get(&old));
        row.set("turn", turn.map_or(Value::Null, |turn| Value::Integer(*turn)));
        row.set("session_id", Value::Integer(session));
        Ok(if self.insert(row)?.is_some() { Fate::Stored } else { Fate::Known })
    }

    /// Copies a row of a table that names its session.
    fn of_session(&self, row: Fields<'_>) -> rusqlite::Result<Fate> {
        let session = row.text("session_id").unwrap_or_default();
        let at = row.integer("created_at").unwrap_or_default();
        let is_turn = !matches!(row.table.name, "bookmarks" | "snapshots");
        let sql = "SELECT 1 FROM sessions WHERE session_id = ?1 AND forgotten_at >= ?2";
        if (is_turn && self.elsewhere.contains(session)) || self.connection().has(sql, (session, at))? {
            return Ok(Fate::Known);
        }
        let sql = "SELECT 1 FROM bookmarks WHERE session_id = ?1 AND created_at = ?2";
        if row.table.name == "bookmarks" && self.connection().has(sql, (session, at))? {
            return Ok(Fate::Known);
        }
        Ok(if self.insert(row)?.is_some() { Fate::Stored } else { Fate::Known })
    }

    /// Inserts a row, unless its key is there; returns its number. It keeps the number that it had if that is above all that
    /// were given here: those that were given before may be of records that were forgotten.
    fn insert(&self, mut row: Fields<'_>) -> rusqlite::Result<Option<i64>> {
        let connection = self.connection();
        let name = row.table.name;
        if let Some(column) = row.table.columns.iter().find(|column| column.is_number) {
            let sql = format!(
                "SELECT max(coalesce((SELECT max({0}) FROM {name}), 0),
                            coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{name}'), 0))",
                column.name
            );
            let last: i64 = connection.one(&sql, [])?;
            if row.integer(&column.name).is_none_or(|number| number <= last || number > 1 << 40) {
                row.set(&column.name, Value::Null);
            }
        }
        let columns: Vec<&str> =
            row.table.columns.iter().map(|column| column.name.as_str()).take(row.values.len()).collect();
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
        let sql = format!("INSERT OR IGNORE INTO {name} ({}) VALUES ({})", columns.join(", "), places.join(", "));
        let stored = connection.run(&sql, params_from_iter(&row.values))?;
        Ok((stored > 0).then(|| connection.last_insert_rowid()))
    }

    /// Adds the replies of the salvaged sessions to the prompts that they answer.
    fn link_replies(&self) -> Result<(), StoreError> {
        for session in self.sessions.values() {
            let Session::Here { row, .. } = session else { continue };
            let mut from = Some(0);
            while let Some(turn) = from {
                let mut room = Room::new(ROWS);
                let link = |tx: &Connection| replies::link_some(tx, SessionRow(*row), turn, &mut room);
                from = self.store.write("add the replies to the index", link)?;
            }
        }
        Ok(())
    }
}

/// Cleans every text in a JSON value; returns whether it is JSON.
fn clean_json(text: &mut String, sanitizer: Sanitizer) -> bool {
    fn clean(value: &mut serde_json::Value, sanitizer: Sanitizer) {
        match value {
            serde_json::Value::String(text) => *text = sanitizer.clean(text),
            serde_json::Value::Array(list) => list.iter_mut().for_each(|value| clean(value, sanitizer)),
            serde_json::Value::Object(fields) => fields.values_mut().for_each(|value| clean(value, sanitizer)),
            _ => {}
        }
    }
    let Ok(mut value) = serde_json::from_str(text) else { return false };
    clean(&mut value, sanitizer);
    *text = value.to_string();
    true
}
