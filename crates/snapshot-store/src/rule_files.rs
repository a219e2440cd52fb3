//! The files of a work tree that git opens by itself: ignore rules and attributes.
//!
//! git opens them without a check. A pipe would block it until its time limit, and a device may have no end. Where one of them
//! is not a file, there is no snapshot, and the list says why.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;

use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::waiting_times;
use longhaul_snapshot::names_git;

use crate::ignored_files::ignored_of;
use crate::repository_folders::is_repository;
use crate::{Error, Skip};

/// The names of such files.
const NAMES: [&str; 2] = [".gitignore", ".gitattributes"];

/// Maximum size of such a file. git reads all of it into memory.
const MAX_BYTES: u64 = 100 << 20;

/// Maximum number of folders that are searched.
const MAX_FOLDERS: usize = 500_000;

/// Checks the files of rules at the top of a work tree, and in `folders`.
pub(crate) fn check<'p>(top: &Path, folders: impl IntoIterator<Item = &'p [u8]>) -> Result<(), Error> {
    std::iter::once(&b""[..]).chain(folders).try_for_each(|folder| check_folder(top, folder))
}

fn check_folder(top: &Path, folder: &[u8]) -> Result<(), Error> {
    let folder = top.join(OsStr::from_bytes(folder));
    let bad = NAMES.map(|name| folder.join(name)).into_iter().find(|path| is_bad(path));
    bad.map_or(Ok(()), |path| Err(Skip::RuleFile(path).into()))
}

/// Returns whether git should not open a path. An older git follows a link.
fn is_bad(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| if found.is_file() { found.len() > MAX_BYTES } else { !found.is_dir() })
}

/// Searches the whole work tree for files of rules that stop git. Used only if git takes suspiciously long: the folders of
/// files that are stored are checked before, and of a new folder only git knows whether it is ignored.
pub(crate) fn search(git: &PrivateGit) -> Result<(), Error> {
    let top = &git.work_tree;
    let mut waiting = VecDeque::from([Vec::new()]);
    let mut seen = 0;
    // A folder comes after those above it, so that git is asked only about folders above which it can read all rules.
    while let Some(folder) = waiting.pop_front() {
        seen += 1;
        if seen > MAX_FOLDERS || Instant::now() >= git.deadline {
            break;
        }
        if let Err(bad) = check_folder(top, &folder) {
            if !is_ignored(git, &folder) {
                return Err(bad);
            }
            // git does not enter it.
            continue;
        }
        waiting.extend(folders_in(top, &folder));
    }
    Ok(())
}

fn is_ignored(git: &PrivateGit, folder: &[u8]) -> bool {
    let soon =
        PrivateGit { deadline: git.deadline.min(Instant::now() + waiting_times::GIT_IGNORED_FOLDER), ..git.clone() };
    !folder.is_empty() && ignored_of(&soon, &[folder]).is_ok_and(|ignored| !ignored.is_empty())
}

/// Returns the folders in a folder, but no repositories.
fn folders_in(top: &Path, folder: &[u8]) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(top.join(OsStr::from_bytes(folder))).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let own = folders.filter(|entry| !names_git(entry.file_name().as_bytes()) && !is_repository(&entry.path()));
    let path = |name: &[u8]| if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() };
    own.map(|entry| path(entry.file_name().as_bytes())).collect()
}
