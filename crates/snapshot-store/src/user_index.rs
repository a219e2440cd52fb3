//! A copy of the index of the user's repository, which git may read and change.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use longhaul_runtime::{bounded_read, files};

use crate::Error;
use crate::place::{Place, remove};

/// Maximum size of an index that is read.
pub(crate) const MAX_INDEX: u64 = 512 << 20;

/// The name of the copy.
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
