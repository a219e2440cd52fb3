//! The differences between two trees.

/// The mode of a symbolic link in a tree.
const LINK: u32 = 0o120_000;

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
    /// Returns whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.mode == LINK
    }

    /// Returns whether it is an executable file.
    pub fn is_executable(&self) -> bool {
        self.mode == EXECUTABLE
    }
}

/// A path that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: Vec<u8>,
    /// What it is in the first tree; `None` if it is not there.
    pub before: Option<Entry>,
    /// What it is in the second tree; `None` if it is not there.
    pub after: Option<Entry>,
}

/// The output of git is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError;

/// Parses the output of `git diff-tree -r -z --raw --no-renames`. Entries that are neither files nor links are skipped.
pub fn parse_changes(raw: &[u8]) -> Result<Vec<Change>, ParseError> {
    let mut fields = raw.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let path = fields.next().filter(|path| !path.is_empty()).ok_or(ParseError)?;
        let head = head.strip_prefix(b":").and_then(|head| str::from_utf8(head).ok()).ok_or(ParseError)?;
        let words: Vec<&str> = head.split(' ').collect();
        let [before, after, old, new, _] = words[..] else { return Err(ParseError) };
        let (before, after) = (entry(before, old)?, entry(after, new)?);
        if before.is_some() || after.is_some() {
            changes.push(Change { path: path.to_owned(), before, after });
        }
    }
    Ok(changes)
}

/// Returns the entry with the octal mode `mode`; `None` for an entry that is not there, or is a submodule.
fn entry(mode: &str, id: &str) -> Result<Option<Entry>, ParseError> {
    let mode = u32::from_str_radix(mode, 8).map_err(|_| ParseError)?;
    let is_stored = matches!(mode & 0o170_000, 0o100_000 | LINK);
    if is_stored && !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(ParseError);
    }
    Ok(is_stored.then(|| Entry { mode, id: id.to_owned() }))
}
