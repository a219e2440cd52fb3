//! The state of a git repository: branch and commit from its files, uncommitted changes from git.
//!
//! A repository is untrusted, and most git commands run programs that its configuration names. Only this module may
//! start git, and it does so only by `command`, in `private_git.rs` and in `work_tree.rs`.

mod private_git;
mod work_tree;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use longhaul_core::Env;

use self::work_tree::core_worktree;
use crate::clock_and_env::patient;
use crate::{Error, Home, bounded_read, files, process};

pub use self::private_git::{Printed, PrivateGit};
pub use self::work_tree::{NoWorkTree, WorkTree, resolve, version, write_note};

/// The name of the program, and of the kind of repositories.
pub const NAME: &str = "git";

/// How long to wait for git, in a hook. In a huge work tree the result is not worth a longer wait.
const GIT_IN_HOOK: Duration = Duration::from_millis(700);

// Runs git so that it cannot execute anything that a repository names.
//
// Configuration decides what git executes: `core.fsmonitor`, filters, hooks, external diffs, pagers, aliases, included
// files, submodules. Instead of switching off each of these settings, the configuration is hidden from git. It runs
// with a git folder of our own that contains only the id of the commit, and gets the paths of the repository's index
// and objects, which are data. A `.gitattributes` file may name any filter, but no filter is defined.

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
    let (status, changes, _) = process::finish(command, "git", patient(GIT_IN_HOOK)).ok()?;
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
fn command(git_dir: &Path, work_tree: &Path) -> Command {
    let mut command = bare_command();
    command.envs([("HOME", git_dir), ("XDG_CONFIG_HOME", git_dir), ("GIT_DIR", git_dir), ("GIT_WORK_TREE", work_tree)]);
    command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_ATTR_NOSYSTEM", "1")]);
    command.current_dir(work_tree).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Returns a git command that reads the configuration of the user and of the repository around `dir`.
///
/// Only for commands that run nothing: those that read that configuration, the place of the repository or the id of a commit,
/// and the one that writes a note.
fn configured_command(dir: &Path, home: Option<&Path>, config_home: Option<&Path>) -> Command {
    let mut command = bare_command();
    command.args(["-c", "safe.bareRepository=explicit"]);
    command.envs(home.map(|home| ("HOME", home))).envs(config_home.map(|dir| ("XDG_CONFIG_HOME", dir)));
    command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns a git command for a person to read its output, with the user's own configuration, colours and pager, but
/// not that of a repository: `git_dir` is a folder of our own.
fn shown_command(git_dir: &Path, env: &Env) -> Command {
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

// Which repository the work tree around a folder belongs to, for the identity of its project.
//
// Memory, handoff and costs are kept by this identity. A folder must not get those of another project by naming its
// repository, so a link to a repository elsewhere counts only if that repository names the folder in turn, as git
// writes it for a linked worktree and for a submodule.

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

// The version of git: the oldest that snapshots work with, and how it is read.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl GitVersion {
    /// The oldest version that snapshots work with.
    pub const OLDEST: Self = Self { major: 2, minor: 30 };

    /// Reads what `git --version` prints; `None` if there is no version in it.
    fn parse(printed: &str) -> Option<Self> {
        let version = printed.split_whitespace().nth(2)?;
        let mut numbers = version.split('.').map_while(|part| part.parse().ok());
        Some(Self { major: numbers.next()?, minor: numbers.next()? })
    }
}

// Reads branch, commit and folders of a repository from its files, without starting a process.

/// Maximum number of bytes read from `packed-refs`.
const MAX_PACKED_REFS: u64 = 32 << 20;

/// Maximum length of the name of a branch.
const MAX_NAME: usize = 1024;

struct Repository {
    /// The folder that contains `.git`.
    work_tree: PathBuf,
    /// `.git`, or the folder that the file `.git` names. A linked worktree has its own.
    git_dir: PathBuf,
}

impl Repository {
    fn around(dir: &Path) -> Option<Self> {
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
    fn common_dir(&self) -> PathBuf {
        let shared = small_text(&self.git_dir.join("commondir"));
        shared.map_or_else(|| self.git_dir.clone(), |path| self.git_dir.join(path.trim()))
    }

    /// Returns the commit that is checked out.
    fn commit(&self) -> Option<String> {
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

fn small_text(path: &Path) -> Option<String> {
    bounded_read::text(path, bounded_read::SMALL).ok()
}

fn hash(text: &str) -> Option<String> {
    let hash = text.trim();
    (matches!(hash.len(), 40 | 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| hash.to_owned())
}

#[cfg(test)]
mod tests;
