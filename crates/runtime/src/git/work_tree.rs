//! Finds the work tree around a folder as git sees it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use longhaul_core::Env;

use crate::git::{GitVersion, Repository, configured_command};
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

#[derive(Debug, thiserror::Error)]
pub enum NoWorkTree {
    #[error("not in a git repository")]
    NotARepository,
    #[error("git does not accept the repository: {0}")]
    Refused(String),
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

/// Returns the id of the commit that `rev` names in a repository; `None` if there is none.
pub fn resolve(tree: &WorkTree, rev: &str, limit: Duration) -> Result<Option<String>, Error> {
    let mut command = repository_command(tree);
    command.args(["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{rev}^{{commit}}")]);
    let (status, out, _) = process::finish(command, "git", limit)?;
    let id = String::from_utf8_lossy(&out).trim().to_owned();
    Ok(Some(id).filter(|_| status.success()))
}

/// Writes a note of a commit in place of an older one. It is the only command that writes to a repository of the user.
///
/// `git notes` runs no hook, no editor and no signing program with these options.
pub fn write_note(tree: &WorkTree, reference: &str, commit: &str, text: &[u8], limit: Duration) -> Result<(), Error> {
    let mut command = repository_command(tree);
    let who = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"];
    command.envs(who.map(|name| (name, "longhaul")));
    command.args(["-c", "core.editor=false", "-c", "commit.gpgSign=false"]);
    command.args(["notes", &format!("--ref={reference}"), "add", "--force", "--file=-", commit]);
    let (status, _, err) = process::finish_with_input(command, "git", text, limit)?;
    if status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&err).trim().to_owned();
    Err(Error::Program { program: "git".to_owned(), message })
}

/// Returns git in the user's repository, which it finds without a search.
fn repository_command(tree: &WorkTree) -> Command {
    let mut command = configured_command(&tree.top, None, None);
    command.env("GIT_DIR", &tree.git_dir).env("GIT_WORK_TREE", &tree.top);
    command
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

// Reads single settings from a configuration file of git, without starting git.

/// Returns the last value of `core.worktree` in the text of a configuration file. Included files are not read.
pub(super) fn core_worktree(text: &[u8]) -> Option<Vec<u8>> {
    values(text, b"worktree", |section| section.eq_ignore_ascii_case(b"core")).pop()
}

/// Returns the files that the text of a configuration file includes, whatever their conditions are.
fn included_files(text: &[u8]) -> Vec<Vec<u8>> {
    values(text, b"path", |section| section.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"include")))
}

/// Returns the values of `key` in all sections whose heads are `wanted`.
fn values(text: &[u8], key: &[u8], wanted: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut is_wanted = false;
    let mut rest = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b'[' => {
                let (name, after) = section(after);
                is_wanted = wanted(name);
                after
            }
            b'#' | b';' => from_line_end(after),
            first if first.is_ascii_whitespace() => after,
            _ => {
                let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
                // Anything else than a name is an error for git; one byte of it is skipped.
                let (name, after) = rest.split_at(end.unwrap_or(rest.len()).max(1));
                let after = &after[after.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()..];
                match after.strip_prefix(b"=") {
                    Some(after) => {
                        let (value, after) = value(after);
                        if is_wanted && name.eq_ignore_ascii_case(key) {
                            found.push(value);
                        }
                        after
                    }
                    None => after,
                }
            }
        };
    }
    found
}

/// Returns what is between the brackets of a section's head, and the text after them.
fn section(text: &[u8]) -> (&[u8], &[u8]) {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\n' => return (&text[..at], &text[at..]),
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b']' if !is_quoted => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, &[])
}

/// Returns the value at the beginning of `text`, without quotes, escapes and comments, and the text after it.
fn value(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut value = Vec::new();
    // The length without white space at the end.
    let mut kept = 0;
    let mut is_quoted = false;
    let mut bytes = text.iter().enumerate();
    let rest = loop {
        let Some((at, byte)) = bytes.next() else { break &[][..] };
        match byte {
            b'\n' => break &text[at..],
            b'#' | b';' if !is_quoted => break from_line_end(&text[at..]),
            b'"' => is_quoted = !is_quoted,
            byte if byte.is_ascii_whitespace() && !is_quoted => {
                if kept > 0 {
                    value.push(*byte);
                }
            }
            b'\\' => {
                match bytes.next() {
                    // The value goes on in the next line.
                    None | Some((_, b'\n')) => {}
                    Some((_, b'n')) => value.push(b'\n'),
                    Some((_, b't')) => value.push(b'\t'),
                    Some((_, other)) => value.push(*other),
                }
                kept = value.len();
            }
            byte => {
                value.push(*byte);
                kept = value.len();
            }
        }
    };
    value.truncate(kept);
    (value, rest)
}

fn from_line_end(text: &[u8]) -> &[u8] {
    &text[text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len())..]
}
