//! Compares snapshots.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use longhaul_runtime::git::PrivateGit;
use longhaul_snapshot::{Change, ChangeCount, count_changes, parse_changes};

use crate::Error;
use crate::scan::paths;

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path.
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
    parse_changes(&git.run(&args, b"")?).map_err(|_| Error::Output)
}

/// Counts files and lines that differ between two trees.
pub fn count_between(git: &PrivateGit, before: &str, after: &str) -> Result<ChangeCount, Error> {
    let args = [&["diff-tree"], &PLAIN[..], &["-z", "--numstat", before, after, "--"]].concat();
    Ok(count_changes(&git.run(&args, b"")?))
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
    let mut lines = std::collections::HashMap::new();
    for record in paths(&numstat) {
        let mut fields = record.splitn(3, |byte| *byte == b'\t');
        let mut number = || fields.next().and_then(|field| str::from_utf8(field).ok()?.trim().parse::<u64>().ok());
        let (added, removed) = (number(), number());
        if let Some(path) = fields.next() {
            lines.insert(path, (added, removed));
        }
    }
    let changes = changes(git, before, after)?;
    let file = |change: Change| {
        let status = match (&change.before, &change.after) {
            (None, _) => 'A',
            (_, None) => 'D',
            (Some(before), Some(after)) if before.is_link() != after.is_link() => 'T',
            _ => 'M',
        };
        let (added, removed) = lines.get(change.path.as_slice()).copied().unwrap_or_default();
        FileChange { status, added, removed, path: change.path }
    };
    Ok(changes.into_iter().map(file).collect())
}

/// Returns the difference of one file, or of all files, between two trees as a patch without colours.
pub fn patch(git: &PrivateGit, before: &str, after: &str, path: Option<&str>) -> Result<Vec<u8>, Error> {
    let mut args = [&["diff-tree"], &PLAIN[..], &["-p", "--no-color", before, after, "--"]].concat();
    args.extend(path);
    Ok(git.run(&args, b"")?)
}

/// Shows the difference between two trees to a person, with git's own colours and pager; returns whether git succeeded.
pub fn show_diff(
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
    Ok(git.show(args)?.success())
}
