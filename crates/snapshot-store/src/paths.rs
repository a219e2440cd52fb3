//! Paths inside a work tree, which are bytes, with `/` between the names, relative to the top; and the differences between
//! two trees.

use std::fmt::Write;

use crate::Error;
use crate::restore_plan::StepKind;

/// Returns the folders above `path`, the outermost first, without the top of the work tree.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

/// Returns whether `path` is `folder` or lies below it.
pub(crate) fn is_below(path: &[u8], folder: &[u8]) -> bool {
    let folder = folder.strip_suffix(b"/").unwrap_or(folder);
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// Returns whether `path` is one of `selected` or lies below one of them. An empty selection selects everything.
pub fn is_selected(path: &[u8], selected: &[Vec<u8>]) -> bool {
    selected.is_empty() || selected.iter().any(|folder| folder.is_empty() || is_below(path, folder))
}

/// Returns whether a name of the path is `.git`, in any case, or one that a file system may treat as `.git`.
///
/// Nothing with such a name is ever read or written, so that no restore can change a repository.
pub(crate) fn names_git(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| {
        // Windows and macOS ignore some characters, and know a file by a second, short name.
        let plain: String = String::from_utf8_lossy(name)
            .chars()
            .filter(|c| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'))
            .collect();
        let plain = plain.split([':', '\\']).next().unwrap_or_default().trim_end_matches([' ', '.']);
        plain.eq_ignore_ascii_case(".git") || plain.eq_ignore_ascii_case("git~1")
    })
}

/// Returns a path as text for a terminal: bytes that are not printable text are escaped as in C.
pub fn shown_path(path: &[u8]) -> String {
    let mut shown = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => shown.push_str("\\n"),
                '\t' => shown.push_str("\\t"),
                '\\' => shown.push_str("\\\\"),
                // Invisible characters could make one name look like another.
                c if c.is_control() || is_invisible(c) => {
                    let mut bytes = [0; 4];
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        let _ = write!(shown, "\\{byte:03o}");
                    }
                }
                c => shown.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\{byte:03o}");
        }
    }
    shown
}

/// Returns a path as text from which [`decoded_path`] makes the same bytes again.
pub fn encoded_path(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                c if c == '%' || c.is_ascii_control() => {
                    let _ = write!(text, "%{:02x}", u32::from(c));
                }
                c => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

/// Returns the bytes of a path from the text that [`encoded_path`] has made.
pub fn decoded_path(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let byte = after.get(..2).filter(|_| *first == b'%').and_then(|digits| str::from_utf8(digits).ok());
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// Paths in JSON, as texts.
pub(crate) mod stored_paths {
    use std::collections::BTreeSet;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(paths: &BTreeSet<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| super::encoded_path(path)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<Vec<u8>>, D::Error> {
        Ok(Vec::<String>::deserialize(deserializer)?.iter().map(|path| super::decoded_path(path)).collect())
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

// The differences between two trees.

/// The mode of a symbolic link in a tree.
pub(crate) const LINK: u32 = 0o120_000;

/// The mode of an executable file in a tree.
const EXECUTABLE: u32 = 0o100_755;

/// A file or link in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The mode, as git stores it.
    pub mode: u32,
    /// The id of the object that holds the content.
    pub id: String,
}

impl Entry {
    pub fn is_link(&self) -> bool {
        self.mode == LINK
    }

    pub fn is_executable(&self) -> bool {
        self.mode == EXECUTABLE
    }
}

/// A path that differs between two trees. A step of a restore is one: from what is there now to what will be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: Vec<u8>,
    /// What it is in the first tree; `None` if it is not there.
    pub before: Option<Entry>,
    /// What it is in the second tree; `None` if it is not there.
    pub after: Option<Entry>,
}

impl Change {
    /// Returns what a restore does that makes this change.
    pub fn kind(&self) -> StepKind {
        match (&self.before, &self.after) {
            (_, None) => StepKind::Delete,
            (Some(_), Some(_)) => StepKind::Write,
            (None, Some(_)) => StepKind::Create,
        }
    }
}

/// Parses the output of `git diff-tree -r -z --raw --no-renames`. Entries that are neither files nor links are skipped.
pub(crate) fn parse_changes(raw: &[u8]) -> Result<Vec<Change>, Error> {
    let mut fields = raw.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let path = fields.next().filter(|path| !path.is_empty()).ok_or(Error::Output)?;
        let head = head.strip_prefix(b":").and_then(|head| str::from_utf8(head).ok()).ok_or(Error::Output)?;
        let words: Vec<&str> = head.split(' ').collect();
        let [before, after, old, new, _] = words[..] else { return Err(Error::Output) };
        let (before, after) = (entry(before, old)?, entry(after, new)?);
        if before.is_some() || after.is_some() {
            changes.push(Change { path: path.to_owned(), before, after });
        }
    }
    Ok(changes)
}

/// Returns the entry with the octal mode `mode`; `None` for an entry that is not there, or is a submodule.
fn entry(mode: &str, id: &str) -> Result<Option<Entry>, Error> {
    let mode = u32::from_str_radix(mode, 8).map_err(|_| Error::Output)?;
    let is_stored = matches!(mode & 0o170_000, 0o100_000 | LINK);
    if is_stored && !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::Output);
    }
    Ok(is_stored.then(|| Entry { mode, id: id.to_owned() }))
}
