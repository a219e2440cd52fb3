//! Rows as JSON, in the format that the command line prints, with the lengths of their texts.

use longhaul_core::one_line;
use longhaul_core::text::tokens_of_chars;
use longhaul_memory::Kind;
use longhaul_runtime::memory::folder_of;
use longhaul_snapshot_store::{encoded_path, shown_path};
use longhaul_store::{Content, Entry, KnownProject, Moment, MomentId, SessionOverview, Snapshot, What};
use serde_json::{Value, json};

/// How much of a prompt a list of sessions shows, in characters.
const PROMPT_CHARS: usize = 300;

/// How much of a text a timeline shows, in characters.
const TEXT_CHARS: usize = 2_000;

/// How much a list of snapshots shows of what the session was doing, in characters.
const DOING_CHARS: usize = 80;

/// Returns a whole record.
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

/// Returns a session, with its state and its context use.
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
        "kind": snapshot.kind.name(),
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

/// Returns a project.
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
