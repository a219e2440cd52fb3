//! What a request asks for, and rows as JSON, in the format that the command line prints, with the lengths of their texts.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use axum::http::Uri;
use longhaul_core::clock::Date;
use longhaul_core::text::tokens_of_chars;
use longhaul_core::{Millis, one_line};
use longhaul_memory::Kind;
use longhaul_runtime::memory::folder_of;
use longhaul_snapshot_store::{Blame, Told, encoded_path, shown_path};
use longhaul_store::{
    Content, Entry, KnownProject, Moment, MomentId, RecordId, SessionOverview, Snapshot, Store, What,
};
use serde_json::{Value, json};

use crate::routes::Problem;

/// How much of a prompt a list of sessions shows, in characters.
const PROMPT_CHARS: usize = 300;

/// How much of a text a timeline shows, in characters.
const TEXT_CHARS: usize = 2_000;

/// How much a list of snapshots shows of what the session was doing, in characters.
const DOING_CHARS: usize = 80;

pub(crate) fn whole(entry: &Entry) -> Value {
    let mut value = entry.record.to_json();
    value["tokens"] = tokens_of_chars(entry.bytes).into();
    value
}

/// Returns a record without its raw text.
pub(crate) fn entry(entry: &Entry) -> Value {
    let mut value = whole(entry);
    if let (Value::Object(fields), Content::Observation { .. }) = (&mut value, &entry.record.content) {
        fields.remove("input");
        fields.remove("output");
    }
    value
}

pub(crate) fn session(row: &SessionOverview, state: &Value, context: Option<Value>) -> Value {
    let short = |text: &Option<String>| text.as_deref().map(|text| cut(text, PROMPT_CHARS));
    json!({
        "session_id": row.session,
        "host": row.host,
        "project": row.project,
        "project_key": row.project_key,
        "project_path": row.project_path,
        "status": row.status,
        "end_reason": row.end_reason,
        "first_prompt": short(&row.first_prompt),
        "last_prompt": short(&row.last_prompt),
        "merged_into": row.merged_into,
        "created_at": row.created_at.0,
        "completed_at": row.completed_at.map(|at| at.0),
        "last_at": row.last_at.0,
        "counts": {
            "prompts": row.counts.prompts,
            "observations": row.counts.observations,
            "summaries": row.counts.summaries,
            "turns": row.counts.turns,
            "bookmarks": row.counts.bookmarks,
        },
        "tokens": tokens_of_chars(row.bytes),
        "state": state,
        "context": context,
    })
}

/// The maximum number of runs of lines in one answer.
const RUNS: usize = 2_000;

/// Returns the lines of a file as runs with the same origin.
pub(crate) fn blamed(store: &Store, found: &Blame) -> Result<Value, Problem> {
    let mut runs: Vec<(usize, usize, usize)> = Vec::new();
    for (at, line) in found.lines.iter().enumerate() {
        match runs.last_mut() {
            Some((_, end, origin)) if *origin == line.origin => *end = at + 1,
            _ => runs.push((at + 1, at + 1, line.origin)),
        }
    }
    let is_whole = runs.len() <= RUNS;
    runs.truncate(RUNS);
    let mut shown: Vec<Value> = Vec::new();
    for (from, to, origin) in runs {
        let told = Told::of(store, &found.origins[origin], &[]).map_err(|error| Problem::internal(error.chain()))?;
        let mut value = told.to_json();
        value["text"] = json!(told.turn.as_ref().map(|turn| cut(&turn.prompt, PROMPT_CHARS)));
        value["from"] = json!(from);
        value["to"] = json!(to);
        shown.push(value);
    }
    Ok(
        json!({ "path": encoded_path(&found.path), "name": shown_path(&found.path), "runs": shown, "is_complete": is_whole }),
    )
}

/// Returns an item on the time axis of a session.
pub(crate) fn moment(moment: &Moment) -> Value {
    let (kind, id) = match moment.id {
        MomentId::Record(record) => (record.what.as_str(), record.to_string()),
        MomentId::Turn(number) => ("turn", format!("T{number}")),
        MomentId::Bookmark(id) => ("bookmark", format!("B{id}")),
    };
    // A prompt has no title: its first line is used.
    let is_prompt = matches!(moment.id, MomentId::Record(record) if record.what == What::Prompt);
    let (title, text) = match moment.title.trim_start().split_once('\n') {
        Some((first, rest)) if is_prompt => (first, rest),
        _ => (moment.title.as_str(), moment.text.as_str()),
    };
    json!({
        "type": kind,
        "id": id,
        "at": moment.at.0,
        "until": moment.until.map(|at| at.0),
        "title": cut(title, PROMPT_CHARS),
        "text": cut(text, TEXT_CHARS),
        "kind": moment.kind.map(Kind::as_str),
        "tokens": tokens_of_chars(moment.bytes),
        "prompt_number": moment.prompt_number,
        "is_error": moment.is_error,
        "files": moment.files,
        "host": moment.host,
    })
}

/// Returns a snapshot, with the note of its bookmark and what the session was doing then.
pub(crate) fn snapshot(snapshot: &Snapshot, note: Option<&str>, doing: Option<&str>) -> Value {
    let changed =
        snapshot.changed.map(|(files, added, removed)| json!({ "files": files, "added": added, "removed": removed }));
    json!({
        "id": snapshot.id,
        "session_id": snapshot.session,
        "created_at": snapshot.created_at,
        "kind": snapshot.kind.as_str(),
        "note": note.map(|note| cut(note, PROMPT_CHARS)),
        "doing": doing.map(|doing| one_line(doing, DOING_CHARS)),
        "work_tree": snapshot.work_tree,
        "branch": snapshot.branch,
        "head": snapshot.head,
        "under_way": snapshot.under_way,
        "has_files": snapshot.tree.is_some(),
        "changed": changed,
        "left_out": snapshot.left_out,
        "left_out_some": snapshot.left_out_some.as_deref().map(|some| cut(some, TEXT_CHARS)),
        "skipped": snapshot.skipped.as_deref().map(|why| cut(why, TEXT_CHARS)),
    })
}

/// Returns a file that differs between two snapshots.
pub(crate) fn file(path: &[u8], status: char) -> Value {
    let status = match status {
        'A' => "added",
        'D' => "deleted",
        'T' => "retyped",
        _ => "changed",
    };
    json!({ "path": encoded_path(path), "name": shown_path(path), "status": status })
}

pub(crate) fn project(project: &KnownProject) -> Value {
    json!({
        "name": project.name,
        "project_key": project.key,
        "folder": folder_of(&project.key),
        "sessions": project.sessions,
        "observations": project.observations,
    })
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Parses an id. A number alone is a `what`.
pub(crate) fn parse(text: &str, what: What) -> Result<RecordId, Problem> {
    let unreadable = || Problem::unreadable(format!("{text:?} is not the id of a record"), RecordId::EXAMPLES);
    RecordId::parse(text, what).ok_or_else(unreadable)
}

pub(crate) fn unknown(record: RecordId) -> Problem {
    Problem::missing(format!("there is no record {record}"), "it was deleted or never existed")
}

/// The query parameters of a request. If one is given twice, the last one counts. An empty one counts as missing.
#[derive(Debug, Default)]
pub(crate) struct Params {
    values: HashMap<String, String>,
}

/// Refuses an unknown parameter: if it were ignored, the client would misread the answer.
pub(crate) fn refuse_unknown(uri: &Uri, known: &[&str]) -> Result<(), Problem> {
    let mut names = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).map(|(name, _)| name);
    let Some(unknown) = names.find(|name| !known.contains(&name.as_ref())) else { return Ok(()) };
    let fix = match known {
        [] => "remove it: this path has no parameters".to_owned(),
        known => format!("use {}", known.join(", ")),
    };
    Err(Problem::unreadable(format!("there is no parameter {unknown:?}"), fix))
}

impl Params {
    pub(crate) fn of(uri: &Uri) -> Self {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let given = pairs.filter(|(_, value)| !value.is_empty());
        Self { values: given.map(|(name, value)| (name.into_owned(), value.into_owned())).collect() }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub(crate) fn needed(&self, name: &str) -> Result<&str, Problem> {
        let missing = || Problem::unreadable(format!("{name} is missing"), format!("add ?{name}=…"));
        self.text(name).ok_or_else(missing)
    }

    /// Returns a whole number within `range`, or `default`.
    pub(crate) fn number(&self, name: &str, range: RangeInclusive<i64>, default: i64) -> Result<i64, Problem> {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let fix = format!("use a whole number from {} to {}", range.start(), range.end());
            Problem::unreadable(format!("{name} is {text:?}"), fix)
        })
    }

    pub(crate) fn limit(&self, most: usize, default: usize) -> Result<usize, Problem> {
        let number = self.number("limit", 1..=most as i64, default as i64)?;
        Ok(usize::try_from(number).unwrap_or(default))
    }

    pub(crate) fn day(&self, name: &str) -> Result<Option<Date>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let date = Date::parse(text);
        date.map(Some).ok_or_else(|| Problem::unreadable(format!("{name} is {text:?}"), "write a day as 2026-01-31"))
    }

    pub(crate) fn kinds(&self) -> Result<Vec<Kind>, Problem> {
        self.list("kind", |name| Kind::from_name(&name.to_lowercase()), &Kind::ALL.map(Kind::as_str))
    }

    /// Returns types of records that are separated by commas. `prompt` and `prompts` are the same.
    pub(crate) fn types(&self) -> Result<Vec<What>, Problem> {
        self.list("type", What::parse, &What::ALL.map(What::plural))
    }

    /// Returns a time and a number that are separated by a dash, the format of `next`.
    pub(crate) fn cursor(&self, name: &str) -> Result<Option<(Millis, i64)>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let parts = text.split_once('-').unwrap_or((text, "0"));
        match (parts.0.parse(), parts.1.parse()) {
            (Ok(at), Ok(id)) => Ok(Some((Millis(at), id))),
            _ => Err(Problem::unreadable(format!("{name} is {text:?}"), "use the value of `next`")),
        }
    }

    fn list<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>, known: &[&str]) -> Result<Vec<T>, Problem> {
        let words = self.text(name).unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
        let unknown =
            |word: &str| Problem::unreadable(format!("{name} is {word:?}"), format!("use {}", known.join(", ")));
        words.map(|word| read(word).ok_or_else(|| unknown(word))).collect()
    }
}
