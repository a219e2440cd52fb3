//! What a restore is about to do, written down before it begins, so that it can be finished or taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use longhaul_core::Env;
use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::{bounded_read, files};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::disk::{FileState, Files, ModeChange, NewFile, StagedFile, sync_all};
use crate::folders::closed_folders;
use crate::git_output::{Contents, hashes, target_hashes};
use crate::paths::{Change, Entry, LINK, ancestors, decoded_path, encoded_path};
use crate::place::{Metadata, Place, permissions, remove};
use crate::restore::{Destination, Goal, Synced};
use crate::restore_plan::{Disk, OnDisk, RestorePlan, StepKind};
use crate::scan::Scanned;

/// Maximum size of a journal.
const MAX: u64 = 1 << 30;

/// A restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// The state to which it leads.
    pub(crate) to: Destination,
    /// The commit of the snapshot that was taken before.
    pub(crate) before: String,
    /// When it began, in milliseconds since the epoch.
    started_at: u64,
    /// What the names of temporary files begin with.
    pub(crate) temporary: String,
    /// The steps, in their order.
    pub(crate) steps: Vec<JournalStep>,
    /// The permissions that folders have in the end: those that are created, and those that change.
    pub(crate) folder_modes: BTreeMap<String, u32>,
    /// The permissions that those of them have which exist before.
    pub(crate) folders_before: BTreeMap<String, u32>,
    /// Folders that are not removed when they become empty.
    pub(crate) kept_folders: Vec<String>,
}

impl Journal {
    /// Returns the name of the temporary file of a step.
    pub(crate) fn temporary_name(&self, step: usize) -> String {
        format!("{}-{step}", self.temporary)
    }

    pub(crate) fn changes_something(&self) -> bool {
        !self.steps.is_empty() || !self.folders_before.is_empty()
    }

    /// Opens the work tree, with what the journal says about its folders.
    pub(crate) fn files(&self, place: &Place) -> Result<Files, Error> {
        let decoded = |modes: &BTreeMap<String, u32>| -> BTreeMap<Vec<u8>, u32> {
            modes.iter().map(|(path, mode)| (decoded_path(path), *mode)).collect()
        };
        let mut files = Files::of(place)?;
        (files.folder_modes, files.folders_before) = (decoded(&self.folder_modes), decoded(&self.folders_before));
        files.kept_folders = self.kept_folders.iter().map(|path| decoded_path(path)).collect();
        Ok(files)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalStep {
    path: String,
    before: Option<(u32, String)>,
    after: Option<(u32, String)>,
    /// The permissions before and after; `None` for a link.
    pub(crate) permissions: (Option<u32>, Option<u32>),
}

impl JournalStep {
    pub(crate) fn new(step: &Change, permissions: (Option<u32>, Option<u32>)) -> Self {
        let stored = |entry: &Option<Entry>| entry.as_ref().map(|entry| (entry.mode, entry.id.clone()));
        Self { path: encoded_path(&step.path), before: stored(&step.before), after: stored(&step.after), permissions }
    }

    pub(crate) fn step(&self) -> Change {
        let entry = |stored: &Option<(u32, String)>| stored.clone().map(|(mode, id)| Entry { mode, id });
        Change { path: decoded_path(&self.path), before: entry(&self.before), after: entry(&self.after) }
    }
}

/// Returns whether a restore of a work tree was begun and not finished, given the folder of its store.
pub(crate) fn exists(dir: &Path) -> bool {
    dir.join("journal.json").exists() && read(dir, "journal.json").is_some()
}

/// Returns the restore that was begun and not finished.
///
/// A journal that cannot be read was not written to the end, so that the restore has changed nothing.
pub(crate) fn unfinished(place: &Place) -> Option<Journal> {
    read(&place.dir, "journal.json")
}

/// Returns the last restore, finished or not.
pub(crate) fn last(place: &Place) -> Option<Journal> {
    unfinished(place).or_else(|| read(&place.dir, "last-restore.json"))
}

fn read(dir: &Path, name: &str) -> Option<Journal> {
    serde_json::from_slice(&bounded_read::bytes(&dir.join(name), MAX).ok()?).ok()
}

/// The file with the number of the snapshot whose restore was announced.
fn announcement(place: &Place) -> PathBuf {
    place.dir.join("announced-restore")
}

/// Records that a restore is about to be planned.
pub(crate) fn announce(place: &Place, snapshot: i64) -> Result<(), Error> {
    Ok(files::replace(&announcement(place), snapshot.to_string().as_bytes())?)
}

/// Removes the announcement.
pub(crate) fn withdraw(place: &Place) -> Result<(), Error> {
    remove(&announcement(place))
}

/// Returns the snapshot whose restore was announced and never begun, and removes the announcement.
pub(crate) fn take_announced(place: &Place) -> Result<Option<i64>, Error> {
    let announced = bounded_read::text(&announcement(place), bounded_read::SMALL).ok();
    if announced.is_some() {
        withdraw(place)?;
    }
    Ok(announced.filter(|_| !exists(&place.dir)).map(|text| text.trim().parse().unwrap_or_default()))
}

/// Writes down a restore that is about to begin. What is needed to take it back must be on the disk before.
pub(crate) fn begin(place: &Place, journal: &Journal, _synced: &Synced) -> Result<(), Error> {
    let json = serde_json::to_vec(journal).map_err(|_| Error::Output)?;
    let path = place.dir.join("journal.json");
    files::replace(&path, &json)?;
    let synced = bounded_read::open(&path).and_then(|file| file.sync_all());
    synced.map_err(Error::change(&path))?;
    withdraw(place)
}

pub(crate) fn finish(place: &Place) -> Result<(), Error> {
    withdraw(place)?;
    let path = place.dir.join("journal.json");
    std::fs::rename(&path, place.dir.join("last-restore.json")).map_err(Error::change(&path))
}

/// Returns the commit of the state before the last restore of a work tree, given the folder of its store.
pub(crate) fn before_of(dir: &Path) -> Option<String> {
    read(dir, "last-restore.json").map(|journal| journal.before)
}

/// Makes it impossible to take back the last restore of a work tree, given the folder of its store.
pub(crate) fn forget_last(dir: &Path) -> Result<(), Error> {
    remove(&dir.join("last-restore.json"))
}

// What is written down of a restore before its first change.

/// Returns the journal of a restore. `before` is the commit of the state to which taking it back leads.
pub(crate) fn journal(
    env: &Env,
    goal: &Goal,
    plan: &RestorePlan,
    before: String,
    now: &Scanned,
    then: &Metadata,
    files: &Files,
) -> Journal {
    let steps = &plan.steps;
    let stored = |step: &Change| {
        let before = file_of(&step.before).map(|entry| mode_of(now, &step.path, entry));
        let after = file_of(&step.after).map(|entry| {
            let known = goal.permissions.get(&step.path).copied();
            let same =
                before.filter(|_| then.has_no_modes && file_of(&step.before).is_some_and(|old| old.mode == entry.mode));
            known.or(same).unwrap_or_else(|| permissions(&then.modes, then.umask, &step.path, entry.is_executable()))
        });
        JournalStep::new(step, (before, after))
    };
    let (written, deleted): (Vec<&Change>, Vec<&Change>) = steps.iter().partition(|step| step.after.is_some());
    let above = |steps: &[&Change]| -> BTreeSet<Vec<u8>> {
        steps.iter().flat_map(|step| ancestors(&step.path)).map(<[u8]>::to_vec).collect()
    };
    let is_new = |folder: &[u8]| !matches!(files.at(folder), OnDisk::Folder | OnDisk::Repository);
    let modes_then = then.folder_modes();
    let is_known = |folder: &Vec<u8>| !then.has_no_folder_modes || modes_then.unusual.contains_key(folder);
    let new = above(&written).into_iter().filter(is_known).filter(|folder| is_new(folder));
    let mut folder_modes: BTreeMap<String, u32> =
        new.map(|folder| (encoded_path(&folder), modes_then.of(&folder))).collect();
    let mut folders_before = BTreeMap::new();
    // A folder in which nothing can be changed is opened, and closed again in the end.
    for (folder, mode) in closed_folders(files, steps) {
        folder_modes.insert(encoded_path(&folder), mode);
        folders_before.insert(encoded_path(&folder), mode);
    }
    for change in &plan.folders {
        folder_modes.insert(encoded_path(&change.path), change.after);
        folders_before.insert(encoded_path(&change.path), change.before);
    }
    // A folder that existed then stays: without files, or with others, which are written later.
    let mut existed: BTreeSet<Vec<u8>> = then.empty_folders.iter().map(|path| decoded_path(path)).collect();
    existed.extend(above(&written));
    let kept_folders = above(&deleted).intersection(&existed).map(|folder| encoded_path(folder)).collect();
    Journal {
        to: goal.to,
        before,
        started_at: env.now.0,
        temporary: format!(".longhaul-restore-{}-{}", env.now.0, std::process::id()),
        steps: steps.iter().map(stored).collect(),
        folder_modes,
        folders_before,
        kept_folders,
    }
}

/// Returns an entry that is a regular file.
fn file_of(entry: &Option<Entry>) -> Option<&Entry> {
    entry.as_ref().filter(|entry| !entry.is_link())
}

fn mode_of(now: &Scanned, path: &[u8], entry: &Entry) -> u32 {
    permissions(&now.modes, now.umask, path, entry.is_executable())
}

// Carries out the steps of a restore, as its journal lists them.

/// How many files are written before they are renamed to their places.
const AT_A_TIME: usize = 64;

/// How many bytes are written before the files are renamed to their places.
const BYTES_AT_A_TIME: u64 = 32 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathState {
    file: Option<FileState>,
    /// The entry that git would store.
    pub(crate) entry: Option<Entry>,
    /// Whether something is there that git does not store.
    is_other: bool,
}

/// Reads what is at the path of each step. `contents` says whether that is also stored.
pub(crate) fn states(
    git: &PrivateGit,
    files: &Files,
    journal: &Journal,
    contents: Contents,
) -> Result<Vec<PathState>, Error> {
    let steps: Vec<Change> = journal.steps.iter().map(JournalStep::step).collect();
    let mut found = Vec::new();
    for step in &steps {
        let file = files.state(&step.path).map_err(Error::change(&files.full(&step.path)))?;
        found.push(file);
    }
    let mode = |file: Option<FileState>| file.and_then(FileState::git_mode);
    let (mut to_hash, mut links, mut targets) = (Vec::new(), Vec::new(), Vec::new());
    for (step, file) in steps.iter().zip(&found) {
        match mode(*file) {
            Some(LINK) => {
                targets.push(files.link_target(&step.path).map_err(Error::change(&files.full(&step.path)))?);
                links.push(step.path.as_slice());
            }
            Some(_) => to_hash.push(step.path.as_slice()),
            None => {}
        }
    }
    let hashed = hashes(git, &to_hash, contents)?;
    let mut ids: BTreeMap<&[u8], String> = to_hash.into_iter().zip(hashed).collect();
    ids.extend(links.into_iter().zip(target_hashes(git, &targets, contents)?));
    let mut states = Vec::new();
    for (step, file) in steps.iter().zip(found) {
        let id = ids.get(step.path.as_slice()).cloned();
        let entry = mode(file).zip(id).map(|(mode, id)| Entry { mode, id });
        // A folder in the place of a file that is created is empty by then.
        let is_other = file.is_some_and(|file| file.git_mode().is_none()) && step.before.is_some();
        states.push(PathState { file, entry, is_other });
    }
    Ok(states)
}

/// A file that is written.
struct Write<'a> {
    step: &'a Change,
    stored: &'a JournalStep,
    /// What is in its place.
    found: Option<FileState>,
    temporary: String,
}

/// Makes the changes that are not made yet. Returns the paths that are neither as before nor as after the restore.
pub(crate) fn carry_out(
    git: &PrivateGit,
    files: &Files,
    journal: &Journal,
    states: &[PathState],
) -> Result<Vec<Vec<u8>>, Error> {
    let steps: Vec<Change> = journal.steps.iter().map(JournalStep::step).collect();
    let left_alone = files.open_folders();
    let mut conflicts = left_alone.clone();
    let mut writes = Vec::new();
    for (number, ((step, stored), state)) in steps.iter().zip(&journal.steps).zip(states).enumerate() {
        let temporary = journal.temporary_name(number);
        files.remove_temporary(&step.path, &temporary);
        let full = files.full(&step.path);
        let failed = Error::change(&full);
        let has_permissions =
            |wanted: Option<u32>| wanted.is_none() || state.file.is_none_or(|file| Some(file.permissions()) == wanted);
        if state.entry == step.after && has_permissions(stored.permissions.1) && !state.is_other {
            continue;
        }
        // A file that is gone was deleted to make room for the new one, and the restore was interrupted then.
        let is_gone = state.file.is_none() && step.after.is_some();
        if state.is_other || (!is_gone && state.entry != step.before && state.entry != step.after) {
            conflicts.push(step.path.clone());
            continue;
        }
        match step.kind() {
            StepKind::Delete => {
                let is_same = files.state(&step.path).map_err(&failed)? == state.file;
                if is_same {
                    files.delete(&step.path).map_err(&failed)?;
                } else {
                    conflicts.push(step.path.clone());
                }
            }
            StepKind::Write | StepKind::Create => {
                let changed = match stored.permissions.1.filter(|_| state.entry == step.after) {
                    Some(mode) => files.set_permissions(&step.path, state.file, mode).map_err(&failed)?,
                    None => ModeChange::NotPermitted,
                };
                match changed {
                    ModeChange::Done => {}
                    ModeChange::Conflict => conflicts.push(step.path.clone()),
                    ModeChange::NotPermitted => writes.push(Write { step, stored, found: state.file, temporary }),
                }
            }
        }
    }
    write_all(git, files, &writes, &mut conflicts)?;
    files.set_folder_permissions(&left_alone);
    Ok(conflicts)
}

/// Writes files, some at a time: all of them are on the disk before the first is renamed to its place. To wait for the disk
/// after each file would take many times as long.
///
/// A file for which there is no space comes last: others may become smaller.
fn write_all(git: &PrivateGit, files: &Files, writes: &[Write<'_>], conflicts: &mut Vec<Vec<u8>>) -> Result<(), Error> {
    let ids: Vec<String> = writes.iter().filter_map(|write| Some(write.step.after.as_ref()?.id.clone())).collect();
    let mut staged = Vec::new();
    let mut late = Vec::new();
    let mut bytes = 0;
    git.contents(&ids, |at, size, content| {
        let write = &writes[at];
        match stage(files, write, content) {
            Err(error) if is_full(&error) => {
                late.push((at, size));
                bytes = BYTES_AT_A_TIME;
            }
            file => {
                staged.push((write, file.map_err(failure(files, write))?));
                bytes += size;
            }
        }
        if staged.len() >= AT_A_TIME || bytes >= BYTES_AT_A_TIME {
            bytes = 0;
            place_all(files, &mut staged, conflicts)?;
        }
        Ok(())
    })?;
    place_all(files, &mut staged, conflicts)?;
    for (at, size) in late {
        let (step, stored, temporary) = (writes[at].step, writes[at].stored, writes[at].temporary.clone());
        write_late(git, files, Write { step, stored, temporary, ..writes[at] }, &ids[at..=at], size, conflicts)?;
    }
    Ok(())
}

/// Writes a file for which there was no space. If there is none still, the file in its place is deleted first: its content is
/// in the store, and the journal says what belongs there.
fn write_late(
    git: &PrivateGit,
    files: &Files,
    mut write: Write<'_>,
    id: &[String],
    size: u64,
    conflicts: &mut Vec<Vec<u8>>,
) -> Result<(), Error> {
    loop {
        let mut is_too_large = None;
        git.contents(id, |_, _, content| match stage(files, &write, content) {
            Err(error) if is_full(&error) => {
                is_too_large = Some(error);
                Ok(())
            }
            file => {
                let file = file.map_err(failure(files, &write))?;
                place_all(files, &mut vec![(&write, file)], conflicts)
            }
        })?;
        let Some(error) = is_too_large else { return Ok(()) };
        let has_room = files.make_room(&write.step.path, write.found, size).unwrap_or(false);
        if !has_room {
            return Err(failure(files, &write)(error).into());
        }
        write.found = None;
    }
}

fn stage(files: &Files, write: &Write<'_>, content: &mut dyn io::Read) -> io::Result<StagedFile> {
    let kind = write.stored.permissions.1.map_or(NewFile::Link, NewFile::File);
    files.stage(&write.step.path, kind, content, write.temporary.clone())
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Renames files to their places, unless something there has changed meanwhile.
fn place_all(
    files: &Files,
    staged: &mut Vec<(&Write<'_>, StagedFile)>,
    conflicts: &mut Vec<Vec<u8>>,
) -> Result<(), longhaul_runtime::Error> {
    let synced = sync_all(staged.iter().filter_map(|(_, file)| file.file.as_ref()));
    if let Some((write, _)) = staged.first() {
        synced.map_err(failure(files, write))?;
    }
    for (write, file) in staged.drain(..) {
        let path = &write.step.path;
        let now = files.state(path).map_err(failure(files, write))?;
        // A folder may be there if the restore has deleted all that was in it.
        let is_free = |state: Option<FileState>| state.is_none_or(FileState::is_folder);
        let is_unchanged = now == write.found || (is_free(now) && is_free(write.found));
        if is_unchanged {
            file.place().map_err(failure(files, write))?;
        } else {
            conflicts.push(path.clone());
        }
    }
    Ok(())
}

fn failure(files: &Files, write: &Write<'_>) -> impl Fn(io::Error) -> longhaul_runtime::Error {
    let path = files.full(&write.step.path);
    move |source| longhaul_runtime::Error::Write { path: path.clone(), source }
}

/// Removes the temporary files of an interrupted restore.
pub(crate) fn remove_temporary_files(place: &Place, journal: &Journal) -> Result<(), Error> {
    let files = Files::of(place)?;
    for (number, step) in journal.steps.iter().enumerate() {
        files.remove_temporary(&step.step().path, &journal.temporary_name(number));
    }
    Ok(())
}
