//! `longhaul bookmarks` lists the bookmarks of one session or of all; `longhaul bookmark` sets one with a note.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Context, bail};
use longhaul_activity_log::LogLine;
use longhaul_core::{Env, Millis, SessionId, short_session};
use longhaul_inject::{Terminal, TypeWhen, printable};
use longhaul_runtime::{ActivityLog, Home, Order, Outcome, Receipt, SessionRecord, inject, waiting_times};
use longhaul_snapshot_store::{ChangeCount, counts, stored_git};
use longhaul_store::{Bookmark, Snapshot, SnapshotKind, Store, from_host};
use serde_json::json;

use super::memory::open_memory::Memory;
use super::out;
use super::paint::{self, local_time, utc_time};
use super::sessions::{only_one, only_running};
use super::snapshots::{DOING, NOTHING_BEFORE, doing_at};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the session whose id begins with ID
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<()> {
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
    let none = match args.session {
        Some(_) => "No bookmarks in that session.",
        None => "No bookmarks yet. They are set automatically in long turns; `longhaul bookmark NOTE` sets one now.",
    };
    let rows: Vec<(Bookmark, Option<String>)> = bookmarks.into_iter().zip(doing).collect();
    out::list(
        args.json,
        &rows,
        |row| to_json(row, &snapshots),
        none,
        || {
            let header = ["TIME", "SESSION", "COMMIT", "CONTEXT", "SNAPSHOT", "CHANGED", DOING, "NOTE"];
            paint::table(header, rows.iter().map(|shown| row(shown, &snapshots)), &[3, 4])
        },
    )
}

fn to_json((bookmark, doing): &(Bookmark, Option<String>), snapshots: &Snapshots) -> serde_json::Value {
    let snapshot = snapshots.by_event.get(&event(bookmark));
    let changed = snapshots.changed.get(&bookmark.id);
    json!({
        "id": bookmark.id,
        "session": bookmark.session,
        "host": bookmark.host,
        "created_at": utc_time(Millis(bookmark.created_at)),
        "created_at_ms": bookmark.created_at,
        "prompt_id": bookmark.prompt_id,
        "note": bookmark.note,
        "doing": doing,
        "cwd": bookmark.cwd,
        "git_commit": bookmark.git_commit,
        "git_dirty": bookmark.git_dirty,
        "context_tokens": bookmark.context_tokens,
        "snapshot": snapshot.filter(|snapshot| snapshot.commit.is_some()).map(|snapshot| snapshot.id),
        "changed": changed.map(|count| json!({ "files": count.files, "added": count.added, "removed": count.removed })),
        "no_snapshot": snapshot.and_then(|snapshot| snapshot.skipped.as_deref()),
    })
}

/// The number of a bookmark, the tree of the bookmark before it and its own.
type Pair = (i64, (String, String));

#[derive(Default)]
struct Snapshots {
    by_event: HashMap<(String, u64), Snapshot>,
    /// What changed since the bookmark before, by the number of the bookmark.
    changed: HashMap<i64, ChangeCount>,
}

impl Snapshots {
    fn of(home: &Home, store: &Store, session: Option<&str>, bookmarks: &[Bookmark]) -> anyhow::Result<Self> {
        let snapshots = store.snapshots(session)?.into_iter().filter(|taken| taken.kind == SnapshotKind::Bookmark);
        let by_event: HashMap<_, _> =
            snapshots.map(|taken| ((taken.session.clone(), taken.created_at), taken)).collect();
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

fn event(bookmark: &Bookmark) -> (String, u64) {
    (bookmark.session.clone(), bookmark.created_at)
}

fn row((bookmark, doing): &(Bookmark, Option<String>), snapshots: &Snapshots) -> [String; 8] {
    let time = local_time(Millis(bookmark.created_at));
    let host = bookmark.host.as_ref().map(|host| format!(" {}", printable(&from_host(host)))).unwrap_or_default();
    let session = format!("{}{host}", short_session(&bookmark.session));
    let dirty = if bookmark.git_dirty == Some(true) { "+" } else { "" };
    let commit = bookmark.git_commit.as_ref().map_or("-".to_owned(), |commit| format!("{:.8}{dirty}", commit));
    let context = bookmark.context_tokens.map_or("-".to_owned(), |tokens| format!("{}k", tokens.div_ceil(1000)));
    let [number, changed] = snapshots.columns(bookmark);
    let note = printable(bookmark.note.as_deref().unwrap_or_default());
    [time, session, commit, context, number, changed, doing.clone().unwrap_or_default(), note]
}

/// The maximum length of a note, in characters.
const NOTE_CHARS: usize = 500;

#[derive(clap::Args)]
pub(crate) struct BookmarkArgs {
    /// The note
    #[arg(required = true, value_name = "NOTE")]
    note: Vec<String>,
    /// The session whose id begins with ID, instead of the one in this pane, or the only one that runs
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

pub(crate) fn bookmark(env: &Env, args: &BookmarkArgs) -> anyhow::Result<()> {
    let home = Home::of(env)?;
    let record = find_session(env, &home, args.session.as_deref())?;
    let note = set(env, &home, &record, &args.note.join(" "))?;
    out::message(&format!("Bookmark set in session {}: {note}", record.session));
    Ok(())
}

/// Types a bookmark into a session and waits until it is confirmed. Returns the note without control characters.
pub(crate) fn set(env: &Env, home: &Home, record: &SessionRecord, note: &str) -> anyhow::Result<String> {
    let (config, _) = longhaul_runtime::config(env)?;
    if !config.bookmarks.is_on() {
        bail!("bookmarks are disabled: set bookmarks.enabled to true in the configuration");
    }
    let terminal = record.terminal.clone().with_context(|| {
        let why = record.no_terminal.as_deref().unwrap_or("its terminal is unknown");
        format!("cannot type into session {}: {why}", record.session)
    })?;
    let note: String = printable(note).chars().take(NOTE_CHARS).collect();
    let note = note.trim().to_owned();
    let session = SessionId::new(&record.session).context("the session's record has no id")?;
    let log = ActivityLog::open(home, &session)?;
    log.append(&[LogLine::Injection { at: env.now }])?;
    let order = Order {
        session: session.clone(),
        terminal,
        client_pid: record.client_pid,
        text: format!("{} {note}", config.bookmarks.marker.as_str()).trim_end().to_owned(),
        want: TypeWhen::Either,
        want_by_chord: None,
        agents_may_ask: false,
        agents_run: false,
        patience: config.inject.patience(),
        deadline: None,
    };
    match inject(env, home, &log, &order, Receipt::Bookmark, log.ticket()?)? {
        Outcome::Confirmed => Ok(note),
        Outcome::Superseded => bail!("another bookmark was set in session {session} at the same time: try again"),
        Outcome::AnotherSession => {
            bail!("no bookmark was set in session {session}: its terminal shows another session now, as after /clear")
        }
        Outcome::GaveUp(why) => bail!("no bookmark was set in session {session}: {why}"),
    }
}

/// Finds the session: the one that is named, or the one that runs this command, or the one in this pane, or the only one that
/// runs.
fn find_session(env: &Env, home: &Home, prefix: Option<&str>) -> anyhow::Result<SessionRecord> {
    let records = SessionRecord::all(home);
    if let Some(prefix) = prefix {
        return only_one(prefix, records, |record| &record.session);
    }
    let own = env.client_session.as_deref().and_then(SessionId::new);
    let here = Terminal::detect(env);
    let is_own = |record: &&SessionRecord| Some(record.session.as_str()) == own.as_ref().map(SessionId::as_str);
    let is_here = |record: &&SessionRecord| record.terminal.is_some() && record.terminal.as_ref() == here.as_ref().ok();
    if let Some(found) = records.iter().find(is_own).or_else(|| records.iter().find(is_here)) {
        return Ok(found.clone());
    }
    let only = only_running(env, home)?.map(|target| target.record);
    only.context(
        "no Claude Code session was found in this pane, and not exactly one runs: run this in the pane of a session, or name \
         one with --session ID (`longhaul status --json` lists them)",
    )
}
