//! Which repository the work tree around a folder belongs to, for the identity of its project.
//!
//! Memory, handoff and costs are kept by this identity. A folder must not get those of another project by naming its
//! repository, so a link to a repository elsewhere counts only if that repository names the folder in turn, as git
//! writes it for a linked worktree and for a submodule.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::core_worktree::core_worktree;
use super::refs::{Repository, small_text};
use crate::bounded_read;

/// Maximum size of a configuration file that is read. One with a thousand branches has about 100 KB.
const MAX_CONFIG: u64 = 1 << 20;

/// Returns the folder that identifies the repository around `dir`, without symbolic links; `None` without a repository.
///
/// It is the git folder that all worktrees share, or the work tree itself if its `.git` is a link that the repository
/// elsewhere does not confirm.
pub(crate) fn identity(dir: &Path) -> Option<PathBuf> {
    let repository = Repository::around(dir)?;
    let work_tree = repository.work_tree.canonicalize().ok()?;
    let own = work_tree.join(".git");
    if own.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        // git puts no `commondir` into such a folder, so a file of this name is not followed.
        return Some(own);
    }
    Some(confirmed(&repository.git_dir, &work_tree).unwrap_or(work_tree))
}

/// Returns the folder that the worktrees of `git_dir` share, if `work_tree` is one of them.
fn confirmed(git_dir: &Path, work_tree: &Path) -> Option<PathBuf> {
    let git_dir = git_dir.canonicalize().ok()?;
    let Some(shared) = small_text(&git_dir.join("commondir")) else {
        // A git folder beside the link, such as `.bare`, is a part of the same folder.
        let is_ours = git_dir.parent() == Some(work_tree) || is_configured(&git_dir, work_tree);
        return is_ours.then_some(git_dir);
    };
    let common = git_dir.join(shared.trim()).canonicalize().ok()?;
    let names_us = || {
        let link = git_dir.join(small_text(&git_dir.join("gitdir"))?.trim());
        // The link itself is not resolved: `.git` of the worktree must be the file that was read.
        (link.file_name()? == ".git").then(|| link.parent()?.canonicalize().ok()).flatten()
    };
    let is_linked_worktree = git_dir.parent()? == common.join("worktrees");
    (is_linked_worktree && names_us().is_some_and(|found| found == work_tree)).then_some(common)
}

/// Returns whether the configuration of a repository names `work_tree`, as that of a submodule does.
fn is_configured(git_dir: &Path, work_tree: &Path) -> bool {
    // git moves the setting to the first file if `extensions.worktreeConfig` is enabled.
    let named = ["config.worktree", "config"].iter().find_map(|name| {
        let text = bounded_read::bytes(&git_dir.join(name), MAX_CONFIG).ok()?;
        core_worktree(&text)
    });
    let path = named.map(|named| git_dir.join(OsStr::from_bytes(&named)));
    path.and_then(|path| path.canonicalize().ok()).is_some_and(|found| found == work_tree)
}
