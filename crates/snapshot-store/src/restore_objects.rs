//! The objects that a restore needs: those that it writes, and those with which it can be taken back.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use longhaul_runtime::bounded_read;
use longhaul_runtime::git::PrivateGit;
use longhaul_snapshot::Step;

use crate::Error;
use crate::git_output::object_id;
use crate::place::{Place, folders};
use crate::staged_file::sync_many;

/// After this time, the system has written a file to the disk of its own accord.
const WRITTEN: Duration = Duration::from_secs(120);

/// Checks that everything that a restore writes is in the store or the repository.
pub(crate) fn check_objects(git: &PrivateGit, steps: &[Step]) -> Result<(), Error> {
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
pub(crate) fn store_trees(git: &PrivateGit, tree: &str) -> Result<PrivateGit, Error> {
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
