//! Reads what git prints.

use std::os::unix::ffi::OsStrExt;

use longhaul_runtime::files;
use longhaul_runtime::git::PrivateGit;

use crate::Error;
use crate::temporary_folder::TemporaryFolder;

/// What happens to contents whose ids are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// They are only read.
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
    let folder = TemporaryFolder::for_links(&git.git_dir)?;
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
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { Ok(id) } else { Err(Error::Output) }
}
