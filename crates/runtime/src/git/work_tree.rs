//! Finds the work tree around a folder as git sees it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use longhaul_core::Env;

use super::closed::configured_command;
use super::core_worktree::included_files;
use super::refs::Repository;
use super::supported_version::GitVersion;
use crate::process::{self, Started};
use crate::{Error, bounded_read};

/// Files of a repository that git reads whole.
const READ_WHOLE: [&str; 5] = ["commondir", "HEAD", "config", "config.worktree", "objects/info/alternates"];

/// Files of a repository that git opens, of any size.
const OPENED: [&str; 2] = ["objects/info/commit-graph", "objects/pack/multi-pack-index"];

/// Maximum size of such a file.
const MAX_READ_WHOLE: u64 = 4 << 20;

/// Maximum number of files that the configuration of a repository includes.
const MAX_INCLUDED: u32 = 32;

/// A work tree of a repository.
#[derive(Debug, Clone)]
pub struct WorkTree {
    /// The folder that contains all files.
    pub top: PathBuf,
    /// `.git`, or the folder that the file `.git` names. A linked worktree has its own.
    pub git_dir: PathBuf,
    /// The folder that all worktrees share. It contains the objects.
    pub common_dir: PathBuf,
    /// Whether object ids are SHA-256 instead of SHA-1.
    pub is_sha256: bool,
    /// The configuration of the user and of the repository. Keys are in lower case; the last value counts.
    config: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Why there is no work tree.
#[derive(Debug, thiserror::Error)]
pub enum NoWorkTree {
    /// No folder above is a repository.
    #[error("not in a git repository")]
    NotARepository,
    /// git does not accept the repository, for example because it belongs to another user.
    #[error("git does not accept the repository: {0}")]
    Refused(String),
    /// git could not be started.
    #[error("{}", .0.chain())]
    Failed(#[from] Error),
}

impl WorkTree {
    /// Finds the work tree around `dir`. Runs nothing that the repository names, and changes nothing.
    pub fn around(env: &Env, dir: &Path, limit: Duration) -> Result<Self, NoWorkTree> {
        let repository = Repository::around(dir).ok_or(NoWorkTree::NotARepository)?;
        // git would take a folder that looks like a bare repository for one. Here, only `.git` makes a repository.
        let dir = repository.work_tree.as_path();
        check_files(&repository, env.home_dir.as_deref())?;
        let command = || configured_command(dir, env.home_dir.as_deref(), env.config_home.as_deref());
        let mut places = command();
        places.args(["rev-parse", "--show-object-format", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"]);
        let mut list = command();
        list.args(["config", "--null", "--list"]);
        // Both run at the same time.
        let (places, list) = (start(places, limit)?, start(list, limit)?);
        let places = output(places)?;
        let config = output(list)?;
        let lines: Vec<&[u8]> = places.strip_suffix(b"\n").unwrap_or(&places).split(|byte| *byte == b'\n').collect();
        let [format, top, git_dir, common_dir] = lines[..] else {
            return Err(NoWorkTree::Refused("its path contains a line break".to_owned()));
        };
        let path = |bytes: &[u8]| dir.join(OsStr::from_bytes(bytes));
        let canonical = |path: PathBuf| path.canonicalize().map_err(|source| Error::Read { path, source });
        let entry = |entry: &[u8]| {
            let mut parts = entry.splitn(2, |byte| *byte == b'\n');
            let key = parts.next().unwrap_or_default().to_ascii_lowercase();
            // A key without a value is a switch that is on.
            (key, parts.next().map_or_else(|| b"true".to_vec(), <[u8]>::to_vec))
        };
        Ok(Self {
            top: canonical(path(top))?,
            git_dir: canonical(path(git_dir))?,
            common_dir: canonical(path(common_dir))?,
            is_sha256: format == b"sha256",
            config: config.split(|byte| *byte == 0).filter(|line| !line.is_empty()).map(entry).collect(),
        })
    }

    /// Returns the value of a key of the configuration, in lower case.
    pub fn setting(&self, key: &str) -> Option<&[u8]> {
        self.config.get(key.as_bytes()).map(Vec::as_slice)
    }

    /// Returns the file of the user's own ignore rules, which need not exist.
    pub fn excludes_file(&self, env: &Env) -> Option<PathBuf> {
        let home = env.home_dir.as_deref();
        let Some(value) = self.setting("core.excludesfile") else {
            return Some(env.config_home.clone().or_else(|| Some(home?.join(".config")))?.join("git/ignore"));
        };
        match value.strip_prefix(b"~/") {
            Some(below) => Some(home?.join(OsStr::from_bytes(below))),
            None if value.is_empty() => None,
            None => Some(self.top.join(OsStr::from_bytes(value))),
        }
    }
}

/// Checks the files that git opens: one without an end would fill the memory, and a pipe would block.
fn check_files(repository: &Repository, home: Option<&Path>) -> Result<(), NoWorkTree> {
    for folder in [repository.git_dir.clone(), repository.common_dir()] {
        let files =
            READ_WHOLE.map(|name| (name, MAX_READ_WHOLE)).into_iter().chain(OPENED.map(|name| (name, u64::MAX)));
        for (path, most) in files.map(|(name, most)| (folder.join(name), most)) {
            check_file(&path, most)?;
        }
        let mut left = MAX_INCLUDED;
        for name in ["config", "config.worktree"] {
            check_included(&folder.join(name), home, &mut left)?;
        }
    }
    Ok(())
}

/// Checks one such file, which need not exist.
fn check_file(path: &Path, most: u64) -> Result<(), NoWorkTree> {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() || found.len() > most) {
        return Err(NoWorkTree::Refused(format!("{} is not a file of usual size", path.display())));
    }
    Ok(())
}

/// Checks the files that a configuration file includes, and those that they include. At most `left` files are read.
fn check_included(file: &Path, home: Option<&Path>, left: &mut u32) -> Result<(), NoWorkTree> {
    let Ok(text) = bounded_read::bytes(file, MAX_READ_WHOLE) else { return Ok(()) };
    for named in included_files(&text) {
        let shown = || String::from_utf8_lossy(&named).into_owned();
        *left = left.checked_sub(1).ok_or_else(|| NoWorkTree::Refused("it includes too many files".to_owned()))?;
        let path = match (named.strip_prefix(b"~/"), home) {
            (Some(below), Some(home)) => home.join(OsStr::from_bytes(below)),
            // Only git knows the folders of other users, and its own one.
            _ if named.starts_with(b"~") || named.starts_with(b"%(prefix)") => {
                return Err(NoWorkTree::Refused(format!("it includes {}, which cannot be checked", shown())));
            }
            _ => file.parent().unwrap_or(file).join(OsStr::from_bytes(&named)),
        };
        check_file(&path, MAX_READ_WHOLE)?;
        check_included(&path, home, left)?;
    }
    Ok(())
}

/// Returns the version of git; an error if it cannot be started.
pub fn version(limit: Duration) -> Result<GitVersion, Error> {
    let mut command = configured_command(Path::new("/"), None, None);
    command.arg("--version");
    let (_, out, _) = process::finish(command, "git", limit)?;
    let text = String::from_utf8_lossy(&out);
    GitVersion::parse(&text).ok_or_else(|| Error::Program {
        program: "git".to_owned(),
        message: format!("unknown version: {}", text.trim()),
    })
}

fn start(command: Command, limit: Duration) -> Result<Started, Error> {
    Started::new(command, "git", limit)
}

fn output(started: Started) -> Result<Vec<u8>, NoWorkTree> {
    let (status, out, err) = started.finish()?;
    if status.success() {
        return Ok(out);
    }
    let text = String::from_utf8_lossy(&err);
    let message = text.lines().find_map(|line| line.strip_prefix("fatal: ")).unwrap_or(text.trim());
    Err(NoWorkTree::Refused(message.to_owned()))
}
