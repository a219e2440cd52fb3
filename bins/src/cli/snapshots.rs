//! `longhaul snapshots`, and which snapshot an argument names: a number, a time, or `last`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::{Env, Millis, SessionId, one_line, short_session};
use longhaul_handoff::{TimeQuery, date_of, parse_time_query};
use longhaul_inject::printable;
use longhaul_runtime::{Home, midnight, utc_offset_seconds};
use longhaul_snapshot_store::{ChangeCount, Destination, Error, Place, recover, unfinished};
use longhaul_store::{Snapshot, SnapshotKind, Store};
use serde_json::json;

use super::memory::open_memory::Memory;
use super::{Exit, out, paint};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the session whose id begins with ID
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> Result<Exit> {
    // With the tool calls of running turns, which say what was done last.
    let store = Memory::of(env)?.existing()?;
    let snapshots = match &store {
        Some(store) => store.snapshots(args.session.as_deref())?,
        None => Vec::new(),
    };
    if args.json {
        let rows = snapshots.iter().map(|one| Ok(to_json(one, doing(store.as_ref(), one)?.as_deref())));
        out::json(&rows.collect::<Result<Vec<_>>>()?)?;
    } else if snapshots.is_empty() {
        out::message("No snapshots yet. One is taken at every prompt and bookmark in a git repository.");
    } else {
        let notes = notes(store.as_ref(), args.session.as_deref())?;
        let header = ["NUMBER", "TIME", "SESSION", "KIND", "CHANGED", "FOLDER", DOING, "NOTE"].map(str::to_owned);
        let mut rows: Vec<[String; 8]> = vec![header];
        for one in &snapshots {
            rows.push(row(one, doing(store.as_ref(), one)?, &notes));
        }
        for line in paint::columns(&rows, &[0]) {
            out::line(&line)?;
        }
    }
    if let Some(place) = here(env).ok().filter(|place| unfinished(place).is_some()) {
        out::message(&interrupted(&place));
    }
    Ok(Exit::Success)
}

/// The header of the column with the beginning of the prompt, or the last tool call.
pub(super) const DOING: &str = "PROMPT OR LAST ACTION";

/// The maximum number of characters in that column.
const DOING_CHARS: usize = 60;

/// Returns what a session was doing at a time, in one short line.
pub(super) fn doing_at(store: &Store, session: &str, at: u64) -> Result<Option<String>> {
    Ok(store.doing_at(session, at)?.map(|text| printable(&one_line(&text, DOING_CHARS))))
}

/// Returns what a session was doing when a snapshot was taken. At its start it has done nothing.
fn doing(store: Option<&Store>, snapshot: &Snapshot) -> Result<Option<String>> {
    match store.filter(|_| snapshot.kind != SnapshotKind::Start) {
        Some(store) => doing_at(store, &snapshot.session, snapshot.created_at),
        None => Ok(None),
    }
}

/// The notes of bookmarks, by session and time.
type Notes = BTreeMap<(String, u64), String>;

fn notes(store: Option<&Store>, session: Option<&str>) -> Result<Notes> {
    let bookmarks = store.map(|store| store.bookmarks(session)).transpose()?.unwrap_or_default();
    let note = |one: longhaul_store::Bookmark| Some(((one.session, one.created_at), one.note?));
    Ok(bookmarks.into_iter().filter_map(note).collect())
}

fn row(snapshot: &Snapshot, doing: Option<String>, notes: &Notes) -> [String; 8] {
    let number = if snapshot.commit.is_some() { snapshot.id.to_string() } else { "-".to_owned() };
    let folder = snapshot.work_tree.as_deref().map(Path::new).and_then(Path::file_name);
    let note = notes.get(&(snapshot.session.clone(), snapshot.created_at)).cloned();
    let left_out = snapshot.left_out_some.as_ref().map(|some| {
        let more = snapshot.left_out.saturating_sub(5);
        format!("not in it: {some}{}", if more > 0 { format!(" and {more} more") } else { String::new() })
    });
    let said: Vec<String> = [note, left_out].into_iter().flatten().collect();
    [
        number,
        time(snapshot),
        short_session(&snapshot.session).to_owned(),
        snapshot.kind.name().to_owned(),
        changed(snapshot),
        printable(&folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()),
        doing.unwrap_or_default(),
        printable(&said.join("; ")),
    ]
}

/// What is shown instead of a change, where there is nothing to compare with.
pub(super) const NOTHING_BEFORE: &str = "nothing before it";

/// Returns what changed since the snapshot before, or why there is no snapshot.
fn changed(snapshot: &Snapshot) -> String {
    match (&snapshot.skipped, snapshot.changed) {
        (Some(why), _) => printable(&format!("no snapshot: {why}")),
        (None, Some((files, added, removed))) => ChangeCount { files, added, removed }.shown(),
        (None, None) => NOTHING_BEFORE.to_owned(),
    }
}

/// Returns the local time of a snapshot.
pub(crate) fn time(snapshot: &Snapshot) -> String {
    timestamp(snapshot).to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn timestamp(snapshot: &Snapshot) -> Timestamp {
    i64::try_from(snapshot.created_at).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default()
}

fn to_json(snapshot: &Snapshot, doing: Option<&str>) -> serde_json::Value {
    let changed =
        snapshot.changed.map(|(files, added, removed)| json!({ "files": files, "added": added, "removed": removed }));
    json!({
        "id": snapshot.id,
        "session": snapshot.session,
        "created_at": timestamp(snapshot).to_string(),
        "created_at_ms": snapshot.created_at,
        "kind": snapshot.kind.name(),
        "prompt_id": snapshot.prompt_id,
        "doing": doing,
        "work_tree": snapshot.work_tree,
        "head": snapshot.head,
        "branch": snapshot.branch,
        "under_way": snapshot.under_way,
        "staged": snapshot.index_tree,
        "changed": changed,
        "left_out": snapshot.left_out,
        "left_out_some": snapshot.left_out_some,
        "took_ms": snapshot.took_ms,
        "skipped": snapshot.skipped,
    })
}

/// Returns the work tree around the current folder.
pub(crate) fn here(env: &Env) -> Result<Place> {
    let dir = std::env::current_dir().context("the current folder does not exist")?;
    Place::find(env, &Home::of(env)?, &dir).map_err(|error| match error {
        Error::Skipped(skip) => anyhow::anyhow!("there are no snapshots here: {skip}"),
        error => anyhow::anyhow!("{}", error.chain()),
    })
}

/// Finishes a restore of the work tree that was interrupted, and says so.
pub(crate) fn finish_interrupted(env: &Env, place: &Place) -> Result<()> {
    let recovered =
        recover(env, place).map_err(|error| anyhow::anyhow!("{}. {}", error.chain(), interrupted(place)))?;
    let Some(done) = recovered else { return Ok(()) };
    let what = match done.to {
        Destination::BeforeRestore => "The undo of a restore",
        Destination::Snapshot(_) => "A restore",
    };
    out::message(&format!("{what} of this work tree was interrupted. It is finished now."));
    for path in done.conflicts {
        out::message(&format!(
            "Not touched, because it was changed since: {}",
            longhaul_snapshot_store::shown_path(&path)
        ));
    }
    Ok(())
}

/// Returns the message about a restore that was interrupted.
pub(crate) fn interrupted(place: &Place) -> String {
    match unfinished(place) {
        Some(Destination::BeforeRestore) | None => {
            "The undo of a restore was interrupted: `longhaul restore --undo` finishes it.".to_owned()
        }
        Some(Destination::Snapshot(number)) => format!(
            "The restore of snapshot {number} was interrupted: `longhaul restore NUMBER` finishes it first, \
             `longhaul restore --undo` undoes it."
        ),
    }
}

/// The snapshots of a work tree, from which an argument chooses one.
pub(crate) struct Choice<'a> {
    pub(crate) env: &'a Env,
    pub(crate) store: &'a Store,
    pub(crate) place: &'a Place,
    /// The beginning of the id of the session that the user has named.
    pub(crate) session: Option<&'a str>,
    /// The session in which the command runs.
    pub(crate) from_session: Option<&'a str>,
}

impl Choice<'_> {
    /// Returns the snapshot that `text` names: a number, a time, or `last`.
    pub(crate) fn choose(&self, text: &str) -> Result<Snapshot> {
        let own = self.own_session()?;
        let is_own = |one: &Snapshot| match (self.session, &own) {
            (Some(prefix), _) => one.session.starts_with(prefix),
            (None, Some(own)) => one.session == *own,
            (None, None) => true,
        };
        let snapshots = self.store.snapshots(self.session)?;
        let here = || snapshots.iter().filter(|one| one.tree_key.as_deref() == Some(&self.place.key) && is_own(one));
        let taken = || here().filter(|one| one.commit.is_some() && one.kind != SnapshotKind::Restore);
        if text == "last" {
            return taken().next_back().cloned().context("no snapshot of this work tree was taken in this session");
        }
        let number = text.strip_prefix('#').unwrap_or(text);
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            let found = number.parse().ok().map(|id| self.store.snapshot(id)).transpose()?.flatten();
            let snapshot = found.with_context(|| format!("there is no snapshot {number}: see `longhaul snapshots`"))?;
            return self.checked(snapshot, &is_own);
        }
        let today = date_of(self.env.now, utc_offset_seconds(self.env.now));
        let Ok(TimeQuery::Time { date, span }) = parse_time_query(text, today) else {
            bail!("{text:?} names no snapshot: use a number of `longhaul snapshots`, a time such as 14:03, or last");
        };
        let (_, to) = span.after(midnight(date.unwrap_or(today)));
        let found = taken().rfind(|one| Millis(one.created_at) < to);
        found.cloned().with_context(|| format!("no snapshot of this work tree and session is as old as {text}"))
    }

    fn checked(&self, snapshot: Snapshot, is_own: &dyn Fn(&Snapshot) -> bool) -> Result<Snapshot> {
        let id = snapshot.id;
        if let Some(why) = &snapshot.skipped {
            bail!("there is no snapshot {id}: {why}");
        }
        if snapshot.tree_key.as_deref() != Some(&self.place.key) {
            let folder = snapshot.work_tree.as_deref().unwrap_or("another folder");
            bail!("snapshot {id} is of another work tree: run the command in {folder}");
        }
        if !is_own(&snapshot) {
            let session = short_session(&snapshot.session);
            bail!("snapshot {id} is of another session: add --session {session} if you want it");
        }
        Ok(snapshot)
    }

    /// Returns the session in which the command runs, or otherwise that of the newest snapshot of the work tree.
    pub(crate) fn own_session(&self) -> Result<Option<String>> {
        let given = self.from_session.or(self.env.client_session.as_deref());
        if let Some(id) = given.and_then(SessionId::new) {
            return Ok(Some(id.to_string()));
        }
        let newest = self.store.newest_snapshot_of_tree(&self.place.key)?;
        Ok(newest.map(|snapshot| snapshot.session))
    }
}

/// Returns paths of the command line relative to the top of the work tree.
pub(crate) fn inside(place: &Place, paths: &[OsString]) -> Result<Vec<Vec<u8>>> {
    let dir =
        std::env::current_dir().and_then(|dir| dir.canonicalize()).context("the current folder does not exist")?;
    paths
        .iter()
        .map(|path| {
            if path.is_empty() {
                bail!("an empty path names no file: leave it out to restore everything");
            }
            let mut full = PathBuf::new();
            for part in dir.join(path).components() {
                match part {
                    Component::ParentDir => drop(full.pop()),
                    Component::CurDir => {}
                    part => full.push(part),
                }
            }
            let below = full.strip_prefix(&place.tree.top).ok();
            let below = below.with_context(|| format!("{} is not in this work tree", full.display()))?;
            Ok(below.as_os_str().to_owned().into_vec())
        })
        .collect()
}
