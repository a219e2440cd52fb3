//! Which files are left out of a snapshot, and why: names of secrets, patterns, size, other repositories. More names can be
//! excluded by a setting (`snapshots` in `core/src/config.rs`).

use crate::paths::{ancestors, names_git, shown_path};

/// What a path is, without following links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    /// A symbolic link. Its target is stored, not what it leads to.
    Link,
    /// A folder with its own `.git`.
    Repository,
    /// Anything else: a pipe, a socket, a device.
    Other,
}

#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Candidate<'a> {
    pub path: &'a [u8],
    pub kind: FileKind,
    pub size: u64,
    pub is_tracked: bool,
    /// Whether its content can be read.
    pub is_readable: bool,
    /// Whether it lies in another repository, or in a submodule.
    pub is_in_other_repository: bool,
}

impl<'a> Candidate<'a> {
    /// Returns an untracked file that can be read.
    pub fn new(path: &'a [u8], kind: FileKind, size: u64) -> Self {
        Self { path, kind, size, is_tracked: false, is_readable: true, is_in_other_repository: false }
    }
}

longhaul_core::named! {
    /// Why a file is not in a snapshot.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LeftOutReason {
        /// Its name looks like that of a secret, and git does not track it.
        Secret = "secret",
        /// It is larger than the limit for a file.
        TooLarge = "too-large",
        /// A pattern of the configuration excludes it.
        Excluded = "excluded",
        /// It is, or belongs to, another repository or a submodule.
        OtherRepository = "other-repository",
        /// It cannot be read.
        Unreadable = "unreadable",
        /// It is neither a file nor a link.
        NotAFile = "not-a-file",
    }
}

impl LeftOutReason {
    /// Returns the reason as a person reads it.
    pub fn about(self) -> &'static str {
        match self {
            Self::Secret => "looks like a secret",
            Self::TooLarge => "larger than 20 MB",
            Self::Excluded => "excluded by snapshots.exclude",
            Self::OtherRepository => "another repository",
            Self::Unreadable => "cannot be read",
            Self::NotAFile => "not a regular file",
        }
    }
}

/// A file or folder that is not in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Its path; of a repository, the folder.
    pub path: Vec<u8>,
    /// Why.
    pub reason: LeftOutReason,
}

impl LeftOut {
    /// Returns the path and the reason as a person reads them.
    pub fn shown(&self) -> String {
        format!("{} ({})", shown_path(&self.path), self.reason.about())
    }
}

/// Maximum size of a file in bytes. Larger ones are data, not text: every version of one would be stored as a whole.
pub(crate) const MAX_FILE: u64 = 20 << 20;

/// Maximum number of bytes that one snapshot may add, in which a prompt would otherwise wait for a copy of a data set.
pub(crate) const MAX_NEW_BYTES: u64 = 500 << 20;

/// Maximum number of files of a work tree. A larger one has no snapshots.
pub(crate) const MAX_FILES: u64 = 500_000;

#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest file, in bytes.
    pub max_file: u64,
    /// The most bytes that one snapshot may add.
    pub max_new_bytes: u64,
    /// The most files of a work tree.
    pub max_files: u64,
    /// Patterns of files that are left out; `*` matches any characters.
    pub exclude: Vec<String>,
}

impl Limits {
    pub fn new(max_file: u64, max_new_bytes: u64, max_files: u64) -> Self {
        Self { max_file, max_new_bytes, max_files, exclude: Vec::new() }
    }

    /// Returns why `candidate` is left out; `None` if it is stored.
    pub fn reason(&self, candidate: &Candidate<'_>) -> Option<LeftOutReason> {
        match candidate.kind {
            FileKind::Repository => return Some(LeftOutReason::OtherRepository),
            _ if candidate.is_in_other_repository || names_git(candidate.path) => {
                return Some(LeftOutReason::OtherRepository);
            }
            FileKind::Other => return Some(LeftOutReason::NotAFile),
            // git refuses to store such a link.
            FileKind::Link if last_name(candidate.path).eq_ignore_ascii_case(b".gitmodules") => {
                return Some(LeftOutReason::NotAFile);
            }
            FileKind::File | FileKind::Link => {}
        }
        if self.exclude.iter().any(|pattern| excluded_part(candidate.path, pattern.as_bytes()).is_some()) {
            return Some(LeftOutReason::Excluded);
        }
        if !candidate.is_tracked && looks_secret(candidate.path) {
            return Some(LeftOutReason::Secret);
        }
        if candidate.kind == FileKind::File && candidate.size > self.max_file {
            return Some(LeftOutReason::TooLarge);
        }
        (!candidate.is_readable).then_some(LeftOutReason::Unreadable)
    }

    /// Returns the path under which it is recorded that `candidate` was left out for `reason`: the outermost folder that a
    /// pattern excludes, so that one entry is enough for all files in it, or otherwise the path of the file.
    pub fn left_out_path<'a>(&self, candidate: &Candidate<'a>, reason: LeftOutReason) -> &'a [u8] {
        let parts = self.exclude.iter().filter_map(|pattern| excluded_part(candidate.path, pattern.as_bytes()));
        let outermost = parts.min_by_key(|part| part.len()).filter(|_| reason == LeftOutReason::Excluded);
        outermost.unwrap_or(candidate.path)
    }
}

/// Names of files that usually hold secrets, in lower case.
const SECRET_NAMES: [&str; 18] = [
    ".env*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_*",
    "credentials*",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
];

/// Names like those above that hold no secrets.
const NO_SECRET_NAMES: [&str; 6] = ["*.example", "*.sample", "*.template", "*.dist", "*.pub", "*.rs"];

/// Returns whether the name of a file looks like that of a secret. Such a file is stored only if git tracks it.
pub(crate) fn looks_secret(path: &[u8]) -> bool {
    let name = last_name(path).to_ascii_lowercase();
    let is_like = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern.as_bytes(), &name));
    is_like(&SECRET_NAMES) && !is_like(&NO_SECRET_NAMES)
}

/// Returns the outermost folder above a path, or the path itself, that a pattern of the configuration excludes; `None` if the
/// pattern does not exclude the path.
///
/// A pattern without `/` is compared with each name of the path, any other with the path and each folder above it.
fn excluded_part<'p>(path: &'p [u8], pattern: &[u8]) -> Option<&'p [u8]> {
    let pattern = pattern.strip_suffix(b"/").unwrap_or(pattern);
    if pattern.is_empty() {
        return None;
    }
    let mut parts = ancestors(path).chain([path]);
    if !pattern.contains(&b'/') {
        return parts.find(|part| matches(pattern, last_name(part)));
    }
    let pattern = pattern.strip_prefix(b"/").unwrap_or(pattern);
    parts.find(|part| matches(pattern, part))
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Returns whether `text` matches `pattern`, in which `*` stands for any bytes.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where the last `*` was, and how much of the text it has matched so far.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at + 1, from));
            at += 1;
        } else if pattern.get(at) == Some(&text[from]) {
            at += 1;
            from += 1;
        } else if let Some((after, matched)) = star {
            star = Some((after, matched + 1));
            at = after;
            from = matched + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}
