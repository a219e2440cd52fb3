//! Carries out the steps of a restore, as its journal lists them.

use std::collections::BTreeMap;

use longhaul_runtime::git::PrivateGit;
use longhaul_snapshot::{Entry, Step, StepKind};

use crate::Error;
use crate::disk::{FileState, Files, NewFile};
use crate::git_output::{hashes, object_id};
use crate::journal::{Journal, JournalStep};
use crate::place::Place;

/// What is at the path of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathState {
    file: Option<FileState>,
    /// The entry that git would store.
    pub(crate) entry: Option<Entry>,
    /// Whether something is there that git does not store.
    is_other: bool,
}

/// Reads what is at the path of each step.
pub(crate) fn states(git: &PrivateGit, files: &Files, journal: &Journal) -> Result<Vec<PathState>, Error> {
    let steps: Vec<Step> = journal.steps.iter().map(JournalStep::step).collect();
    let mut found = Vec::new();
    for step in &steps {
        let file = files.state(&step.path).map_err(Error::change(&files.full(&step.path)))?;
        found.push(file);
    }
    let regular = |file: &Option<FileState>| file.and_then(FileState::git_mode).is_some_and(|mode| mode != 0o120_000);
    let to_hash: Vec<&[u8]> =
        steps.iter().zip(&found).filter(|(_, file)| regular(file)).map(|(step, _)| step.path.as_slice()).collect();
    let hashes: BTreeMap<&[u8], String> = to_hash.iter().copied().zip(hashes(git, &to_hash)?).collect();
    let mut states = Vec::new();
    for (step, file) in steps.iter().zip(found) {
        let id = match file.and_then(FileState::git_mode) {
            Some(0o120_000) => {
                let target = files.link_target(&step.path).map_err(Error::change(&files.full(&step.path)))?;
                Some(object_id(&git.run(&["hash-object", "--stdin"], &target)?)?)
            }
            _ => hashes.get(step.path.as_slice()).cloned(),
        };
        let entry = file.and_then(FileState::git_mode).zip(id).map(|(mode, id)| Entry { mode, id });
        // A folder in the place of a file that is created is empty by then.
        let is_other = file.is_some_and(|file| file.git_mode().is_none()) && step.before.is_some();
        states.push(PathState { file, entry, is_other });
    }
    Ok(states)
}

/// Makes the changes that are not made yet. Returns the paths that are neither as before nor as after the restore.
pub(crate) fn carry_out(
    git: &PrivateGit,
    files: &Files,
    journal: &Journal,
    states: &[PathState],
) -> Result<Vec<Vec<u8>>, Error> {
    let steps: Vec<(Step, &JournalStep, &PathState)> =
        journal.steps.iter().zip(states).map(|(stored, state)| (stored.step(), stored, state)).collect();
    let mut conflicts = Vec::new();
    let mut written = Vec::new();
    for (step, stored, state) in &steps {
        files.remove_temporary(&step.path, &journal.temporary);
        let full = files.full(&step.path);
        let failed = Error::change(&full);
        let has_permissions =
            |wanted: Option<u32>| wanted.is_none() || state.file.is_none_or(|file| Some(file.permissions()) == wanted);
        if state.entry == step.after && has_permissions(stored.permissions.1) && !state.is_other {
            continue;
        }
        if state.is_other || (state.entry != step.before && state.entry != step.after) {
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
            StepKind::Write | StepKind::Create => match stored.permissions.1 {
                Some(permissions) if state.entry == step.after => {
                    files.set_permissions(&step.path, permissions).map_err(&failed)?;
                }
                _ => written.push((step, *stored, *state)),
            },
        }
    }
    let ids: Vec<String> = written.iter().filter_map(|(step, _, _)| Some(step.after.as_ref()?.id.clone())).collect();
    git.contents(&ids, |at, _, content| {
        let (step, stored, state) = &written[at];
        let kind = stored.permissions.1.map_or(NewFile::Link, NewFile::File);
        let is_unchanged = || Ok(step.before.is_none() || files.state(&step.path)? == state.file);
        let done = files.write(&step.path, kind, content, &journal.temporary, is_unchanged);
        let path = files.full(&step.path);
        if !done.map_err(|source| longhaul_runtime::Error::Write { path, source })? {
            conflicts.push(step.path.clone());
        }
        Ok(())
    })?;
    Ok(conflicts)
}

/// Removes the temporary files of an interrupted restore.
pub(crate) fn remove_temporary_files(place: &Place, journal: &Journal) -> Result<(), Error> {
    let files = Files::open(&place.tree.top).map_err(Error::change(&place.tree.top))?;
    for step in &journal.steps {
        files.remove_temporary(&step.step().path, &journal.temporary);
    }
    Ok(())
}
