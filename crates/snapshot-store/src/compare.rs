//! Compares snapshots.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use longhaul_core::Env;
use longhaul_runtime::git::PrivateGit;

use crate::Error;
use crate::git_output::listed_paths;
use crate::paths::{Change, parse_changes};
use crate::summary::{ChangeCount, count_changes};

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub path: Vec<u8>,
    /// `A` if it was added, `D` if it was deleted, `T` if its type changed, otherwise `M`.
    pub status: char,
    /// Lines added; `None` for a binary file.
    pub added: Option<u64>,
    /// Lines removed; `None` for a binary file.
    pub removed: Option<u64>,
}

/// Options that keep git from running anything, and from guessing what was renamed.
const PLAIN: [&str; 4] = ["--no-renames", "--no-ext-diff", "--no-textconv", "-r"];

/// Returns the paths that differ between two trees.
pub(crate) fn changes(git: &PrivateGit, before: &str, after: &str) -> Result<Vec<Change>, Error> {
    let args = [&["diff-tree"], &PLAIN[..], &["-z", "--raw", "--no-abbrev", before, after, "--"]].concat();
    parse_changes(&git.run(&args, b"")?)
}

/// Counts files and lines that differ between two trees.
pub fn count_between(git: &PrivateGit, before: &str, after: &str) -> Result<ChangeCount, Error> {
    let args = [&["diff-tree"], &PLAIN[..], &["-z", "--numstat", before, after, "--"]].concat();
    Ok(count_changes(&git.run(&args, b"")?))
}

/// Counts as [`count_between`] does, and returns the first `most` files by name.
pub(crate) fn count_and_name(
    git: &PrivateGit,
    before: &str,
    after: &str,
    most: usize,
) -> Result<(ChangeCount, Vec<String>), Error> {
    let args = [&["diff-tree"], &PLAIN[..], &["-z", "--numstat", before, after, "--"]].concat();
    let numstat = git.run(&args, b"")?;
    let name = |record: &[u8]| {
        record.splitn(3, |byte| *byte == b'\t').nth(2).map(|path| String::from_utf8_lossy(path).into_owned())
    };
    let names = listed_paths(&numstat).into_iter().take(most).filter_map(name).collect();
    Ok((count_changes(&numstat), names))
}

/// Counts the files that differ between two trees.
pub(crate) fn count_files(git: &PrivateGit, before: &str, after: &str) -> Result<ChangeCount, Error> {
    Ok(ChangeCount { files: changes(git, before, after)?.len() as u64, ..ChangeCount::default() })
}

/// Counts what differs between each pair of trees, with one process. A pair that cannot be compared is `None`.
pub fn counts(git: &PrivateGit, pairs: &[(String, String)]) -> Vec<Option<ChangeCount>> {
    let input: String = pairs.iter().map(|(before, after)| format!("{before} {after}\n")).collect();
    let args = [&["diff-tree"], &PLAIN[..], &["-z", "--numstat", "--stdin"]].concat();
    let Ok(output) = git.run(&args, input.as_bytes()) else {
        // One of the trees is gone. The others can still be compared.
        return pairs.iter().map(|(before, after)| count_between(git, before, after).ok()).collect();
    };
    // Each pair is repeated on a line of its own before its files.
    let text = output;
    let mut found = Vec::new();
    let mut rest = &text[..];
    for (at, (before, after)) in pairs.iter().enumerate() {
        let head = format!("{before} {after}\n").into_bytes();
        let Some(part) = rest.strip_prefix(&head[..]) else {
            found.push(None);
            continue;
        };
        let next = pairs.get(at + 1).map(|(before, after)| format!("{before} {after}\n").into_bytes());
        let end =
            next.and_then(|next| part.windows(next.len()).position(|window| window == next)).unwrap_or(part.len());
        found.push(Some(count_changes(&part[..end])));
        rest = &part[end..];
    }
    found
}

/// Returns the files that differ between two trees, with the number of lines.
pub fn file_changes(git: &PrivateGit, before: &str, after: &str) -> Result<Vec<FileChange>, Error> {
    let args = [&["diff-tree"], &PLAIN[..], &["-z", "--numstat", before, after, "--"]].concat();
    let numstat = git.run(&args, b"")?;
    Ok(with_lines(changes(git, before, after)?, &numstat))
}

/// Returns the first files that differ between two trees, as [`file_changes`] does, and whether these are all. Of git's
/// output, at most `most` bytes are read.
pub fn first_file_changes(
    git: &PrivateGit,
    before: &str,
    after: &str,
    most: usize,
) -> Result<(Vec<FileChange>, bool), Error> {
    let (changes, is_all) = first_changes(git, before, after, &[], most)?;
    let args = [&["diff-tree"], &PLAIN[..], &["-z", "--numstat", before, after, "--"]].concat();
    // Its records are shorter than those of the changes, so that it covers at least as many files.
    let (numstat, _) = git.run_bounded(&args, &[], most)?;
    Ok((with_lines(changes, &numstat), is_all))
}

/// Returns the first paths that differ between two trees, and whether these are all.
fn first_changes(
    git: &PrivateGit,
    before: &str,
    after: &str,
    paths: &[&[u8]],
    most: usize,
) -> Result<(Vec<Change>, bool), Error> {
    let args = [&["diff-tree"], &PLAIN[..], &["-z", "--raw", "--no-abbrev", before, after, "--"]].concat();
    let (mut raw, is_all) = git.run_bounded(&args, paths, most)?;
    if !is_all {
        // A record has two fields, and each ends with a zero byte. The last record may be incomplete.
        let ends: Vec<usize> = raw.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at).collect();
        let fields = ends.len() / 2 * 2;
        raw.truncate(if fields == 0 { 0 } else { ends[fields - 1] + 1 });
    }
    Ok((parse_changes(&raw)?, is_all))
}

fn with_lines(changes: Vec<Change>, numstat: &[u8]) -> Vec<FileChange> {
    let mut lines = std::collections::HashMap::new();
    for record in listed_paths(numstat) {
        let mut fields = record.splitn(3, |byte| *byte == b'\t');
        let mut number = || fields.next().and_then(|field| str::from_utf8(field).ok()?.trim().parse::<u64>().ok());
        let (added, removed) = (number(), number());
        if let Some(path) = fields.next() {
            lines.insert(path, (added, removed));
        }
    }
    let file = |change: Change| {
        let (added, removed) = lines.get(change.path.as_slice()).copied().unwrap_or_default();
        FileChange { status: status(&change), added, removed, path: change.path }
    };
    changes.into_iter().map(file).collect()
}

fn status(change: &Change) -> char {
    match (&change.before, &change.after) {
        (None, _) => 'A',
        (_, None) => 'D',
        (Some(before), Some(after)) if before.is_link() != after.is_link() => 'T',
        _ => 'M',
    }
}

/// The difference of one file between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// As in [`FileChange`].
    pub status: char,
    /// The patch, without colours.
    pub patch: Vec<u8>,
    pub is_whole: bool,
}

/// Returns the difference of one file between two trees, at most `most` bytes of it; `None` if the file does not differ.
pub fn file_patch(
    git: &PrivateGit,
    before: &str,
    after: &str,
    path: &[u8],
    most: usize,
) -> Result<Option<FilePatch>, Error> {
    // No tree has such a path, and git would read it as another one.
    if path.split(|byte| *byte == b'/').any(|name| matches!(name, b"" | b"." | b"..")) {
        return Ok(None);
    }
    // The path of a folder stands for everything in it. The change of the path itself comes first.
    let (changes, _) = first_changes(git, before, after, &[path], most)?;
    let Some(change) = changes.iter().find(|change| change.path == path) else { return Ok(None) };
    let args = [&["diff-tree"], &PLAIN[..], &["-p", "--no-color", before, after, "--"]].concat();
    let (mut patch, mut is_whole) = git.run_bounded(&args, &[path], most)?;
    if !is_whole {
        let end = patch.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        patch.truncate(end);
    }
    let own = own_part(&patch);
    is_whole |= own < patch.len();
    patch.truncate(own);
    Ok(Some(FilePatch { status: status(change), patch, is_whole }))
}

/// Returns the length of the part of a patch that is about its first file. A file that became a link has two sections.
fn own_part(patch: &[u8]) -> usize {
    let mut lines = patch.split_inclusive(|byte| *byte == b'\n');
    let Some(head) = lines.next() else { return 0 };
    // Every line of a hunk begins with a sign, so this is the beginning of another section.
    let is_other = |line: &&[u8]| line.starts_with(b"diff --git ") && *line != head;
    head.len() + lines.take_while(|line| !is_other(line)).map(<[u8]>::len).sum::<usize>()
}

/// Shows the difference between two trees to a person, with git's own colours and pager; returns whether git succeeded.
pub fn show_diff(
    env: &Env,
    git: &PrivateGit,
    before: &str,
    after: &str,
    options: &[&str],
    paths: &[Vec<u8>],
) -> Result<bool, Error> {
    let mut args = vec!["--literal-pathspecs", "diff", "--no-ext-diff", "--no-textconv"];
    args.extend(options);
    args.extend([before, after, "--"]);
    let args = args.into_iter().map(OsStr::new).chain(paths.iter().map(|path| OsStr::from_bytes(path)));
    Ok(git.show(env, args)?.success())
}
