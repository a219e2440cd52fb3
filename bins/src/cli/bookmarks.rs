//! `longhaul bookmarks`: lists the bookmarks of one session or of all.

use std::collections::HashMap;
use std::time::Instant;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::{Env, short_session};
use longhaul_inject::printable;
use longhaul_runtime::{Home, waiting_times};
use longhaul_snapshot_store::{ChangeCount, counts, stored_git};
use longhaul_store::{Bookmark, Snapshot, SnapshotKind, Store, from_host};
use serde_json::json;

use super::memory::open_memory::Memory;
use super::snapshots::{DOING, NOTHING_BEFORE, doing_at};
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

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let home = Home::of(env)?;
    // With the tool calls of running turns, which say what was done last.
    let store = Memory::of(env)?.existing()?;
    let bookmarks = match &store {
        Some(store) => store.bookmarks(args.session.as_deref())?,
        None => Vec::new(),
    };
    let doing = |bookmark: &Bookmark| match &store {
        Some(store) => doing_at(store, &bookmark.session, bookmark.created_at),
        None => Ok(None),
    };
    let doing = bookmarks.iter().map(doing).collect::<anyhow::Result<Vec<_>>>()?;
    let snapshots = match &store {
        Some(store) => Snapshots::of(&home, store, args.session.as_deref(), &bookmarks)?,
        None => Snapshots::default(),
    };
    if args.json {
        let rows =
            bookmarks.iter().zip(&doing).map(|(bookmark, doing)| to_json(bookmark, doing.as_deref(), &snapshots));
        out::json(&rows.collect::<Vec<_>>())?;
    } else if bookmarks.is_empty() {
        out::message(match args.session {
            Some(_) => "No bookmarks in that session.",
            None => {
                "No bookmarks yet. They are set automatically in long turns; `longhaul bookmark NOTE` sets one now."
            }
        });
    } else {
        for line in table(&bookmarks, doing, &snapshots) {
            out::line(&line)?;
        }
    }
    Ok(Exit::Success)
}

fn to_json(bookmark: &Bookmark, doing: Option<&str>, snapshots: &Snapshots) -> serde_json::Value {
    let snapshot = snapshots.by_event.get(&event(bookmark));
    let changed = snapshots.changed.get(&bookmark.id);
    json!({
        "id": bookmark.id,
        "session": bookmark.session,
        "host": bookmark.host,
        "created_at": timestamp(bookmark).to_string(),
        "created_at_ms": bookmark.created_at,
        "prompt_id": bookmark.prompt_id,
        "note": bookmark.note,
        "doing": doing,
        "cwd": bookmark.cwd,
        "git_commit": bookmark.git_commit,
        "git_dirty": bookmark.git_dirty,
        "context_tokens": bookmark.context_tokens,
        "snapshot": snapshot.filter(|one| one.commit.is_some()).map(|one| one.id),
        "changed": changed.map(|count| json!({ "files": count.files, "added": count.added, "removed": count.removed })),
        "no_snapshot": snapshot.and_then(|one| one.skipped.as_deref()),
    })
}

/// The number of a bookmark, the tree of the bookmark before it and its own.
type Pair = (i64, (String, String));

/// The snapshots of bookmarks.
#[derive(Default)]
struct Snapshots {
    by_event: HashMap<(String, u64), Snapshot>,
    /// What changed since the bookmark before, by the number of the bookmark.
    changed: HashMap<i64, ChangeCount>,
}

impl Snapshots {
    fn of(home: &Home, store: &Store, session: Option<&str>, bookmarks: &[Bookmark]) -> anyhow::Result<Self> {
        let snapshots = store.snapshots(session)?.into_iter().filter(|one| one.kind == SnapshotKind::Bookmark);
        let by_event: HashMap<_, _> = snapshots.map(|one| ((one.session.clone(), one.created_at), one)).collect();
        // Those of one session and work tree follow one another.
        let mut before: HashMap<(&str, &str), &str> = HashMap::new();
        let mut pairs: HashMap<&str, Vec<Pair>> = HashMap::new();
        for bookmark in bookmarks {
            let Some(snapshot) = by_event.get(&event(bookmark)) else { continue };
            let (Some(key), Some(tree)) = (snapshot.tree_key.as_deref(), snapshot.tree.as_deref()) else { continue };
            if let Some(last) = before.insert((&snapshot.session, key), tree) {
                pairs.entry(key).or_default().push((bookmark.id, (last.to_owned(), tree.to_owned())));
            }
        }
        let mut changed = HashMap::new();
        for (key, pairs) in pairs {
            let Some(git) = stored_git(home, key, Instant::now() + waiting_times::CHANGES_OF_BOOKMARKS) else {
                continue;
            };
            let (ids, pairs): (Vec<i64>, Vec<_>) = pairs.into_iter().unzip();
            let counted = ids.into_iter().zip(counts(&git, &pairs));
            changed.extend(counted.filter_map(|(id, count)| Some((id, count?))));
        }
        Ok(Self { by_event, changed })
    }

    /// Returns the number of a bookmark's snapshot, and what changed since the one before or why there is none.
    fn columns(&self, bookmark: &Bookmark) -> [String; 2] {
        let Some(snapshot) = self.by_event.get(&event(bookmark)) else { return ["-", "-"].map(str::to_owned) };
        if let Some(why) = &snapshot.skipped {
            return ["-".to_owned(), printable(why)];
        }
        let changed = self.changed.get(&bookmark.id).map_or_else(|| NOTHING_BEFORE.to_owned(), |count| count.shown());
        [snapshot.id.to_string(), changed]
    }
}

/// Returns what identifies the event of a bookmark.
fn event(bookmark: &Bookmark) -> (String, u64) {
    (bookmark.session.clone(), bookmark.created_at)
}

/// Returns the bookmarks as a table.
fn table(bookmarks: &[Bookmark], doing: Vec<Option<String>>, snapshots: &Snapshots) -> Vec<String> {
    let header = ["TIME", "SESSION", "COMMIT", "CONTEXT", "SNAPSHOT", "CHANGED", DOING, "NOTE"].map(str::to_owned);
    let rows = bookmarks.iter().zip(doing).map(|(bookmark, doing)| row(bookmark, doing, snapshots));
    let rows: Vec<[String; 8]> = std::iter::once(header).chain(rows).collect();
    paint::columns(&rows, &[3, 4])
}

fn row(bookmark: &Bookmark, doing: Option<String>, snapshots: &Snapshots) -> [String; 8] {
    let time = timestamp(bookmark).to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    let host = bookmark.host.as_ref().map(|host| format!(" {}", printable(&from_host(host)))).unwrap_or_default();
    let session = format!("{}{host}", short_session(&bookmark.session));
    let dirty = if bookmark.git_dirty == Some(true) { "+" } else { "" };
    let commit = bookmark.git_commit.as_ref().map_or("-".to_owned(), |commit| format!("{:.8}{dirty}", commit));
    let context = bookmark.context_tokens.map_or("-".to_owned(), |tokens| format!("{}k", tokens.div_ceil(1000)));
    let [number, changed] = snapshots.columns(bookmark);
    let note = printable(bookmark.note.as_deref().unwrap_or_default());
    [time, session, commit, context, number, changed, doing.unwrap_or_default(), note]
}

fn timestamp(bookmark: &Bookmark) -> Timestamp {
    i64::try_from(bookmark.created_at).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default()
}
