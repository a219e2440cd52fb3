//! What is written down of a restore before its first change.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_core::Env;
use longhaul_snapshot::{Disk, Entry, OnDisk, RestorePlan, Step, ancestors, decoded_path, encoded_path};

use crate::disk::Files;
use crate::journal::{Journal, JournalStep};
use crate::metadata::{Metadata, permissions};
use crate::restore::Goal;
use crate::restore_folders::closed_folders;
use crate::scan::Scanned;

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
    let stored = |step: &Step| {
        let before = file_of(&step.before).map(|entry| mode_of(now, &step.path, entry));
        let after = file_of(&step.after).map(|entry| {
            let known = goal.permissions.get(&step.path).copied();
            let same =
                before.filter(|_| then.has_no_modes && file_of(&step.before).is_some_and(|old| old.mode == entry.mode));
            known.or(same).unwrap_or_else(|| permissions(&then.modes, then.umask, &step.path, entry.is_executable()))
        });
        JournalStep::new(step, (before, after))
    };
    let (written, deleted): (Vec<&Step>, Vec<&Step>) = steps.iter().partition(|step| step.after.is_some());
    let above = |steps: &[&Step]| -> BTreeSet<Vec<u8>> {
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
        snapshot: goal.snapshot,
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
