//! `longhaul snapshots`, `diff` and `restore`, and which snapshot an argument names: a number, a time, or `last`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use longhaul_core::{Env, Millis, SessionId, one_line, short_session};
use longhaul_handoff::{TimeQuery, date_of, parse_time_query};
use longhaul_inject::printable;
use longhaul_runtime::{Home, git_branch, midnight, utc_offset_seconds, waiting_times};
use longhaul_snapshot_store::{
    ChangeCount, Destination, Error, FileChange, Place, announce, encoded_path, file_changes, is_selected,
    left_out_line, limits, now_tree, plan_lines, plan_restore, plan_size, plan_undo, recover, serve_requests,
    show_diff, shown_path, unfinished,
};
use longhaul_store::{Snapshot, SnapshotKind, Store};
use serde_json::json;

use super::Exit;
use super::memory::open_memory::Memory;
use super::out::{self, confirm};
use super::paint::{self, local_time, utc_time};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the session whose id begins with ID
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> Result<()> {
    // With the tool calls of running turns, which say what was done last.
    let mut rows: Vec<(Snapshot, Option<String>)> = Vec::new();
    let mut notes = Notes::new();
    if let Some(store) = Memory::of(env)?.existing()? {
        for snapshot in store.snapshots(args.session.as_deref())? {
            // At its start, a session has done nothing.
            let doing = match snapshot.kind {
                SnapshotKind::Start => None,
                _ => doing_at(&store, &snapshot.session, snapshot.created_at)?,
            };
            rows.push((snapshot, doing));
        }
        let bookmarks = store.bookmarks(args.session.as_deref())?.into_iter();
        notes.extend(bookmarks.filter_map(|bookmark| Some(((bookmark.session, bookmark.created_at), bookmark.note?))));
    }
    let none = "No snapshots yet. One is taken at every prompt and bookmark in a git repository.";
    out::list(args.json, &rows, to_json, none, || {
        let header = ["NUMBER", "TIME", "SESSION", "KIND", "CHANGED", "FOLDER", DOING, "NOTE"];
        paint::table(header, rows.iter().map(|shown| row(shown, &notes)), &[0])
    })?;
    if let Some(place) = here(env).ok().filter(|place| unfinished(place).is_some()) {
        out::message(&interrupted(&place));
    }
    Ok(())
}

/// The header of the column with the beginning of the prompt, or the last tool call.
pub(super) const DOING: &str = "PROMPT OR LAST ACTION";

/// The maximum number of characters in that column.
const DOING_CHARS: usize = 60;

/// Returns what a session was doing at a time, in one short line.
pub(super) fn doing_at(store: &Store, session: &str, at: u64) -> Result<Option<String>> {
    Ok(store.doing_at(session, at)?.map(|text| printable(&one_line(&text, DOING_CHARS))))
}

/// The notes of bookmarks, by session and time.
type Notes = BTreeMap<(String, u64), String>;

fn row((snapshot, doing): &(Snapshot, Option<String>), notes: &Notes) -> [String; 8] {
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
        local_time(Millis(snapshot.created_at)),
        short_session(&snapshot.session).to_owned(),
        snapshot.kind.as_str().to_owned(),
        changed(snapshot),
        printable(&folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()),
        doing.clone().unwrap_or_default(),
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

fn to_json((snapshot, doing): &(Snapshot, Option<String>)) -> serde_json::Value {
    let changed =
        snapshot.changed.map(|(files, added, removed)| json!({ "files": files, "added": added, "removed": removed }));
    json!({
        "id": snapshot.id,
        "session": snapshot.session,
        "created_at": utc_time(Millis(snapshot.created_at)),
        "created_at_ms": snapshot.created_at,
        "kind": snapshot.kind.as_str(),
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
        Error::Skipped(skip) => anyhow!("there are no snapshots here: {skip}"),
        error => failed(error),
    })
}

pub(super) fn failed(error: Error) -> anyhow::Error {
    anyhow!("{}", error.chain())
}

/// Finishes a restore of the work tree that was interrupted, and says so.
fn finish_interrupted(env: &Env, place: &Place) -> Result<()> {
    let recovered = recover(env, place).map_err(|error| anyhow!("{}. {}", error.chain(), interrupted(place)))?;
    let Some(done) = recovered else { return Ok(()) };
    let what = match done.to {
        Destination::BeforeRestore => "The undo of a restore",
        Destination::Snapshot(_) => "A restore",
    };
    out::message(&format!("{what} of this work tree was interrupted. It is finished now."));
    for path in done.conflicts {
        out::message(&format!("Not touched, because it was changed since: {}", shown_path(&path)));
    }
    Ok(())
}

/// Returns the message about a restore that was interrupted.
fn interrupted(place: &Place) -> String {
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

/// Returns whether a time or `last` may mean a snapshot of this kind. The state before a restore, in the middle and at the end of a
/// turn is nowhere that a conversation can go back to.
fn is_place(kind: SnapshotKind) -> bool {
    !matches!(kind, SnapshotKind::Restore | SnapshotKind::Work | SnapshotKind::End)
}

/// The snapshots of a work tree, from which an argument chooses one.
struct Choice<'a> {
    env: &'a Env,
    store: &'a Store,
    place: &'a Place,
    /// The beginning of the id of the session that the user has named.
    session: Option<&'a str>,
    /// The session in which the command runs.
    from_session: Option<&'a str>,
}

impl Choice<'_> {
    /// Returns the snapshot that `text` names: a number, a time, or `last`.
    fn choose(&self, text: &str) -> Result<Snapshot> {
        let own = self.own_session()?;
        let is_own = |snapshot: &Snapshot| match (self.session, &own) {
            (Some(prefix), _) => snapshot.session.starts_with(prefix),
            (None, Some(own)) => snapshot.session == *own,
            (None, None) => true,
        };
        let snapshots = self.store.snapshots(self.session)?;
        let is_taken = |snapshot: &&Snapshot| {
            let is_here = snapshot.tree_key.as_deref() == Some(&self.place.key) && is_own(snapshot);
            is_here && snapshot.commit.is_some() && is_place(snapshot.kind)
        };
        let mut taken = snapshots.iter().filter(is_taken);
        if text == "last" {
            return taken.next_back().cloned().context("no snapshot of this work tree was taken in this session");
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
        let found = taken.rfind(|snapshot| Millis(snapshot.created_at) < to);
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
    fn own_session(&self) -> Result<Option<String>> {
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

#[derive(clap::Args)]
pub(crate) struct DiffArgs {
    /// A snapshot: its number, a time (14:03 or "2026-01-31 14:03"), or `last`
    #[arg(value_name = "A")]
    first: String,
    /// Another snapshot; by default the current files
    #[arg(value_name = "B")]
    second: Option<String>,
    /// Only these files and folders
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<OsString>,
    /// Show the number of changed lines of each file instead of the lines
    #[arg(long)]
    stat: bool,
    /// The session whose id begins with ID; by default the session in which the command runs, or else the session of the newest snapshot of this work tree
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print a JSON array of the files
    #[arg(long)]
    json: bool,
}

pub(crate) fn diff(env: &Env, args: &DiffArgs) -> Result<Exit> {
    let place = here(env)?;
    let store = Home::of(env)?.existing_store()?.context("no snapshot was taken yet")?;
    let session = args.session.as_deref();
    let choice = Choice { env, store: &store, place: &place, session, from_session: None };
    let tree = |snapshot: Snapshot| snapshot.tree.with_context(|| format!("snapshot {} has no files", snapshot.id));
    let first = tree(choice.choose(&args.first)?)?;
    let second = match &args.second {
        Some(second) => tree(choice.choose(second)?)?,
        None => {
            let (config, _) = longhaul_runtime::config(env)?;
            now_tree(env, &place, &limits(&config), waiting_times::SNAPSHOT_FOR_DIFF, waiting_times::GIT_DIFF)
                .map_err(failed)?
                .0
        }
    };
    let paths = inside(&place, &args.paths)?;
    let git = place.git(Instant::now() + waiting_times::GIT_DIFF);
    if args.json {
        let changes = file_changes(&git, &first, &second).map_err(failed)?;
        let row = |change: &FileChange| {
            json!({
                "path": encoded_path(&change.path),
                "status": change.status.to_string(),
                "added": change.added,
                "removed": change.removed,
            })
        };
        let selected = changes.iter().filter(|change| is_selected(&change.path, &paths));
        out::json(&selected.map(row).collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    let options: &[&str] = if args.stat { &["--stat"] } else { &[] };
    let is_done = show_diff(env, &git, &first, &second, options, &paths).map_err(failed)?;
    Ok(if is_done { Exit::Success } else { Exit::Problem })
}

/// How many paths of each kind are listed.
const LISTED: usize = 20;

/// The session of a restore that no session has asked for.
const NO_SESSION: &str = "terminal";

#[derive(clap::Args)]
pub(crate) struct RestoreArgs {
    /// A snapshot: its number, a time (14:03 or "2026-01-31 14:03"), or `last`
    #[arg(value_name = "A", required_unless_present = "undo", conflicts_with = "undo")]
    snapshot: Option<String>,
    /// Only these files and folders
    #[arg(last = true, value_name = "PATH", conflicts_with = "undo")]
    paths: Vec<OsString>,
    /// Undo the last restore, even if it was interrupted
    #[arg(long)]
    undo: bool,
    /// Print what would change without changing it
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// The session whose id begins with ID; by default the session in which the command runs, or else the session of the newest snapshot of this work tree
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The session that runs this command; a hook sets it
    #[arg(long, hide = true, value_name = "ID")]
    from_session: Option<String>,
}

pub(crate) fn restore(env: &Env, args: &RestoreArgs) -> Result<Exit> {
    let home = Home::of(env)?;
    let place = here(env)?;
    let (config, _) = longhaul_runtime::config(env)?;
    let limits = limits(&config);
    let store = home.existing_store()?.context("no snapshot was taken yet")?;
    let (session, from_session) = (args.session.as_deref(), args.from_session.as_deref());
    let choice = Choice { env, store: &store, place: &place, session, from_session };
    if args.undo && unfinished(&place) == Some(Destination::BeforeRestore) {
        // To undo what was half undone would lead to a state that never existed.
        if args.dry_run {
            bail!("{}", interrupted(&place));
        }
        finish_interrupted(env, &place)?;
        return Ok(Exit::Success);
    }
    let mut announced = None;
    let mut target_id = None;
    let mut prepared = if args.undo {
        print("Undoing the last restore")?;
        plan_undo(env, &place, &limits).map_err(failed)?
    } else {
        let target = choice.choose(args.snapshot.as_deref().unwrap_or_default())?;
        if args.dry_run {
            if unfinished(&place).is_some() {
                bail!("{}", interrupted(&place));
            }
        } else {
            finish_interrupted(env, &place)?;
        }
        describe(&place, &target)?;
        target_id = Some(target.id);
        if args.yes {
            announced = Some(announce(&place, target.id).map_err(failed)?);
        }
        plan_restore(env, &place, &limits, &target, inside(&place, &args.paths)?).map_err(failed)?
    };
    for line in plan_lines(&prepared.plan, LISTED).into_iter().chain(left_out_line(&prepared.left_out, 5)) {
        print(&line)?;
    }
    if args.dry_run && args.from_session.is_some() && prepared.plan.changes_something() {
        print("Nothing was changed yet: add the word now to do it.")?;
    }
    if !prepared.plan.changes_something() || args.dry_run {
        return Ok(Exit::Success);
    }
    if !args.yes {
        prepared.release();
    }
    let size = plan_size(&prepared.plan);
    confirm(&format!("Change {size}? A snapshot of the current state is taken first."), args.yes)?;
    if let Some(id) = target_id.filter(|_| announced.is_none()) {
        announced = Some(announce(&place, id).map_err(failed)?);
    }
    let own = choice.own_session()?.unwrap_or_else(|| NO_SESSION.to_owned());
    let restored = prepared.carry_out(env, &store, &limits, &own).map_err(|error| {
        // What was begun is not given up: the next command finishes it or undoes it.
        let begun = if unfinished(&place).is_some() { format!(". {}", interrupted(&place)) } else { String::new() };
        anyhow!("{}{begun}", error.chain())
    })?;
    drop(announced);
    let undo = if from_session.is_some() { "/longhaul:restore undo now" } else { "longhaul restore --undo" };
    print(&format!("Restored {}. `{undo}` undoes it.", plan_size(&restored.plan)))?;
    for path in &restored.conflicts {
        print(&format!("Not touched, because another program has changed it meanwhile: {}", shown_path(path)))?;
    }
    // A hook may have asked for a snapshot meanwhile.
    let log = longhaul_runtime::ErrorLog::new(env, "restore");
    serve_requests(env, &home, &config, &place, &log).map_err(failed)?;
    Ok(if restored.conflicts.is_empty() { Exit::Success } else { Exit::Problem })
}

/// Prints a line. The reader may be gone, such as a hook whose time was up. That is no reason to stop in the middle.
fn print(line: &str) -> Result<()> {
    match out::text(line) {
        Err(error) if out::is_closed_pipe(&error) => Ok(()),
        printed => printed,
    }
}

/// Says which snapshot it is, and whether another commit is checked out now.
fn describe(place: &Place, target: &Snapshot) -> Result<()> {
    let session = short_session(&target.session);
    let (id, kind, at) = (target.id, target.kind.as_str(), local_time(Millis(target.created_at)));
    print(&format!("Snapshot {id}: {kind}, {at}, session {session}"))?;
    let branch = git_branch(&place.tree.top);
    if branch != target.branch {
        let name = |branch: &Option<String>| branch.clone().unwrap_or_else(|| "no branch".to_owned());
        let (then, now) = (name(&target.branch), name(&branch));
        print(&format!("Then {then} was checked out, now {now} is: only files are restored, not the branch"))?;
    } else if longhaul_runtime::git::commit(&place.tree.top) != target.head {
        print("Another commit is checked out now: only files are restored, commits stay as they are")?;
    }
    if let Some(under_way) = &target.under_way {
        print(&format!("A {under_way} was under way then: its state is not restored"))?;
    }
    Ok(())
}
