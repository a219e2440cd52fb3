//! What is checked out: the commit by reading files, uncommitted changes by asking git.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process;

/// How long git may take to say whether something has changed; in a huge work tree nobody wants to wait for it.
const DIRTY_LIMIT: Duration = Duration::from_millis(700);

/// Returns the commit that is checked out in the work tree around `dir`.
pub(crate) fn commit(dir: &Path) -> Option<String> {
    let git_dir = git_dir(dir)?;
    let head = std::fs::read_to_string(git_dir.join("HEAD")).ok()?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return hash(&head) };
    // A linked worktree has its own HEAD; branches are kept in the folder that all of them share.
    let common = std::fs::read_to_string(git_dir.join("commondir"))
        .map_or_else(|_| git_dir.clone(), |path| git_dir.join(path.trim()));
    if let Ok(loose) = std::fs::read_to_string(common.join(name)) {
        return hash(&loose);
    }
    let packed = std::fs::read_to_string(common.join("packed-refs")).ok()?;
    packed.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix(' ').and_then(hash))
}

/// Returns the branch that is checked out around `dir`; the beginning of the commit where none is.
pub fn branch(dir: &Path) -> Option<String> {
    let head = std::fs::read_to_string(git_dir(dir)?.join("HEAD")).ok()?;
    match head.trim().strip_prefix("ref: ") {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => Some(hash(&head)?.chars().take(8).collect()),
    }
}

/// Returns the folder that all worktrees of the repository around `dir` share: what tells repositories apart.
pub(crate) fn common_dir(dir: &Path) -> Option<PathBuf> {
    let git_dir = git_dir(dir)?;
    let common = std::fs::read_to_string(git_dir.join("commondir"))
        .map_or_else(|_| git_dir.clone(), |path| git_dir.join(path.trim()));
    common.canonicalize().ok()
}

/// Returns whether the work tree has changes to tracked files; `None` where git does not say so in time.
pub(crate) fn is_dirty(dir: &Path) -> Option<bool> {
    let changes = process::git(dir, &["status", "--porcelain", "--untracked-files=no"], DIRTY_LIMIT).ok()?;
    Some(!changes.trim().is_empty())
}

/// Finds the `.git` folder, which in a worktree is a file that names it.
fn git_dir(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find_map(|dir| {
        let path = dir.join(".git");
        if path.is_dir() {
            return Some(path);
        }
        let link = std::fs::read_to_string(&path).ok()?;
        Some(dir.join(link.trim().strip_prefix("gitdir: ")?))
    })
}

fn hash(text: &str) -> Option<String> {
    let hash = text.trim();
    (hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| hash.to_owned())
}
