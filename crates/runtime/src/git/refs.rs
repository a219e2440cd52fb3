//! Reads branch, commit and folders of a repository from its files, without starting a process.

use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use crate::bounded_read;

/// Maximum number of bytes read from `packed-refs`.
const MAX_PACKED_REFS: u64 = 32 << 20;

/// Maximum length of the name of a branch.
const MAX_NAME: usize = 1024;

/// The repository that contains a folder.
pub(super) struct Repository {
    /// The folder that contains `.git`.
    pub(super) work_tree: PathBuf,
    /// `.git`, or the folder that the file `.git` names. A linked worktree has its own.
    pub(super) git_dir: PathBuf,
}

impl Repository {
    /// Finds the repository that contains `dir`.
    pub(super) fn around(dir: &Path) -> Option<Self> {
        dir.ancestors().find_map(|dir| {
            let path = dir.join(".git");
            if path.is_dir() {
                return Some(Self { work_tree: dir.to_owned(), git_dir: path });
            }
            let link = small_text(&path)?;
            Some(Self { work_tree: dir.to_owned(), git_dir: dir.join(link.trim().strip_prefix("gitdir: ")?) })
        })
    }

    /// Returns the folder that all worktrees share. It contains the branches and the objects.
    pub(super) fn common_dir(&self) -> PathBuf {
        let shared = small_text(&self.git_dir.join("commondir"));
        shared.map_or_else(|| self.git_dir.clone(), |path| self.git_dir.join(path.trim()))
    }

    /// Returns the commit that is checked out.
    pub(super) fn commit(&self) -> Option<String> {
        let head = small_text(&self.git_dir.join("HEAD"))?;
        let Some(name) = head.trim().strip_prefix("ref: ") else { return hash(&head) };
        // The name becomes part of a path, which must stay inside the folder of references.
        if !is_reference(name) {
            return None;
        }
        let common = self.common_dir();
        match small_text(&common.join(name)) {
            Some(loose) => hash(&loose),
            None => packed(&common.join("packed-refs"), name),
        }
    }
}

/// Returns whether a repository contains `dir`.
pub(crate) fn is_in_repository(dir: &Path) -> bool {
    Repository::around(dir).is_some()
}

/// Returns the commit that is checked out in the work tree that contains `dir`.
pub fn commit(dir: &Path) -> Option<String> {
    Repository::around(dir)?.commit()
}

/// Returns the branch that is checked out in the work tree that contains `dir`, or the first characters of the commit
/// if no branch is.
pub fn branch(dir: &Path) -> Option<String> {
    let head = small_text(&Repository::around(dir)?.git_dir.join("HEAD"))?;
    match head.trim().strip_prefix("ref: ") {
        // git allows no control characters in a name, and this one may be written to a terminal.
        Some(name) if name.len() > MAX_NAME || name.contains(char::is_control) => None,
        // References that are stored as a table are not in files; only git itself can read them.
        Some("refs/heads/.invalid") => None,
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => Some(hash(&head)?.chars().take(8).collect()),
    }
}

/// Searches `packed-refs` for a reference, line by line.
fn packed(path: &Path, name: &str) -> Option<String> {
    let file = bounded_read::open(path).ok()?;
    let lines = BufReader::new(file.take(MAX_PACKED_REFS)).lines().map_while(Result::ok);
    lines.into_iter().find_map(|line| line.strip_suffix(name)?.strip_suffix(' ').and_then(hash))
}

fn is_reference(name: &str) -> bool {
    name.starts_with("refs/") && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

pub(super) fn small_text(path: &Path) -> Option<String> {
    bounded_read::text(path, bounded_read::SMALL).ok()
}

fn hash(text: &str) -> Option<String> {
    let hash = text.trim();
    (matches!(hash.len(), 40 | 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| hash.to_owned())
}
