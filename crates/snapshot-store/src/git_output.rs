//! What git says about the user's repository: which files it tracks, by a copy of its index, and what it could not read.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::{bounded_read, files};
use serde::{Deserialize, Serialize};

use crate::left_out::looks_secret;
use crate::paths::{ancestors, stored_paths};
use crate::place::{self, Place, TemporaryFolder, remove};
use crate::{Error, rules};

/// What happens to contents whose ids are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    Read,
    /// They are also stored, unless the store has them.
    Store,
}

/// Returns the ids that regular files have as objects.
pub(crate) fn hashes(git: &PrivateGit, files: &[&[u8]], contents: Contents) -> Result<Vec<String>, Error> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut input = Vec::new();
    for path in files {
        // Each line is a path; a quoted one may contain line breaks.
        input.push(b'"');
        for byte in *path {
            match byte {
                b'"' | b'\\' => input.extend([b'\\', *byte]),
                b'\n' => input.extend(b"\\n"),
                byte => input.push(*byte),
            }
        }
        input.extend(b"\"\n");
    }
    let args: &[&str] = match contents {
        Contents::Read => &["hash-object", "--no-filters", "--stdin-paths"],
        Contents::Store => &["hash-object", "-w", "--no-filters", "--stdin-paths"],
    };
    let ids = git.run(args, &input)?;
    let ids: Vec<String> = String::from_utf8_lossy(&ids).lines().map(str::to_owned).collect();
    if ids.len() == files.len() { Ok(ids) } else { Err(Error::Output) }
}

/// Returns the ids that the targets of links have as objects.
pub(crate) fn target_hashes(git: &PrivateGit, targets: &[Vec<u8>], contents: Contents) -> Result<Vec<String>, Error> {
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    // One process for all of them: git reads many contents only from files.
    let folder = TemporaryFolder::new(&git.git_dir, place::NAMES[1])?;
    let mut paths = Vec::new();
    for (number, content) in targets.iter().enumerate() {
        let path = folder.path().join(number.to_string());
        files::replace(&path, content)?;
        paths.push(path);
    }
    hashes(git, &paths.iter().map(|path| path.as_os_str().as_bytes()).collect::<Vec<_>>(), contents)
}

/// Returns the paths of a list that zero bytes divide.
pub(crate) fn listed_paths(list: &[u8]) -> Vec<&[u8]> {
    list.split(|byte| *byte == 0).filter(|path| !path.is_empty()).collect()
}

/// Returns the files that `ls-tree -r -z` has listed: path, mode and id.
pub(crate) fn listed_files(list: &[u8]) -> Vec<(&[u8], u32, &str)> {
    let parsed = listed_paths(list).into_iter().filter_map(|line| {
        let (head, path) = line.split_at(line.iter().position(|byte| *byte == b'\t')?);
        let mut head = str::from_utf8(head).ok()?.split(' ');
        let (mode, kind, id) = (head.next()?, head.next()?, head.next()?);
        let mode = u32::from_str_radix(mode, 8).ok().filter(|_| kind == "blob")?;
        Some((&path[1..], mode, id))
    });
    parsed.collect()
}

/// Returns the id that a command has printed.
pub(crate) fn object_id(output: &[u8]) -> Result<String, Error> {
    let id = String::from_utf8_lossy(output).trim().to_owned();
    if is_id(&id) { Ok(id) } else { Err(Error::Output) }
}

/// Returns whether a text is the id of an object.
pub(crate) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

// What git tracks in the user's repository, read from a copy of its index.

/// The tracked files that would be left out if they were not tracked, and the submodules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tracked {
    /// Files whose names look like those of secrets.
    #[serde(with = "stored_paths")]
    pub(crate) secret: BTreeSet<Vec<u8>>,
    /// Files that the ignore rules match.
    #[serde(with = "stored_paths")]
    pub(crate) ignored: BTreeSet<Vec<u8>>,
    #[serde(with = "stored_paths")]
    pub(crate) submodules: BTreeSet<Vec<u8>>,
    /// The tree of what is staged; `None` during a merge conflict.
    pub(crate) index_tree: Option<String>,
}

impl Tracked {
    /// Reads the user's index. The result is stored, because the index rarely changes.
    pub(crate) fn read(place: &Place, git: &PrivateGit) -> Result<Self, Error> {
        let index = place.tree.git_dir.join("index");
        let Some(version) = version_of(&index) else { return Ok(Self::default()) };
        let stored = place.dir.join("tracked.json");
        if let Ok(json) = bounded_read::bytes(&stored, MAX_INDEX)
            && let Ok((known, tracked)) = serde_json::from_slice::<(String, Self)>(&json)
            && known == version
        {
            return Ok(tracked);
        }
        let copy = UserIndex::copy(place)?;
        let variables: [(&str, &Path); 1] = [("GIT_INDEX_FILE", copy.path())];
        let mut tracked = Self::default();
        let mut folders = BTreeSet::new();
        let listed = git.run_with(&["ls-files", "-z", "--stage"], &variables, b"")?;
        for entry in listed.split(|byte| *byte == 0) {
            let mut parts = entry.splitn(2, |byte| *byte == b'\t');
            let (Some(head), Some(path)) = (parts.next(), parts.next()) else { continue };
            if let Some(folder) = ancestors(path).last().filter(|folder| !folders.contains(folder)) {
                folders.extend(ancestors(folder).chain([folder]));
            }
            if head.starts_with(b"160000 ") {
                tracked.submodules.insert(path.to_owned());
            } else if looks_secret(path) {
                tracked.secret.insert(path.to_owned());
            }
        }
        rules::check(&place.tree.top, folders)?;
        let ignored = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
        let ignored = git.run_with(&ignored, &variables, b"")?;
        tracked.ignored =
            ignored.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect();
        // It fails during a merge conflict, and for entries that have no object yet.
        let tree = git.run_with(&["write-tree"], &variables, b"").ok();
        tracked.index_tree = tree.and_then(|id| String::from_utf8(id).ok()).map(|id| id.trim().to_owned());
        files::replace(&stored, &serde_json::to_vec(&(version, &tracked)).map_err(|_| Error::Output)?)?;
        Ok(tracked)
    }

    /// Returns whether git tracks a file, as far as it matters for a file that would be left out otherwise.
    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        self.secret.contains(path) || self.ignored.contains(path)
    }
}

/// Returns what changes with every change of a file; `None` if it does not exist.
pub(crate) fn version_of(path: &Path) -> Option<String> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let (mtime, ctime) = ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    Some(format!("{}.{} {}.{} {} {}", mtime.0, mtime.1, ctime.0, ctime.1, found.size(), found.ino()))
}

// A copy of the index of the user's repository, which git may read and change.

/// Maximum size of an index that is read.
const MAX_INDEX: u64 = 512 << 20;

const NAME: &str = "user-index";

/// What the names of the shared parts of a split index begin with.
const SHARED: &str = "sharedindex.";

/// What the part of an index begins with that names the shared part.
const LINK: &[u8] = b"link";

/// How many places of an index are tried: an index may be full of such bytes.
const MAX_TRIED: usize = 1000;

/// Returns whether a file of the git folder of a work tree is a copy, or a part of one.
pub(crate) fn is_copy(name: &OsStr) -> bool {
    name == NAME || name.as_encoded_bytes().starts_with(SHARED.as_bytes())
}

/// A copy of the user's index. Removed when dropped.
#[derive(Debug)]
pub(crate) struct UserIndex {
    files: Vec<PathBuf>,
}

impl UserIndex {
    /// Copies the index, and the shared part that it names, which git expects in the same folder.
    pub(crate) fn copy(place: &Place) -> Result<Self, Error> {
        let mut copy = Self { files: vec![place.dir.join(NAME)] };
        let content = read(&place.tree.git_dir.join("index"))?;
        files::replace(copy.path(), &content)?;
        if let Some(name) = shared_part(&content, &place.tree.git_dir) {
            let shared = read(&place.tree.git_dir.join(&name))?;
            copy.files.push(place.dir.join(&name));
            files::replace(&place.dir.join(&name), &shared)?;
        }
        Ok(copy)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.files[0]
    }
}

impl Drop for UserIndex {
    fn drop(&mut self) {
        for path in &self.files {
            let _ = remove(path);
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let content = bounded_read::bytes(path, MAX_INDEX);
    Ok(content.map_err(|source| longhaul_runtime::Error::Read { path: path.to_owned(), source })?)
}

/// Returns the name of the shared part of an index; `None` if it has none.
///
/// It is an extension at the end of the index: `link`, four bytes for the length, and the id of the shared part.
fn shared_part(index: &[u8], git_dir: &Path) -> Option<OsString> {
    let starts = (0..index.len()).rev().filter(|at| index[*at..].starts_with(LINK));
    // The same bytes may be part of a path, but no such file exists then.
    starts.take(MAX_TRIED).find_map(|at| {
        let id = index[at..].get(LINK.len() + 4..)?;
        [32, 20].into_iter().find_map(|length| {
            let hex: String = id.get(..length)?.iter().map(|byte| format!("{byte:02x}")).collect();
            let name = OsString::from(format!("{SHARED}{hex}"));
            git_dir.join(&name).symlink_metadata().is_ok().then_some(name)
        })
    })
}

// The folders that git could not read, from its messages.

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
