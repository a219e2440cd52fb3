//! Takes a snapshot.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use longhaul_core::Env;
use longhaul_runtime::files;
use longhaul_runtime::git::{self, PrivateGit};
use longhaul_store::{Snapshot, SnapshotKind, Store};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::git_output::object_id;
use crate::left_out::{LeftOut, Limits};
use crate::place::{MAX_MODES, Metadata, Place, encoded};
use crate::scan::{Pause, Scanned, scan};
use crate::summary::ChangeCount;
use crate::{Error, compare, journal};

/// The most time for counting the changed lines of a snapshot. Of a larger difference, only the files are counted.
const COUNT_CHANGED_LINES: Duration = Duration::from_secs(10);

/// How many files that were left out are stored as text for the list.
const LISTED: usize = 5;

/// How many changed files are stored by name.
const LISTED_CHANGES: usize = 20;

/// Files in a merge or rebase that is not finished, and what it is called.
const UNDER_WAY: [(&str, &str); 6] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

/// What a snapshot is taken for, also as a request that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The session's id, in the form that is safe as a file name.
    pub session: String,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    #[serde(serialize_with = "write_kind", deserialize_with = "read_kind")]
    pub kind: SnapshotKind,
    pub prompt_id: Option<String>,
    /// Whether the snapshot is dropped last.
    #[serde(rename = "pinned")]
    pub is_pinned: bool,
    #[serde(rename = "private")]
    pub is_private: bool,
}

fn write_kind<S: Serializer>(kind: &SnapshotKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

fn read_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SnapshotKind, D::Error> {
    SnapshotKind::from_name(&String::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("no kind of snapshot"))
}

impl Event {
    /// Returns an event of a session, without a prompt.
    pub fn new(session: impl Into<String>, created_at: u64, kind: SnapshotKind) -> Self {
        Self { session: session.into(), created_at, kind, prompt_id: None, is_pinned: false, is_private: false }
    }
}

/// Takes a snapshot, waits at most `patience` for another process that does, and stores it for all `events`.
///
/// Returns the stored snapshots, one for each event.
pub fn take(
    env: &Env,
    place: &Place,
    store: &Store,
    limits: &Limits,
    events: &[Event],
    patience: Duration,
    limit: Duration,
) -> Result<Vec<Snapshot>, Error> {
    let lock = place.lock(patience)?;
    if journal::exists(&place.dir) {
        return Err(Error::Unfinished);
    }
    let taken = take_locked(env, place, store, limits, events, limit);
    drop(lock);
    taken
}

/// Returns the tree of the present files, and what is left out of it. No snapshot is stored.
pub fn now_tree(
    env: &Env,
    place: &Place,
    limits: &Limits,
    patience: Duration,
    limit: Duration,
) -> Result<(String, Vec<LeftOut>), Error> {
    let _lock = place.lock(patience)?;
    place.set_up(env)?;
    let scanned = scan(place, &place.git(Instant::now() + limit), env, limits, Pause::Ignore)?;
    Ok((scanned.tree, scanned.left_out))
}

/// Takes a snapshot as [`take`] does. The lock must be held.
pub(crate) fn take_locked(
    env: &Env,
    place: &Place,
    store: &Store,
    limits: &Limits,
    events: &[Event],
    limit: Duration,
) -> Result<Vec<Snapshot>, Error> {
    let started = Instant::now();
    place.set_up(env)?;
    let git = place.git(started + limit);
    let scanned = scan(place, &git, env, limits, Pause::Respect)?;
    add_snapshots(place, store, &git, &scanned, events, started)
}

/// Stores what was scanned as a snapshot for each event. The lock must be held.
pub(crate) fn add_snapshots(
    place: &Place,
    store: &Store,
    git: &PrivateGit,
    scanned: &Scanned,
    events: &[Event],
    started: Instant,
) -> Result<Vec<Snapshot>, Error> {
    let before = last_tree(place, store)?;
    let (commits, changed) = std::thread::scope(|scope| {
        let counting = before.map(|before| scope.spawn(move || count(git, &before, &scanned.tree)));
        let commits: Result<Vec<String>, Error> = events.iter().map(|event| commit(git, event, scanned)).collect();
        (commits, counting.map(|counting| counting.join().unwrap_or_default()))
    });
    let mut stored = Vec::new();
    for (event, commit) in events.iter().zip(commits?) {
        keep(place, &commit, scanned.index_tree.as_deref())?;
        let mut snapshot = describe(place, event);
        snapshot.commit = Some(commit);
        snapshot.tree = Some(scanned.tree.clone());
        snapshot.index_tree.clone_from(&scanned.index_tree);
        snapshot.left_out = scanned.left_out.len() as u64;
        let some: Vec<String> = scanned.left_out.iter().take(LISTED).map(LeftOut::shown).collect();
        snapshot.left_out_some = (!some.is_empty()).then(|| some.join(", "));
        if let Some((count, files)) = &changed {
            snapshot.changed = Some((count.files, count.added, count.removed));
            snapshot.changed_some.clone_from(files);
        }
        snapshot.bytes = scanned.bytes;
        let since_event = longhaul_runtime::env().now.0.saturating_sub(event.created_at);
        snapshot.took_ms = Some(since_event.max(started.elapsed().as_millis() as u64));
        snapshot.id = store.add_snapshot(&snapshot)?;
        stored.push(snapshot);
    }
    Ok(stored)
}

/// Returns a snapshot without files: what the event and the repository say.
pub(crate) fn describe(place: &Place, event: &Event) -> Snapshot {
    let mut snapshot = Snapshot::new(&event.session, event.created_at, event.kind);
    snapshot.prompt_id.clone_from(&event.prompt_id);
    snapshot.is_pinned = event.is_pinned;
    snapshot.is_private = event.is_private;
    snapshot.work_tree = Some(place.tree.top.to_string_lossy().into_owned());
    snapshot.tree_key = Some(place.key.clone());
    snapshot.head = git::commit(&place.tree.top);
    snapshot.branch = git::branch(&place.tree.top);
    snapshot.under_way = under_way(&place.tree.git_dir).map(str::to_owned);
    snapshot
}

fn under_way(git_dir: &Path) -> Option<&'static str> {
    UNDER_WAY.into_iter().find(|(file, _)| git_dir.join(file).exists()).map(|(_, name)| name)
}

/// Returns the tree of the newest snapshot of the work tree.
fn last_tree(place: &Place, store: &Store) -> Result<Option<String>, Error> {
    Ok(store.newest_snapshot_of_tree(&place.key)?.and_then(|snapshot| snapshot.tree))
}

/// Counts what differs between two trees. A difference that cannot be counted is no reason to have no snapshot.
fn count(git: &PrivateGit, before: &str, after: &str) -> (ChangeCount, Vec<String>) {
    if before == after {
        return Default::default();
    }
    let soon = PrivateGit { deadline: git.deadline.min(Instant::now() + COUNT_CHANGED_LINES), ..git.clone() };
    compare::count_and_name(&soon, before, after, LISTED_CHANGES)
        .or_else(|_| compare::count_files(git, before, after).map(|count| (count, Vec::new())))
        .unwrap_or_default()
}

fn commit(git: &PrivateGit, event: &Event, scanned: &Scanned) -> Result<String, Error> {
    let metadata = Metadata {
        session: event.session.clone(),
        kind: event.kind.as_str().to_owned(),
        created_at: event.created_at,
        left_out: encoded(&scanned.left_out),
        has_no_modes: scanned.modes.len() >= MAX_MODES,
        modes: all_or_none(&scanned.modes),
        umask: scanned.umask,
        has_no_folder_modes: scanned.folders.modes.len() >= MAX_MODES,
        folder_modes: all_or_none(&scanned.folders.modes),
        empty_folders: scanned.folders.empty.clone(),
        rules: Some(scanned.rules.clone()),
        hidden_rules: scanned.hidden_rules.clone(),
    };
    let message = serde_json::to_vec(&metadata).map_err(|_| Error::Output)?;
    let date = format!("@{} +0000", event.created_at / 1000);
    let dates = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, Path::new(&date)));
    object_id(&git.run_with(&["commit-tree", &scanned.tree, "-F", "-"], &dates, &message)?)
}

/// Returns permissions as they are stored: all of them, or none if there are too many.
fn all_or_none(modes: &BTreeMap<String, u32>) -> BTreeMap<String, u32> {
    if modes.len() < MAX_MODES { modes.clone() } else { BTreeMap::new() }
}

/// Writes the references that keep the objects of a snapshot.
fn keep(place: &Place, commit: &str, index_tree: Option<&str>) -> Result<(), Error> {
    let refs = place.repository_dir.join("refs");
    files::replace(&refs.join("snapshots").join(commit), format!("{commit}\n").as_bytes())?;
    if let Some(tree) = index_tree {
        files::replace(&refs.join("staged").join(commit), format!("{tree}\n").as_bytes())?;
    }
    Ok(())
}

/// Reads the tree of a snapshot, and what it knows beside its files.
pub(crate) fn read_commit(git: &PrivateGit, commit: &str) -> Result<(String, Metadata), Error> {
    let text = git.run(&["cat-file", "commit", commit], b"")?;
    let start = text.windows(2).position(|pair| pair == b"\n\n").ok_or(Error::Output)?;
    let tree = text.strip_prefix(b"tree ").and_then(|rest| rest.split(|byte| *byte == b'\n').next());
    let metadata = serde_json::from_slice(&text[start + 2..]).map_err(|_| Error::Output)?;
    Ok((object_id(tree.ok_or(Error::Output)?)?, metadata))
}
