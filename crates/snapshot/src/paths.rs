//! Paths inside a work tree: bytes, with `/` between the names, relative to the top.

use std::fmt::Write;

/// Returns the folders above `path`, the outermost first, without the top of the work tree.
pub fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

/// Returns whether `path` is `folder` or lies below it.
pub fn is_below(path: &[u8], folder: &[u8]) -> bool {
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
pub fn names_git(path: &[u8]) -> bool {
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

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
