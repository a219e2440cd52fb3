//! Carries out the steps of a restore, as its journal lists them.

use std::collections::BTreeMap;
use std::io;

use longhaul_runtime::git::PrivateGit;
use longhaul_snapshot::{Entry, Step, StepKind};

use crate::Error;
use crate::disk::{FileState, Files, LINK, ModeChange};
use crate::git_output::{Contents, hashes, target_hashes};
use crate::journal::{Journal, JournalStep};
use crate::place::Place;
use crate::staged_file::{NewFile, StagedFile, sync_all};

/// How many files are written before they are renamed to their places.
const AT_A_TIME: usize = 64;

/// How many bytes are written before the files are renamed to their places.
const BYTES_AT_A_TIME: u64 = 32 << 20;

/// What is at the path of a step.
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
    let steps: Vec<Step> = journal.steps.iter().map(JournalStep::step).collect();
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
    step: &'a Step,
    stored: &'a JournalStep,
    /// What is in its place.
    found: Option<FileState>,
    /// The name of the temporary file.
    temporary: String,
}

/// Makes the changes that are not made yet. Returns the paths that are neither as before nor as after the restore.
pub(crate) fn carry_out(
    git: &PrivateGit,
    files: &Files,
    journal: &Journal,
    states: &[PathState],
) -> Result<Vec<Vec<u8>>, Error> {
    let steps: Vec<Step> = journal.steps.iter().map(JournalStep::step).collect();
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
