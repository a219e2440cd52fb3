//! Removes what a git that was killed, or that had no space left, has begun to write.

use std::path::Path;

use crate::lock::Lock;
use crate::place::{Place, folders, remove};

/// Removes the temporary files among the objects of a repository, unless a process of another worktree may be writing some.
/// The lock of this work tree must be held.
///
/// Without that, half of a large file would keep a full disk full.
pub(crate) fn remove_temporary_objects(place: &Place) {
    let others = folders(&place.repository_dir.join("trees")).into_iter().filter(|tree| *tree != place.dir);
    let locks: Option<Vec<Lock>> = others.map(|tree| Lock::try_take(&tree).ok().flatten()).collect();
    if locks.is_some() {
        remove_temporary_files(&place.objects(), |_| true);
    }
}

/// Removes the temporary files in the folders of objects. No git may be writing one that `is_left`.
pub(crate) fn remove_temporary_files(objects: &Path, is_left: impl Fn(&Path) -> bool) {
    for folder in folders(objects) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b"tmp_") && is_left(&entry.path()) {
                let _ = remove(&entry.path());
            }
        }
    }
}
