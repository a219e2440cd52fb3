//! Runs git so that it cannot execute anything that a repository names.
//!
//! Configuration decides what git executes: `core.fsmonitor`, filters, hooks, external diffs, pagers, aliases, included
//! files, submodules. Instead of switching off each of these settings, the configuration is hidden from git. It runs
//! with a git folder of our own that contains only the id of the commit, and gets the paths of the repository's index
//! and objects, which are data. A `.gitattributes` file may name any filter, but no filter is defined.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use longhaul_core::Env;

use super::refs::Repository;
use crate::{Error, Home, bounded_read, files, process, waiting_times};

/// Maximum size of an index that is passed to git.
const MAX_INDEX: u64 = 512 << 20;

/// Returns whether the work tree around `dir` has changes to tracked files; `None` if git fails or takes too long.
///
/// Changes inside submodules do not count. The content of the files is compared as it is: filters and the user's
/// `core.autocrlf` are not applied.
pub(crate) fn is_dirty(home: &Home, dir: &Path) -> Option<bool> {
    let repository = Repository::around(dir)?;
    let commit = repository.commit()?;
    let index = repository.git_dir.join("index").canonicalize().ok()?;
    bounded_read::open(&index).ok()?.metadata().ok().filter(|index| index.len() <= MAX_INDEX)?;
    let objects = repository.common_dir().join("objects").canonicalize().ok()?;
    let work_tree = repository.work_tree.canonicalize().ok()?;
    let own = OwnGitDir::new(home, &commit).ok()?;
    let mut command = command(&own.dir, &work_tree);
    command.env("GIT_INDEX_FILE", index).env("GIT_OBJECT_DIRECTORY", objects);
    command.args(["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", "--no-renames"]);
    let (status, changes, _) = process::finish(command, "git", waiting_times::GIT_IN_HOOK).ok()?;
    status.success().then_some(!changes.is_empty())
}

/// Returns the first commit of the branch that is checked out; of several, the one with the smallest id. `None` if there is
/// none, or a part of the history is missing, as in a shallow clone.
pub(crate) fn root_commit(home: &Home, dir: &Path, limit: Duration) -> Option<String> {
    let repository = Repository::around(dir)?;
    let commit = repository.commit()?;
    let objects = repository.common_dir().join("objects").canonicalize().ok()?;
    let own = OwnGitDir::new(home, &commit).ok()?;
    let mut command = command(&own.dir, &own.dir);
    command.env("GIT_OBJECT_DIRECTORY", objects);
    command.args(["rev-list", "--max-parents=0", "HEAD"]);
    let (status, roots, _) = process::finish(command, "git", limit).ok()?;
    let roots = String::from_utf8(roots).ok().filter(|_| status.success())?;
    roots.lines().min().map(str::to_owned)
}

/// Returns a git command that reads no configuration except that of `git_dir`.
pub(super) fn command(git_dir: &Path, work_tree: &Path) -> Command {
    let mut command = bare_command();
    command.envs([("HOME", git_dir), ("XDG_CONFIG_HOME", git_dir), ("GIT_DIR", git_dir), ("GIT_WORK_TREE", work_tree)]);
    command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_ATTR_NOSYSTEM", "1")]);
    command.current_dir(work_tree).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Returns a git command that reads the configuration of the user and of the repository around `dir`.
///
/// Only for commands that read nothing but that configuration and the place of the repository: they run nothing.
pub(super) fn configured_command(dir: &Path, home: Option<&Path>, config_home: Option<&Path>) -> Command {
    let mut command = bare_command();
    command.args(["-c", "safe.bareRepository=explicit"]);
    command.envs(home.map(|home| ("HOME", home))).envs(config_home.map(|dir| ("XDG_CONFIG_HOME", dir)));
    command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns a git command for a person to read its output, with the user's own configuration, colours and pager, but
/// not that of a repository: `git_dir` is a folder of our own.
pub(super) fn shown_command(git_dir: &Path, env: &Env) -> Command {
    let mut command = process::command("git");
    command.env_remove("XDG_CONFIG_HOME").envs(env.home_dir.as_deref().map(|home| ("HOME", home)));
    command.envs(env.config_home.as_deref().map(|dir| ("XDG_CONFIG_HOME", dir)));
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", git_dir).env("GIT_NO_LAZY_FETCH", "1").current_dir(git_dir);
    command.env("GIT_ALLOW_PROTOCOL", "none").env("GIT_OPTIONAL_LOCKS", "0");
    command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    command
}

/// Returns a git command without any variable of the environment, and without hooks, file system monitor and pager.
fn bare_command() -> Command {
    let mut command = process::command("git");
    // Variables such as GIT_EXTERNAL_DIFF or GIT_CONFIG_COUNT are configuration as well.
    command.env_clear().env("PATH", process::absolute_path());
    command.envs([
        // A query in the background must not take the lock that the user's own git needs.
        ("GIT_OPTIONAL_LOCKS", "0"),
        // A missing object is not fetched. Older versions of git know only the second way.
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", "none"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("LC_ALL", "C"),
    ]);
    // These options repeat the defaults of an empty configuration.
    command.args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    command
}

/// A git folder of our own, which contains only the commit that is checked out. Removed when dropped.
struct OwnGitDir {
    dir: PathBuf,
}

impl OwnGitDir {
    fn new(home: &Home, commit: &str) -> Result<Self, Error> {
        files::create_dir(&home.git_views())?;
        // LONGHAUL_HOME may be a relative path, but git runs in another folder.
        let folder =
            home.git_views().canonicalize().map_err(|source| Error::Read { path: home.git_views(), source })?;
        remove_leftovers(&folder);
        let own = Self { dir: folder.join(std::process::id().to_string()) };
        let config = match commit.len() {
            40 => "[core]\n\trepositoryformatversion = 0\n",
            _ => "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n",
        };
        for folder in ["refs", "objects"] {
            files::create_dir(&own.dir.join(folder))?;
        }
        files::replace(&own.dir.join("config"), config.as_bytes())?;
        files::replace(&own.dir.join("HEAD"), format!("{commit}\n").as_bytes())?;
        Ok(own)
    }
}

impl Drop for OwnGitDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Removes the folders of processes that were killed.
fn remove_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let owner = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if owner.is_none_or(|pid| !process::is_alive(pid)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
