//! Detects which folders of a work tree belong to a repository. They are neither read nor changed; the reason that is
//! reported is in `snapshot/src/left_out.rs`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use longhaul_runtime::git::WorkTree;

/// Returns the git folders of the repository itself that lie in the work tree under any name, relative to its top.
pub(crate) fn own_folders(tree: &WorkTree) -> Vec<Vec<u8>> {
    let below = [&tree.git_dir, &tree.common_dir].into_iter().filter_map(|dir| dir.strip_prefix(&tree.top).ok());
    below.map(|below| below.as_os_str().as_bytes().to_vec()).collect()
}

/// Returns whether a folder is a repository: one with `.git`, or a bare one.
pub(crate) fn is_repository(folder: &Path) -> bool {
    let is_folder = |name: &str| folder.join(name).symlink_metadata().is_ok_and(|found| found.is_dir());
    folder.join(".git").symlink_metadata().is_ok()
        || (folder.join("HEAD").symlink_metadata().is_ok() && is_folder("objects") && is_folder("refs"))
}
