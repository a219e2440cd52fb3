//! The folders that git could not read, from its messages.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use longhaul_snapshot::ancestors;

/// What such a message begins with.
const MESSAGE: &[u8] = b"warning: could not open directory '";

/// What is between the path and the reason.
const END: &[u8] = b"': ";

/// Returns the folders of the work tree `top` that git could not read.
pub(crate) fn unreadable_folders(messages: &[u8], top: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut rest = messages;
    while let Some(at) = position(rest, MESSAGE) {
        rest = &rest[at + MESSAGE.len()..];
        let message = &rest[..position(rest, MESSAGE).unwrap_or(rest.len())];
        let Some(end) = message.windows(END.len()).rposition(|part| part == END) else { continue };
        let path = message[..end].strip_suffix(b"/").unwrap_or(&message[..end]);
        if is_unreadable(top, path) {
            found.push(path.to_owned());
            continue;
        }
        // Control characters are replaced in a message: the folder is one of those beside it.
        let above = ancestors(path).filter(|above| top.join(OsStr::from_bytes(above)).is_dir()).last();
        found.extend(unreadable_in(top, above.unwrap_or_default()));
    }
    found
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn is_unreadable(top: &Path, path: &[u8]) -> bool {
    let full = top.join(OsStr::from_bytes(path));
    full.symlink_metadata().is_ok_and(|found| found.is_dir()) && std::fs::read_dir(full).is_err()
}

/// Returns the folders in a folder that cannot be read.
fn unreadable_in(top: &Path, folder: &[u8]) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(top.join(OsStr::from_bytes(folder))).into_iter().flatten().flatten();
    let path = |name: &[u8]| if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() };
    entries.map(|entry| path(entry.file_name().as_bytes())).filter(|path| is_unreadable(top, path)).collect()
}
