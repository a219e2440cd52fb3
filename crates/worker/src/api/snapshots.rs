//! The snapshots of a session, and what differs between two of them.
//!
//! Everything that a repository contains is sent as text, and only up to a limit. The page shows it as text.

use std::collections::HashMap;
use std::time::Instant;

use axum::http::StatusCode;
use longhaul_core::SessionId;
use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::waiting_times;
use longhaul_snapshot_store as snapshot_store;
use longhaul_snapshot_store::{
    Depth, Place, Question, decoded_path, file_patch, first_file_changes, shown_path, stored_git,
};
use longhaul_store::{Snapshot, SnapshotKind, Store};
use serde_json::{Value, json};

use crate::routes::{ApiRequest, Problem};
use crate::shapes;

/// How many files that differ are listed.
const FILES: usize = 1_000;

/// How much of git's list of files is read, in bytes.
const LIST_BYTES: usize = 4 << 20;

/// How much of the difference of one file is sent, in bytes.
const PATCH_BYTES: usize = 256 << 10;

/// The maximum length of a path in a request, in bytes. Every byte of a name may be escaped.
const PATH_BYTES: usize = 16 << 10;

/// How much of a message of git is sent, in characters.
const MESSAGE_CHARS: usize = 300;

pub(crate) fn of_session(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let ApiRequest { store, params, id, .. } = request;
    let limit = params.limit(2_000, 500)?;
    let before = params.number("before", 1..=i64::MAX, i64::MAX)?;
    let session = SessionId::new(id).map(|id| id.to_string()).unwrap_or_default();
    let mut found = store.snapshots_of_session(&session, before, limit + 1)?;
    if found.is_empty() && store.session_overview(&session)?.is_none() {
        return Err(Problem::missing(format!("there is no session {id:?}"), "/api/sessions lists the sessions"));
    }
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|snapshot| snapshot.id);
    found.sort_by_key(|snapshot| (snapshot.created_at, snapshot.id));
    let notes = if found.is_empty() { HashMap::new() } else { notes(store, &session)? };
    let items = found.iter().map(|snapshot| {
        // At its start, a session has done nothing.
        let is_start = snapshot.kind == SnapshotKind::Start;
        let doing = if is_start { None } else { store.doing_at(&session, snapshot.created_at)? };
        let note = notes.get(&snapshot.created_at).map(String::as_str);
        Ok(shapes::snapshot(snapshot, note, doing.as_deref()))
    });
    Ok(json!({ "items": items.collect::<Result<Vec<Value>, Problem>>()?, "next": next }))
}

/// Returns the notes of a session's bookmarks by their times.
fn notes(store: &Store, session: &str) -> Result<HashMap<u64, String>, Problem> {
    let bookmarks = store.bookmarks(Some(session))?.into_iter().filter(|bookmark| bookmark.session == session);
    Ok(bookmarks.filter_map(|bookmark| Some((bookmark.created_at, bookmark.note?))).collect())
}

pub(crate) fn compare(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let pair = Pair::of(request)?;
    let listed = first_file_changes(&pair.git, &pair.before, &pair.after, LIST_BYTES);
    let (mut files, mut is_all) = listed.map_err(|error| failed(&error, &pair))?;
    let found = files.len();
    is_all &= found <= FILES;
    files.truncate(FILES);
    let file = |file: &snapshot_store::FileChange| {
        let mut value = shapes::file(&file.path, file.status);
        value["added"] = json!(file.added);
        value["removed"] = json!(file.removed);
        value
    };
    Ok(json!({
        "from": shapes::snapshot(&pair.from, None, None),
        "to": shapes::snapshot(&pair.to, None, None),
        "files": files.iter().map(file).collect::<Vec<Value>>(),
        "found": found,
        "is_complete": is_all,
    }))
}

pub(crate) fn patch(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let text = request.params.needed("path")?;
    if text.len() > PATH_BYTES {
        return Err(Problem::unreadable("path is too long", "use a path from /api/snapshots/compare"));
    }
    let path = decoded_path(text);
    // An argument of a program cannot have a zero byte.
    if path.contains(&0) {
        return Err(Problem::unreadable("path has a zero byte", "use a path from /api/snapshots/compare"));
    }
    let pair = Pair::of(request)?;
    let unchanged = || {
        let error = format!("{} does not differ between the two snapshots", shown_path(&path));
        Problem::missing(error, "/api/snapshots/compare lists the files that differ")
    };
    let found = file_patch(&pair.git, &pair.before, &pair.after, &path, PATCH_BYTES);
    let found = found.map_err(|error| failed(&error, &pair))?.ok_or_else(unchanged)?;
    let mut value = shapes::file(&path, found.status);
    value["patch"] = json!(String::from_utf8_lossy(&found.patch));
    value["is_complete"] = json!(found.is_whole);
    Ok(value)
}

/// Two snapshots of one work tree.
struct Pair {
    from: Snapshot,
    to: Snapshot,
    git: PrivateGit,
    /// The trees of their files.
    before: String,
    after: String,
}

impl Pair {
    fn of(request: &ApiRequest<'_>) -> Result<Self, Problem> {
        let number = |name: &str| {
            request.params.needed(name)?;
            request.params.number(name, 1..=i64::MAX, 0)
        };
        let (from, to) = (number("from")?, number("to")?);
        let (from, before, key) = with_files(request.store, from)?;
        let (to, after, other) = with_files(request.store, to)?;
        if key != other {
            let error = format!("the snapshots {} and {} are of different work trees", from.id, to.id);
            return Err(Problem::new(StatusCode::CONFLICT, error, "choose two of the same work tree"));
        }
        let gone = || Problem::missing("the files of these snapshots are not stored any more", "choose other ones");
        let deadline = Instant::now() + waiting_times::GIT_FOR_REQUEST;
        let git = stored_git(&request.worker.home, &key, deadline).ok_or_else(gone)?;
        Ok(Self { from, to, git, before, after })
    }
}

/// Returns a snapshot, the tree of its files, and the key of its work tree.
fn with_files(store: &Store, id: i64) -> Result<(Snapshot, String, String), Problem> {
    let unknown =
        || Problem::missing(format!("there is no snapshot {id}"), "/api/sessions/{id}/snapshots lists a session's");
    let snapshot = store.snapshot(id)?.ok_or_else(unknown)?;
    // The tree becomes an argument of git.
    let is_id = |tree: &String| !tree.is_empty() && tree.bytes().all(|byte| byte.is_ascii_hexdigit());
    match (snapshot.tree.clone().filter(is_id), snapshot.tree_key.clone()) {
        (Some(tree), Some(key)) => Ok((snapshot, tree, key)),
        _ => {
            let why = snapshot.skipped.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            Err(Problem::missing(format!("snapshot {id} has no files{why}"), "choose another one"))
        }
    }
}

/// Shows where the lines of a file come from, or why one of them is there.
///
/// Only of a file that snapshots hold: those that look like secrets, and ignored ones, are not shown.
pub(crate) fn why(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let ApiRequest { worker, store, params, .. } = request;
    let text = params.needed("path")?;
    if text.len() > PATH_BYTES || decoded_path(text).contains(&0) {
        return Err(Problem::unreadable("path is no path of a file", "use one that a record has"));
    }
    let named = decoded_path(text);
    let line = params.number("line", 1..=i64::MAX, 0)?;
    let session = params.needed("session")?;
    let id = SessionId::new(session).map(|id| id.to_string()).unwrap_or_default();
    let unknown =
        || Problem::missing(format!("session {session:?} has no snapshots"), "/api/sessions lists the sessions");
    let mut newest = store.snapshots_of_session(&id, i64::MAX, 100)?.into_iter();
    let tree = newest.find(|snapshot| snapshot.tree.is_some()).and_then(|snapshot| snapshot.work_tree);
    let place = Place::find(&worker.env, &worker.home, std::path::Path::new(&tree.ok_or_else(unknown)?))
        .map_err(|_| unknown())?;
    let top = place.tree.top.as_os_str().as_encoded_bytes();
    let path = named.strip_prefix(top).and_then(|rest| rest.strip_prefix(b"/")).unwrap_or(&named).to_vec();
    let gone =
        || Problem::missing(format!("no snapshot has {}", shown_path(&path)), "/api/snapshots/compare lists files");
    if !snapshot_store::is_in_snapshots(store, &place, &path).unwrap_or_default() {
        return Err(gone());
    }
    let depth = if line > 0 { Depth::WithBefore } else { Depth::Origins };
    let question = Question { env: &worker.env, home: &worker.home, store, place: &place, path: &path, depth };
    let found = snapshot_store::blame(&question).map_err(|_| gone())?;
    if line == 0 {
        return shapes::blamed(store, &found);
    }
    let explained = found.explain(store, usize::try_from(line).unwrap_or_default()).map_err(|_| gone())?;
    let no_line = || Problem::missing(format!("there is no line {line}"), "lines are counted from 1");
    Ok(explained.ok_or_else(no_line)?.to_json())
}

fn failed(error: &snapshot_store::Error, pair: &Pair) -> Problem {
    let command = format!("`longhaul diff {} {}` in a terminal has more time", pair.from.id, pair.to.id);
    if let snapshot_store::Error::Runtime(longhaul_runtime::Error::TimedOut { .. }) = error {
        return Problem::new(StatusCode::REQUEST_TIMEOUT, "comparing the snapshots takes too long", command);
    }
    let message: String = error.chain().chars().take(MESSAGE_CHARS).collect();
    let fix = "a `git gc` may have deleted what the snapshots borrow from the repository: compare others";
    Problem::new(StatusCode::CONFLICT, format!("cannot compare the snapshots: {message}"), fix)
}
