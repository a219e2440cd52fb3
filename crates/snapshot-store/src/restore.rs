//! Restores a snapshot: plans it, writes the plan down, carries it out, and finishes or takes back what was interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use longhaul_core::Env;
use longhaul_runtime::bounded_read;
use longhaul_runtime::git::PrivateGit;
use longhaul_store::{Snapshot, SnapshotKind, Store};
use serde::{Deserialize, Serialize};

use crate::disk::{Files, sync_many};
use crate::folders::folder_changes;
use crate::git_output::{Contents, listed_files, object_id};
use crate::journal::{self, carry_out, journal, remove_temporary_files, states};
use crate::left_out::{LeftOut, Limits};
use crate::paths::{Change, Entry, decoded_path, is_selected};
use crate::place::{Lock, MAX_MODES, Metadata, Place, folders};
use crate::restore_plan::{Disk, OnDisk, RestorePlan};
use crate::rules::{ignored_then, refuse_ignored};
use crate::scan::{Pause, Scanned, scan};
use crate::take::{Event, add_snapshots, read_commit};
use crate::{Error, compare};

/// How long to wait for the lock, for a restore: a snapshot is being taken.
const SNAPSHOT_LOCK_FOR_RESTORE: Duration = Duration::from_secs(60);

/// The most time for each part of a restore, in which git reads and writes objects.
const RESTORE_PART: Duration = Duration::from_secs(600);

/// A restore that was planned and not begun.
#[derive(Debug)]
pub struct PlannedRestore {
    place: Place,
    goal: Goal,
    /// What the snapshot knows beside its files.
    then: Metadata,
    /// The lock of the work tree, and the state that the restore was planned for; `None` after [`PlannedRestore::release`].
    held: Option<(Lock, Scanned)>,
    /// What will change.
    pub plan: RestorePlan,
    /// What the snapshot does not hold.
    pub left_out: Vec<LeftOut>,
}

/// The state to which a restore leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    Snapshot(i64),
    /// That before the last restore, which is taken back.
    BeforeRestore,
}

/// What is restored.
#[derive(Debug, Clone)]
pub(crate) struct Goal {
    pub(crate) to: Destination,
    commit: String,
    /// The files and folders that are restored; empty for all.
    selected: Vec<Vec<u8>>,
    /// The permissions of files, where they are known better than from the snapshot.
    pub(crate) permissions: BTreeMap<Vec<u8>, u32>,
    /// The permissions of folders that are brought back. A restore of a snapshot computes them from it.
    pub(crate) folders: BTreeMap<Vec<u8>, u32>,
    /// The state to which taking back this restore leads; `None` for the present one.
    before: Option<String>,
}

impl Goal {
    /// Returns whether a file or folder is restored. A restore that has changed no file changes none when it is taken back.
    pub(crate) fn selects(&self, path: &[u8]) -> bool {
        let is_nothing = self.to == Destination::BeforeRestore && self.selected.is_empty();
        !is_nothing && is_selected(path, &self.selected)
    }
}

#[derive(Debug)]
pub struct Restored {
    /// What was changed.
    pub plan: RestorePlan,
    /// Paths that were changed by another program meanwhile and were not touched.
    pub conflicts: Vec<Vec<u8>>,
    pub before: Snapshot,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// The state to which it led.
    pub to: Destination,
    /// Paths that were changed since and were not touched.
    pub conflicts: Vec<Vec<u8>>,
}

/// Plans the restore of a snapshot, or of the `selected` files and folders of it. Changes nothing in the work tree.
pub fn plan_restore(
    env: &Env,
    place: &Place,
    limits: &Limits,
    target: &Snapshot,
    selected: Vec<Vec<u8>>,
) -> Result<PlannedRestore, Error> {
    let commit = target.commit.clone().ok_or(Error::Gone(target.id))?;
    let (permissions, folders) = (BTreeMap::new(), BTreeMap::new());
    let to = Destination::Snapshot(target.id);
    plan_for(env, place, limits, Goal { to, commit, selected, permissions, folders, before: None })
}

/// Plans to take back the last restore: the files that it has changed become what they were before.
///
/// If that restore was interrupted, its files are in a state that no snapshot has. Taking back the undo then leads to the
/// state before that restore, not to the half-restored one.
pub fn plan_undo(env: &Env, place: &Place, limits: &Limits) -> Result<PlannedRestore, Error> {
    if let Some(snapshot) = journal::take_announced(place)? {
        return Err(Error::NotBegun(snapshot));
    }
    let last = journal::last(place).ok_or(Error::NothingToUndo)?;
    if !last.changes_something() {
        return Err(Error::NothingToUndo);
    }
    let selected: Vec<Vec<u8>> = last.steps.iter().map(|step| step.step().path).collect();
    let folders = last.folders_before.iter().map(|(path, mode)| (decoded_path(path), *mode)).collect();
    let permissions = last.steps.iter().filter_map(|step| Some((step.step().path, step.permissions.0?))).collect();
    let before = journal::exists(&place.dir).then(|| last.before.clone());
    let (to, commit) = (Destination::BeforeRestore, last.before);
    plan_for(env, place, limits, Goal { to, commit, selected, permissions, folders, before })
}

/// A restore that is about to be planned or carried out. The announcement stays only if the process is killed before the restore
/// has begun, so that an undo does not take back the restore before it.
#[derive(Debug)]
pub struct Announced {
    place: Place,
}

pub fn announce(place: &Place, snapshot: i64) -> Result<Announced, Error> {
    place.create_dir()?;
    journal::announce(place, snapshot)?;
    Ok(Announced { place: place.clone() })
}

impl Drop for Announced {
    fn drop(&mut self) {
        let _ = journal::withdraw(&self.place);
    }
}

/// Returns the state to which a restore was to lead that was interrupted.
pub fn unfinished(place: &Place) -> Option<Destination> {
    journal::unfinished(place).map(|journal| journal.to)
}

/// Finishes a restore that was interrupted. Returns `None` if there is none.
pub fn recover(env: &Env, place: &Place) -> Result<Option<Recovery>, Error> {
    if !journal::exists(&place.dir) {
        return Ok(None);
    }
    let _lock = place.lock(SNAPSHOT_LOCK_FOR_RESTORE)?;
    let Some(journal) = journal::unfinished(place) else { return Ok(None) };
    place.set_up(env)?;
    let git = place.git(Instant::now() + RESTORE_PART);
    let files = journal.files(place)?;
    let states = states(&git, &files, &journal, Contents::Read)?;
    let conflicts = carry_out(&git, &files, &journal, &states)?;
    journal::finish(place)?;
    Ok(Some(Recovery { to: journal.to, conflicts }))
}

fn plan_for(env: &Env, place: &Place, limits: &Limits, goal: Goal) -> Result<PlannedRestore, Error> {
    let lock = place.lock(SNAPSHOT_LOCK_FOR_RESTORE)?;
    place.set_up(env)?;
    let git = place.git(Instant::now() + RESTORE_PART);
    if let Some(journal) = journal::unfinished(place) {
        remove_temporary_files(place, &journal)?;
    }
    let scanned = scan(place, &git, env, limits, Pause::Ignore)?;
    let (plan, then) = plan(place, &git, &goal, &scanned)?;
    match goal.to {
        Destination::Snapshot(_) => check_selection(place, &git, &goal)?,
        // It was interrupted before its first change.
        Destination::BeforeRestore if !plan.changes_something() && journal::exists(&place.dir) => {
            journal::finish(place)?
        }
        Destination::BeforeRestore => {}
    }
    let (left_out, held) = (then.left_out(), Some((lock, scanned)));
    Ok(PlannedRestore { place: place.clone(), goal, then, held, plan, left_out })
}

impl PlannedRestore {
    /// Releases the lock of the work tree, while a person is asked. The files are then scanned again.
    pub fn release(&mut self) {
        self.held = None;
    }

    /// Carries out the restore, after a snapshot of the present state.
    ///
    /// Nothing is changed if the files differ from what was planned for, or if an object is missing.
    pub fn carry_out(mut self, env: &Env, store: &Store, limits: &Limits, session: &str) -> Result<Restored, Error> {
        let started = Instant::now();
        let place = &self.place;
        let git = place.git(started + RESTORE_PART);
        let (_lock, scanned) = match self.held.take() {
            Some(held) => held,
            None => self.scan_again(env, &git, limits)?,
        };
        let steps = &self.plan.steps;
        check_objects(&git, steps)?;
        let event = Event { is_pinned: true, ..Event::new(session, env.now.0, SnapshotKind::Restore) };
        let before = add_snapshots(place, store, &git, &scanned, &[event], started)?.pop().ok_or(Error::Output)?;
        let undo = self.goal.before.clone().or(before.commit.clone()).ok_or(Error::Output)?;
        let journal = journal(env, &self.goal, &self.plan, undo, &scanned, &self.then, &Files::of(place)?);
        let files = journal.files(place)?;
        let states = states(&store_trees(&git, &scanned.tree)?, &files, &journal, Contents::Store)?;
        let changed = steps.iter().zip(&states).find(|(step, state)| state.entry != step.before);
        if let Some((step, _)) = changed {
            return Err(Error::Changed(step.path.clone()));
        }
        journal::begin(place, &journal, &sync_objects(place)?)?;
        let conflicts = carry_out(&git, &files, &journal, &states)?;
        journal::finish(place)?;
        Ok(Restored { plan: self.plan, conflicts, before })
    }

    /// Takes the lock and scans the work tree. It is an error if the plan is no longer right.
    fn scan_again(&self, env: &Env, git: &PrivateGit, limits: &Limits) -> Result<(Lock, Scanned), Error> {
        let place = &self.place;
        let lock = place.lock(SNAPSHOT_LOCK_FOR_RESTORE)?;
        place.set_up(env)?;
        let scanned = scan(place, git, env, limits, Pause::Ignore)?;
        let (plan, _) = plan(place, git, &self.goal, &scanned)?;
        if plan != self.plan {
            let is_new = |step: &&Change| !self.plan.steps.contains(step);
            let step = plan.steps.iter().find(is_new).or(self.plan.steps.first()).map(|step| step.path.clone());
            let folder = || plan.folders.iter().chain(&self.plan.folders).next().map(|change| change.path.clone());
            return Err(Error::Changed(step.or_else(folder).unwrap_or_default()));
        }
        Ok((lock, scanned))
    }
}

/// Plans the way from the scanned state to the goal. Also returns what the goal's snapshot knows.
fn plan(place: &Place, git: &PrivateGit, goal: &Goal, now: &Scanned) -> Result<(RestorePlan, Metadata), Error> {
    let (target, then) = read_commit(git, &goal.commit).map_err(|_| match goal.to {
        Destination::Snapshot(id) => Error::Gone(id),
        Destination::BeforeRestore => Error::NothingToUndo,
    })?;
    let mut changes = compare::changes(git, &now.tree, &target)?;
    changes.retain(|change| goal.selects(&change.path));
    add_permissions(git, &target, goal, now, &then, &mut changes)?;
    let deleted: Vec<&[u8]> =
        changes.iter().filter(|change| change.after.is_none()).map(|change| change.path.as_slice()).collect();
    let ignored = ignored_then(place, git, &target, &then, &deleted)?;
    let files = Files::of(place)?;
    let mut plan = RestorePlan::new(&changes, &then.left_out(), &ignored, &files);
    refuse_ignored(place, git, &mut plan)?;
    plan.folders = folder_changes(git, &files, goal, now, &then, &target)?;
    Ok((plan, then))
}

/// Checks that every selected path is in the snapshot or in the work tree, so that a wrong one is not taken for a file that
/// does not differ.
fn check_selection(place: &Place, git: &PrivateGit, goal: &Goal) -> Result<(), Error> {
    let files = Files::of(place)?;
    for path in goal.selected.iter().filter(|path| !path.is_empty()) {
        let name = [goal.commit.as_bytes(), b":", path].concat();
        let is_in_snapshot = || match str::from_utf8(&name) {
            Ok(name) => git.run(&["cat-file", "-e", name], b"").is_ok(),
            // It cannot be passed on as an argument.
            Err(_) => true,
        };
        if matches!(files.at(path), OnDisk::Nothing) && !is_in_snapshot() {
            return Err(Error::Unknown(path.clone()));
        }
    }
    Ok(())
}

/// Adds the files whose content is the same and whose permissions differ.
fn add_permissions(
    git: &PrivateGit,
    target: &str,
    goal: &Goal,
    now: &Scanned,
    then: &Metadata,
    changes: &mut Vec<Change>,
) -> Result<(), Error> {
    if then.has_no_modes || now.modes.len() >= MAX_MODES {
        return Ok(());
    }
    let known: BTreeSet<&[u8]> = changes.iter().map(|change| change.path.as_slice()).collect();
    let either: BTreeSet<&String> = now.modes.keys().chain(then.modes.keys()).collect();
    let differ = |path: &&&String| now.modes.get(**path) != then.modes.get(**path);
    let wanted: BTreeSet<Vec<u8>> = either
        .iter()
        .filter(differ)
        .map(|path| decoded_path(path))
        .filter(|path| !known.contains(path.as_slice()) && goal.selects(path))
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut found = Vec::new();
    for (path, mode, id) in listed_files(&git.run(&["ls-tree", "-r", "-z", target], b"")?) {
        if wanted.contains(path) {
            let entry = Some(Entry { mode, id: id.to_owned() });
            found.push(Change { path: path.to_owned(), before: entry.clone(), after: entry });
        }
    }
    changes.extend(found);
    Ok(())
}

// The objects that a restore needs: those that it writes, and those with which it can be taken back.

/// After this time, the system has written a file to the disk of its own accord.
const WRITTEN: Duration = Duration::from_secs(120);

/// Checks that everything that a restore writes is in the store or the repository.
fn check_objects(git: &PrivateGit, steps: &[Change]) -> Result<(), Error> {
    let ids: BTreeSet<&str> = steps.iter().filter_map(|step| Some(step.after.as_ref()?.id.as_str())).collect();
    let list: Vec<&str> = ids.into_iter().collect();
    let found = git.run(&["cat-file", "--batch-check=%(objecttype)"], list.join("\n").as_bytes())?;
    let found = String::from_utf8_lossy(&found);
    let missing = list.iter().zip(found.lines()).find(|(_, kind)| *kind != "blob");
    match missing {
        Some((id, _)) => Err(longhaul_runtime::Error::MissingObject { id: (*id).to_owned() }.into()),
        None => Ok(()),
    }
}

/// Writes the trees of the present state to the store, also those that the repository has: it may prune them before the
/// restore is taken back. Returns git that does the same with everything else.
fn store_trees(git: &PrivateGit, tree: &str) -> Result<PrivateGit, Error> {
    let own = PrivateGit { borrowed: None, ..git.clone() };
    let written = object_id(&own.run(&["write-tree", "--missing-ok"], b"")?)?;
    if written == tree { Ok(own) } else { Err(Error::Output) }
}

/// Shows that the objects of the present state are on the disk.
#[derive(Debug)]
pub(crate) struct Synced(());

/// Waits until the objects of the present state are on the disk, before that state is changed: contents, trees and the commit.
///
/// git itself does not wait for any of them.
pub(crate) fn sync_objects(place: &Place) -> Result<Synced, Error> {
    let young = young_objects(place);
    let folder = bounded_read::open_dir(&place.objects());
    if folder.is_ok_and(|folder| sync_many(&folder, young.len()).unwrap_or(false)) {
        return Ok(Synced(()));
    }
    for path in young {
        let synced = bounded_read::open(&path).and_then(|file| file.sync_all());
        match synced {
            // It was packed meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            synced => synced.map_err(Error::change(&path))?,
        }
    }
    Ok(Synced(()))
}

/// Returns the files of objects that were written or used a short time ago.
pub(crate) fn young_objects(place: &Place) -> Vec<PathBuf> {
    let is_young = |path: &PathBuf| {
        let found = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file);
        let modified = found.and_then(|found| found.modified().ok());
        // The clock may have been set back since.
        modified.is_some_and(|at| at.elapsed().map_or(true, |age| age < WRITTEN))
    };
    let entries = folders(&place.objects()).into_iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    entries.flatten().flatten().map(|entry| entry.path()).filter(is_young).collect()
}
