//! The snapshots of a session, and what differs between two of them.
//!
//! Everything that a repository contains is sent as text, and only up to a limit. The page shows it as text.

use std::collections::HashMap;
use std::time::Instant;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use longhaul_core::SessionId;
use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::waiting_times;
use longhaul_snapshot_store as snapshot_store;
use longhaul_snapshot_store::{Depth, Place, Question, decoded_path, shown_path};
use longhaul_snapshot_store::{file_patch, first_file_changes, stored_git};
use longhaul_store::{Snapshot, SnapshotKind, Store};
use serde_json::{Value, json};

use crate::database::blocking;
use crate::routes::{Answer, Problem, Shared, json};
use crate::shapes::{self, Params};

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

/// Lists the snapshots of a session.
pub(crate) async fn of_session(State(worker): State<Shared>, Path(id): Path<String>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let limit = params.limit(2_000, 500)?;
    let before = params.number("before", 1..=i64::MAX, i64::MAX)?;
    let page = worker.database.ask(move |store| {
        let session = SessionId::new(&id).map(|id| id.to_string()).unwrap_or_default();
        let mut found = store.snapshots_of_session(&session, before, limit + 1)?;
        if found.is_empty() && store.session_overview(&session)?.is_none() {
            let fix = "/api/sessions lists the sessions";
            return Err(Problem::missing(format!("there is no session {id:?}"), fix));
        }
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|snapshot| snapshot.id);
        found.sort_by_key(|snapshot| (snapshot.created_at, snapshot.id));
        let notes = if found.is_empty() { HashMap::new() } else { notes(store, &session)? };
        let items = found.iter().map(|one| {
            // At its start, a session has done nothing.
            let is_start = one.kind == SnapshotKind::Start;
            let doing = if is_start { None } else { store.doing_at(&session, one.created_at)? };
            Ok(shapes::snapshot(one, notes.get(&one.created_at).map(String::as_str), doing.as_deref()))
        });
        Ok(json!({ "items": items.collect::<Result<Vec<Value>, Problem>>()?, "next": next }))
    });
    Ok(json(&page.await?))
}

/// Returns the notes of a session's bookmarks by their times.
fn notes(store: &Store, session: &str) -> Result<HashMap<u64, String>, Problem> {
    let bookmarks = store.bookmarks(Some(session))?.into_iter().filter(|bookmark| bookmark.session == session);
    Ok(bookmarks.filter_map(|bookmark| Some((bookmark.created_at, bookmark.note?))).collect())
}

/// Lists the files that differ between two snapshots.
pub(crate) async fn compare(State(worker): State<Shared>, request: Request) -> Answer {
    let pair = Pair::of(&worker, &Params::of(request.uri())).await?;
    let compared = with_git(&worker, pair, |git, pair| {
        let (mut files, mut is_all) = first_file_changes(git, &pair.before, &pair.after, LIST_BYTES)?;
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
    });
    Ok(json(&compared.await?))
}

/// Returns the difference of one file between two snapshots.
pub(crate) async fn patch(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let text = params.needed("path")?;
    if text.len() > PATH_BYTES {
        return Err(Problem::unreadable("path is too long", "use a path from /api/snapshots/compare"));
    }
    let path = decoded_path(text);
    // An argument of a program cannot have a zero byte.
    if path.contains(&0) {
        return Err(Problem::unreadable("path has a zero byte", "use a path from /api/snapshots/compare"));
    }
    let pair = Pair::of(&worker, &params).await?;
    let found = with_git(&worker, pair, move |git, pair| {
        let found = file_patch(git, &pair.before, &pair.after, &path, PATCH_BYTES)?;
        let Some(found) = found else { return Ok(Err(unchanged(&path))) };
        let mut value = shapes::file(&path, found.status);
        value["patch"] = json!(String::from_utf8_lossy(&found.patch));
        value["is_complete"] = json!(found.is_whole);
        Ok(Ok(value))
    });
    Ok(json(&found.await??))
}

fn unchanged(path: &[u8]) -> Problem {
    let error = format!("{} does not differ between the two snapshots", shown_path(path));
    Problem::missing(error, "/api/snapshots/compare lists the files that differ")
}

/// Two snapshots of one work tree.
struct Pair {
    from: Snapshot,
    to: Snapshot,
    /// Identifies the work tree.
    key: String,
    /// The trees of their files.
    before: String,
    after: String,
}

impl Pair {
    /// Finds the snapshots that a request names.
    async fn of(worker: &Shared, params: &Params) -> Result<Self, Problem> {
        let number = |name: &str| {
            params.needed(name)?;
            params.number(name, 1..=i64::MAX, 0)
        };
        let (from, to) = (number("from")?, number("to")?);
        worker.database.ask(move |store| Self::find(store, from, to)).await
    }

    fn find(store: &Store, from: i64, to: i64) -> Result<Self, Problem> {
        let (from, before, key) = with_files(store, from)?;
        let (to, after, other) = with_files(store, to)?;
        if key != other {
            let error = format!("the snapshots {} and {} are of different work trees", from.id, to.id);
            return Err(Problem::new(StatusCode::CONFLICT, error, "choose two of the same work tree"));
        }
        Ok(Self { from, to, key, before, after })
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

/// Runs git on another thread. Only one request does so at a time: the others need the threads for the database.
async fn with_git<T: Send + 'static>(
    worker: &Shared,
    pair: Pair,
    work: impl FnOnce(&PrivateGit, &Pair) -> Result<T, snapshot_store::Error> + Send + 'static,
) -> Result<T, Problem> {
    let turn = worker.comparisons.clone().acquire_owned().await;
    let turn = turn.map_err(|error| Problem::internal(error.to_string()))?;
    let home = worker.home.clone();
    blocking(move || {
        // It is held until git has ended, also if the client has gone.
        let _turn = turn;
        let gone = || Problem::missing("the files of these snapshots are not stored any more", "choose other ones");
        let git = stored_git(&home, &pair.key, Instant::now() + waiting_times::GIT_FOR_REQUEST).ok_or_else(gone)?;
        work(&git, &pair).map_err(|error| failed(&error, &pair))
    })
    .await
}

/// Shows where the lines of a file come from, or why one of them is there.
///
/// Only of a file that snapshots hold: those that look like secrets, and ignored ones, are not shown.
pub(crate) async fn why(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let text = params.needed("path")?;
    if text.len() > PATH_BYTES || decoded_path(text).contains(&0) {
        return Err(Problem::unreadable("path is no path of a file", "use one that a record has"));
    }
    let named = decoded_path(text);
    let line = params.number("line", 1..=i64::MAX, 0)?;
    let session = params.needed("session")?.to_owned();
    let turn = worker.comparisons.clone().acquire_owned().await;
    let turn = turn.map_err(|error| Problem::internal(error.to_string()))?;
    let answer = worker.database.ask({
        let (env, home) = (worker.env.clone(), worker.home.clone());
        move |store| {
            let _turn = turn;
            let id = SessionId::new(&session).map(|id| id.to_string()).unwrap_or_default();
            let unknown = || {
                Problem::missing(format!("session {session:?} has no snapshots"), "/api/sessions lists the sessions")
            };
            let newest = store.snapshots_of_session(&id, i64::MAX, 100)?.into_iter().find(|one| one.tree.is_some());
            let tree = newest.and_then(|one| one.work_tree).ok_or_else(unknown)?;
            let place = Place::find(&env, &home, std::path::Path::new(&tree)).map_err(|_| unknown())?;
            let top = place.tree.top.as_os_str().as_encoded_bytes();
            let path = named.strip_prefix(top).and_then(|rest| rest.strip_prefix(b"/")).unwrap_or(&named).to_vec();
            let gone = || {
                Problem::missing(format!("no snapshot has {}", shown_path(&path)), "/api/snapshots/compare lists files")
            };
            if !snapshot_store::is_in_snapshots(store, &place, &path).unwrap_or_default() {
                return Err(gone());
            }
            let depth = if line > 0 { Depth::WithBefore } else { Depth::Origins };
            let asked = Question { env: &env, home: &home, store, place: &place, path: &path, depth };
            let found = snapshot_store::blame(&asked).map_err(|_| gone())?;
            if line > 0 {
                let explained = found.explain(store, usize::try_from(line).unwrap_or_default()).map_err(|_| gone())?;
                let explained = explained
                    .ok_or_else(|| Problem::missing(format!("there is no line {line}"), "lines are counted from 1"))?;
                return Ok(explained.to_json());
            }
            shapes::blamed(store, &found)
        }
    });
    Ok(json(&answer.await?))
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
