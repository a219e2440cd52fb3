//! Brings the private index of a work tree up to date with its files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use longhaul_core::Env;
use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::{bounded_read, files};
use longhaul_snapshot::{Candidate, FileKind, LeftOut, Limits, ancestors, decoded_path, encoded_path};
use serde::{Deserialize, Serialize};

use crate::metadata::usual_permissions;
use crate::place::{Place, remove};
use crate::tracked::{Tracked, version_of};
use crate::{Error, Skip};

/// How long a work tree that exceeds a limit is not scanned again.
const PAUSE_MS: u64 = 10 * 60 * 1000;

/// Maximum number of entries of which it is stored that they have unusual permissions.
const MAX_MODES: usize = 50_000;

/// The files of a work tree, as a tree in the store.
#[derive(Debug, Clone)]
pub(crate) struct Scanned {
    pub(crate) tree: String,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) modes: BTreeMap<String, u32>,
    pub(crate) umask: u32,
    pub(crate) bytes: u64,
    pub(crate) index_tree: Option<String>,
}

/// What is known of a work tree from the last scan.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// The version of the index that the tree was written from.
    index: Option<String>,
    tree: Option<String>,
    /// The permissions that a new file does not get, as of the first scan.
    umask: Option<u32>,
    /// Permissions of files that differ from those of a new file.
    modes: BTreeMap<String, u32>,
    /// Tracked files that are ignored: git does not list them, so their versions are compared.
    forced: BTreeMap<String, String>,
    /// Files that were changed within the last second of the scan. git compares whole seconds, and would not notice that
    /// their permissions change in the same second.
    recent: Vec<String>,
    /// Until when the work tree is not scanned, and why.
    pause: Option<(u64, String)>,
}

impl State {
    /// Records the permissions of a file.
    fn record_mode(&mut self, path: String, metadata: &Metadata, umask: u32) {
        let permissions = metadata.mode() & 0o7777;
        if permissions == usual_permissions(umask, permissions & 0o100 != 0) {
            self.modes.remove(&path);
        } else {
            self.modes.insert(path, permissions);
        }
    }

    /// Reads the permissions of recently changed files again.
    fn record_recent_modes(&mut self, top: &Path, umask: u32) {
        for path in std::mem::take(&mut self.recent) {
            let found = std::fs::symlink_metadata(top.join(OsStr::from_bytes(&decoded_path(&path))));
            if let Some(metadata) = found.ok().filter(Metadata::is_file) {
                self.record_mode(path, &metadata, umask);
            }
        }
    }
}

/// Scans the work tree. The lock must be held, and the place prepared.
pub(crate) fn scan(place: &Place, git: &PrivateGit, env: &Env, limits: &Limits) -> Result<Scanned, Error> {
    let path = place.dir.join("state.json");
    let stored = bounded_read::bytes(&path, bounded_read::LARGE).ok();
    let mut state: State = stored.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
    if let Some((until, why)) = state.pause.take_if(|(until, _)| until.saturating_sub(env.now.0) <= PAUSE_MS)
        && until > env.now.0
    {
        return Err(Skip::StillTooLarge(why).into());
    }
    let scanned = match attempt(place, git, limits, &mut state) {
        // Objects that the index names were borrowed, and the repository has pruned them. All files are read again.
        Err(Error::Runtime(longhaul_runtime::Error::Program { .. })) if place.dir.join("index").exists() => {
            remove(&place.dir.join("index"))?;
            state = State { umask: state.umask, ..State::default() };
            attempt(place, git, limits, &mut state)
        }
        scanned => scanned,
    };
    if let Err(Error::Skipped(skip @ (Skip::TooManyFiles(_) | Skip::TooManyBytes(_)))) = &scanned {
        state.pause = Some((env.now.0 + PAUSE_MS, skip.to_string()));
    }
    if let Ok(json) = serde_json::to_vec(&state) {
        files::replace(&path, &json)?;
    }
    scanned
}

fn attempt(place: &Place, git: &PrivateGit, limits: &Limits, state: &mut State) -> Result<Scanned, Error> {
    let umask = *state.umask.get_or_insert_with(current_umask);
    let index = place.dir.join("index");
    let recent = state.recent.clone();
    state.record_recent_modes(&place.tree.top, umask);
    // What the index of the user tracks matters only for files that would be left out. Without it, they are.
    let tracked = Tracked::read(place, git).unwrap_or_default();
    let others = ["ls-files", "-z", "--others", "--exclude-standard"];
    let is_new = !index.exists();
    let (changed, others) = if is_new {
        state.modes.clear();
        state.forced.clear();
        (Vec::new(), git.run(&others, b"")?)
    } else {
        git.run_both(&["diff-files", "-z", "--name-only"], &others)?
    };
    let changed = paths(&changed);
    let others = paths(&others);
    let total = entries(&index) + others.len() as u64;
    if total > limits.max_files {
        return Err(Skip::TooManyFiles(total).into());
    }
    let mut look = Look { top: &place.tree.top, tracked: &tracked, folders: HashMap::new() };
    let present: Vec<&[u8]> = changed.iter().copied().filter(|path| look.at(path).is_some()).collect();
    let ignored = ignored_of(git, &present)?;
    let forced: Vec<&[u8]> = tracked.ignored.iter().map(Vec::as_slice).collect();
    let forced: Vec<&[u8]> = forced.into_iter().filter(|path| look.has_changed(path, state)).collect();
    let mut work = Work::default();
    for path in changed.iter().copied() {
        if ignored.contains(path) && !tracked.ignored.contains(path) {
            // It was stored before it was ignored.
            work.removed.insert(path.to_owned());
        } else {
            work.consider(path, true, &mut look, limits, state, umask);
        }
    }
    for path in others.into_iter().chain(forced) {
        work.consider(path, false, &mut look, limits, state, umask);
    }
    state.modes.retain(|path, _| !work.removed.contains(&decoded_path(path)));
    if work.bytes > limits.max_new_bytes {
        let bytes = new_bytes(git, &work)?;
        if bytes > limits.max_new_bytes {
            return Err(Skip::TooManyBytes(bytes).into());
        }
    }
    let is_same = work.added.is_empty() && work.removed.is_empty() && !is_new;
    let known = state.tree.clone().filter(|_| is_same && state.index.is_some() && state.index == version_of(&index));
    let tree = match known {
        Some(tree) => tree,
        None => work.store(git)?,
    };
    let written = std::fs::metadata(&index).map_or(i64::MAX, |found| found.mtime());
    let changed = work.changed_at.iter().filter(|(_, at)| *at + 1 >= written).map(|(path, _)| path.clone());
    // The index is not written if nothing has changed, and then the same files are recent.
    state.recent = if is_same { recent } else { changed.collect() };
    state.index = version_of(&index);
    state.tree = Some(tree.clone());
    work.left_out.sort();
    work.left_out.dedup();
    Ok(Scanned {
        tree,
        left_out: work.left_out,
        modes: state.modes.iter().take(MAX_MODES).map(|(path, mode)| (path.clone(), *mode)).collect(),
        umask,
        bytes: if is_new { 0 } else { work.bytes },
        index_tree: tracked.index_tree,
    })
}

/// What a scan changes in the private index.
#[derive(Debug, Default)]
struct Work {
    /// Files to read.
    added: BTreeSet<Vec<u8>>,
    /// The links among them.
    links: BTreeSet<Vec<u8>>,
    /// Entries to remove.
    removed: BTreeSet<Vec<u8>>,
    left_out: Vec<LeftOut>,
    /// The size of all files to read.
    bytes: u64,
    /// When the files were last changed, in seconds.
    changed_at: Vec<(String, i64)>,
}

impl Work {
    /// Decides about a path that is new or has changed. `is_stored` says whether the index has it.
    fn consider(
        &mut self,
        path: &[u8],
        is_stored: bool,
        look: &mut Look<'_>,
        limits: &Limits,
        state: &mut State,
        umask: u32,
    ) {
        let encoded = encoded_path(path);
        let Some((metadata, candidate)) = look.at(path) else {
            state.modes.remove(&encoded);
            self.removed.extend(is_stored.then(|| path.to_owned()));
            return;
        };
        if let Some(reason) = limits.reason(&candidate) {
            let path =
                if candidate.is_in_other_repository { look.repository_above(path) } else { candidate.path.to_owned() };
            self.left_out.push(LeftOut { path, reason });
            state.modes.remove(&encoded);
            self.removed.extend(is_stored.then(|| candidate.path.to_owned()));
            return;
        }
        self.added.insert(path.to_owned());
        if candidate.kind == FileKind::Link {
            self.links.insert(path.to_owned());
            state.modes.remove(&encoded);
            return;
        }
        self.bytes += candidate.size;
        self.changed_at.push((encoded.clone(), metadata.ctime()));
        state.record_mode(encoded, &metadata, umask);
    }

    /// Updates the index and writes its tree.
    fn store(&self, git: &PrivateGit) -> Result<String, Error> {
        let list = |paths: &BTreeSet<Vec<u8>>| {
            paths.iter().flat_map(|path| [path.as_slice(), b"\0"]).flatten().copied().collect::<Vec<u8>>()
        };
        if !self.removed.is_empty() {
            git.run(&["update-index", "-z", "--force-remove", "--stdin"], &list(&self.removed))?;
        }
        if !self.added.is_empty() {
            let args = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
            git.run(&args, &list(&self.added))?;
        }
        let id = git.run(&["write-tree"], b"")?;
        object_id(&id)
    }
}

/// Looks at files of the work tree, each folder once.
struct Look<'a> {
    top: &'a Path,
    tracked: &'a Tracked,
    folders: HashMap<Vec<u8>, FolderKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderKind {
    Folder,
    Repository,
    /// It is not there, or is a file or a link.
    None,
}

impl Look<'_> {
    /// Returns what is at a path; `None` if nothing is, or only behind a link, or a folder.
    fn at<'p>(&mut self, path: &'p [u8]) -> Option<(Metadata, Candidate<'p>)> {
        let (path, is_folder) = path.strip_suffix(b"/").map_or((path, false), |path| (path, true));
        let mut is_in_other_repository = false;
        for folder in ancestors(path) {
            match self.folder(folder) {
                FolderKind::Folder => {}
                FolderKind::Repository => is_in_other_repository = true,
                FolderKind::None => return None,
            }
        }
        let full = self.top.join(OsStr::from_bytes(path));
        let metadata = std::fs::symlink_metadata(&full).ok()?;
        let kind = match metadata.file_type() {
            kind if kind.is_file() => FileKind::File,
            kind if kind.is_symlink() => FileKind::Link,
            // git lists a folder only if it is a repository.
            kind if kind.is_dir() && is_folder => FileKind::Repository,
            kind if kind.is_dir() => return None,
            kind => {
                debug_assert!(kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device());
                FileKind::Other
            }
        };
        let mut candidate = Candidate::new(path, kind, metadata.size());
        candidate.is_tracked = self.tracked.contains(path);
        candidate.is_in_other_repository = is_in_other_repository;
        candidate.is_readable = kind != FileKind::File || bounded_read::open(&full).is_ok();
        Some((metadata, candidate))
    }

    fn folder(&mut self, path: &[u8]) -> FolderKind {
        if let Some(known) = self.folders.get(path) {
            return *known;
        }
        let full = self.top.join(OsStr::from_bytes(path));
        let kind = match std::fs::symlink_metadata(&full) {
            Ok(found) if found.is_dir() => {
                let is_repository =
                    full.join(".git").symlink_metadata().is_ok() || self.tracked.submodules.contains(path);
                if is_repository { FolderKind::Repository } else { FolderKind::Folder }
            }
            _ => FolderKind::None,
        };
        self.folders.insert(path.to_owned(), kind);
        kind
    }

    /// Returns the outermost repository that contains a path.
    fn repository_above(&mut self, path: &[u8]) -> Vec<u8> {
        let folder = ancestors(path).find(|folder| self.folders.get(*folder) == Some(&FolderKind::Repository));
        folder.unwrap_or(path).to_owned()
    }

    /// Returns whether a tracked file that is ignored has changed since the last scan, and records its version.
    fn has_changed(&mut self, path: &[u8], state: &mut State) -> bool {
        let (key, version) = (encoded_path(path), version_of(&self.top.join(OsStr::from_bytes(path))));
        match version {
            Some(version) => state.forced.insert(key, version.clone()) != Some(version),
            None => state.forced.remove(&key).is_some(),
        }
    }
}

/// Returns which of `paths` the ignore rules match. No folder above them may be a link.
pub(crate) fn ignored_of(git: &PrivateGit, paths: &[&[u8]]) -> Result<BTreeSet<Vec<u8>>, Error> {
    if paths.is_empty() {
        return Ok(BTreeSet::new());
    }
    // Otherwise a name that begins with a colon would be a pattern.
    let input: Vec<u8> = paths.iter().flat_map(|path| [&b"./"[..], *path, b"\0"]).flatten().copied().collect();
    let ignored = git.run_or_no(&["check-ignore", "-z", "--stdin", "--no-index"], &[], &input)?;
    let plain = |path: &[u8]| path.strip_prefix(b"./").unwrap_or(path).to_vec();
    Ok(self::paths(&ignored).into_iter().map(plain).collect())
}

/// Returns how many bytes the files have whose content is not in the store or the repository yet.
fn new_bytes(git: &PrivateGit, work: &Work) -> Result<u64, Error> {
    let files: Vec<&[u8]> = work.added.difference(&work.links).map(Vec::as_slice).collect();
    let ids = hashes(git, &files)?;
    let found = git.run(&["cat-file", "--batch-check=%(objectname)"], ids.join("\n").as_bytes())?;
    let found = String::from_utf8_lossy(&found);
    let is_missing = found.lines().map(|line| line.ends_with(" missing"));
    let missing = files.iter().zip(is_missing).filter(|(_, is_missing)| *is_missing);
    let size = |path: &[u8]| {
        std::fs::symlink_metadata(git.work_tree.join(OsStr::from_bytes(path))).map_or(0, |metadata| metadata.size())
    };
    Ok(missing.map(|(path, _)| size(path)).sum())
}

/// Returns the ids that regular files have as objects, without storing them.
pub(crate) fn hashes(git: &PrivateGit, files: &[&[u8]]) -> Result<Vec<String>, Error> {
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
    let ids = git.run(&["hash-object", "--no-filters", "--stdin-paths"], &input)?;
    let ids: Vec<String> = String::from_utf8_lossy(&ids).lines().map(str::to_owned).collect();
    if ids.len() == files.len() { Ok(ids) } else { Err(Error::Output) }
}

/// Returns the paths of a list that zero bytes divide.
pub(crate) fn paths(list: &[u8]) -> Vec<&[u8]> {
    list.split(|byte| *byte == 0).filter(|path| !path.is_empty()).collect()
}

/// Returns the id that a command has printed.
pub(crate) fn object_id(output: &[u8]) -> Result<String, Error> {
    let id = String::from_utf8_lossy(output).trim().to_owned();
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { Ok(id) } else { Err(Error::Output) }
}

/// Returns the number of entries of an index, from its header.
fn entries(index: &Path) -> u64 {
    use std::io::Read;
    let mut head = [0; 12];
    let read = bounded_read::open(index).and_then(|mut file| file.read_exact(&mut head));
    match (read, head) {
        (Ok(()), [b'D', b'I', b'R', b'C', _, _, _, _, a, b, c, d]) => u64::from(u32::from_be_bytes([a, b, c, d])),
        _ => 0,
    }
}

/// Returns the permissions that a new file does not get.
fn current_umask() -> u32 {
    let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    rustix::process::umask(umask);
    umask.as_raw_mode() as u32
}
