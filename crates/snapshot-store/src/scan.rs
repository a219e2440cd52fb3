//! Brings the private index of a work tree up to date with its files, and pauses for a work tree that exceeds a limit.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use longhaul_core::Env;
use longhaul_runtime::git::{Printed, PrivateGit, WorkTree};
use longhaul_runtime::{bounded_read, files};
use serde::{Deserialize, Serialize};

use crate::folders::{self, Folders, is_repository, own_folders};
use crate::git_output::{Contents, Tracked, hashes, listed_paths, object_id, unreadable_folders, version_of};
use crate::left_out::{Candidate, FileKind, LeftOut, LeftOutReason, Limits};
use crate::paths::{ancestors, decoded_path, encoded_path};
use crate::place::{Place, remove, remove_temporary_objects, usual_permissions};
use crate::rules::{self, HiddenRules, NotAllowed, hidden_rules, ignored_of, outer_rules};
use crate::upkeep::size;
use crate::{Error, Skip};

/// How long to wait for git, for listing the files of a work tree. After this time, it is checked whether a file stops
/// git, which lists the files of most work trees in much less.
const LIST_FILES: Duration = Duration::from_secs(3);

/// How long a work tree that exceeds a limit is not scanned again.
const PAUSE_MS: u64 = 10 * 60 * 1000;

/// How many changed files, and how many bytes, are few: they are stored also if the repository has them, because it may prune
/// what was staged and not committed.
const FEW: (usize, u64) = (1000, 16 << 20);

/// Whether a work tree that exceeded a limit a short time ago is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Not yet: no person waits for it.
    Respect,
    /// It is: a person has asked.
    Ignore,
}

/// The files of a work tree, as a tree in the store.
#[derive(Debug, Clone)]
pub(crate) struct Scanned {
    pub(crate) tree: String,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) modes: BTreeMap<String, u32>,
    pub(crate) umask: u32,
    pub(crate) bytes: u64,
    pub(crate) index_tree: Option<String>,
    pub(crate) folders: Folders,
    /// The ignore rules that are not in the work tree.
    pub(crate) rules: String,
    /// The ignore rules in the work tree that no snapshot holds.
    pub(crate) hidden_rules: HiddenRules,
}

/// Scans the work tree. The lock must be held, and the place prepared.
pub(crate) fn scan(
    place: &Place,
    git: &PrivateGit,
    env: &Env,
    limits: &Limits,
    pause: Pause,
) -> Result<Scanned, Error> {
    let path = place.dir.join("state.json");
    let stored = bounded_read::bytes(&path, bounded_read::LARGE).ok();
    let mut state: ScanState = stored.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
    if let Some((until, why)) = state.pause.take_if(|(until, _)| until.saturating_sub(env.now.0) <= PAUSE_MS)
        && until > env.now.0
        && pause == Pause::Respect
    {
        return Err(Skip::StillTooLarge(why).into());
    }
    let scanned = match attempt(place, git, limits, &mut state) {
        // Objects that the index names were borrowed, and the repository has pruned them. All files are read again.
        Err(Error::Runtime(longhaul_runtime::Error::Program { .. })) if place.dir.join("index").exists() => {
            remove(&place.dir.join("index"))?;
            remove_temporary_objects(place);
            state = ScanState { umask: state.umask, ..ScanState::default() };
            attempt(place, git, limits, &mut state)
        }
        scanned => scanned,
    };
    if let Err(Error::Skipped(skip @ (Skip::TooManyFiles(_) | Skip::TooManyBytes(_)))) = &scanned {
        state.pause = Some((env.now.0 + PAUSE_MS, skip.to_string()));
    }
    if matches!(scanned, Err(Error::Runtime(_))) {
        remove_temporary_objects(place);
    }
    let stored = serde_json::to_vec(&state).map_or(Ok(()), |json| files::replace(&path, &json));
    let scanned = scanned?;
    stored?;
    Ok(scanned)
}

fn attempt(place: &Place, git: &PrivateGit, limits: &Limits, state: &mut ScanState) -> Result<Scanned, Error> {
    let umask = state.umask();
    let index = place.dir.join("index");
    let top = &place.tree.top;
    let mut recent = state.record_recent_modes(top);
    let is_new = !index.exists();
    if is_new {
        state.modes.clear();
        state.forced.clear();
        state.folders.clear();
    } else if state.index != version_of(&index) {
        let stored = git.run(&["ls-files", "-z", "--cached"], b"")?;
        let written = mtime(&index);
        recent = state.record_stored(top, &listed_paths(&stored));
        recent.retain(|(_, at)| at + 1 >= written);
    }
    let (tracked, listed, hidden) = read_and_list(place, git, state, is_new)?;
    let mut work = Work::find(place, git, limits, state, &tracked, is_new, &listed)?;
    rules::check(top, work.new_folders.iter().map(Vec::as_slice))?;
    let stored_before = if is_new { size(&place.objects()) } else { 0 };
    if work.bytes > limits.max_new_bytes {
        let bytes = new_bytes(git, &work)?;
        if bytes > limits.max_new_bytes {
            return Err(Skip::TooManyBytes(bytes).into());
        }
    }
    let is_same = work.added.is_empty() && work.removed.is_empty() && !is_new;
    let known = state.tree.clone().filter(|_| is_same && state.index.is_some() && state.index == version_of(&index));
    let (tree, folders) = std::thread::scope(|scope| {
        let storing = scope.spawn(|| known.map_or_else(|| work.store(git, is_new), Ok));
        let folders = folders::inspect(top, &mut state.folders, umask, &work.removed);
        (storing.join().unwrap_or(Err(Error::Output)), folders)
    });
    let tree = tree?;
    let written = mtime(&index);
    // The index is not written if nothing has changed, and then the same files are recent.
    let is_recent = |at: i64| is_same || at + 1 >= written;
    let changed = recent.into_iter().chain(std::mem::take(&mut work.changed_at));
    state.recent = changed.filter(|(_, at)| is_recent(*at)).map(|(path, _)| path).collect();
    state.index = version_of(&index);
    state.tree = Some(tree.clone());
    work.left_out.sort();
    work.left_out.dedup();
    Ok(Scanned {
        tree,
        left_out: work.left_out,
        modes: state.modes.clone(),
        umask,
        // Most files of a first snapshot are borrowed.
        bytes: if is_new { size(&place.objects()).saturating_sub(stored_before) } else { work.bytes },
        index_tree: tracked.index_tree,
        folders,
        rules: outer_rules(place),
        hidden_rules: hidden,
    })
}

/// Returns when a file was written, in seconds.
fn mtime(path: &Path) -> i64 {
    std::fs::metadata(path).map_or(i64::MAX, |found| found.mtime())
}

/// Reads what the user's index tracks, and lists the files and the hidden rules meanwhile.
fn read_and_list(
    place: &Place,
    git: &PrivateGit,
    state: &ScanState,
    is_new: bool,
) -> Result<(Tracked, Listed, HiddenRules), Error> {
    let (tracked, listed, hidden) = std::thread::scope(|scope| {
        let listing = scope.spawn(|| list_in_time(git, is_new));
        let hiding = scope.spawn(|| hidden_rules(&in_time(git)));
        let folders: Vec<Vec<u8>> = state.folders.iter().map(|path| decoded_path(path)).collect();
        let rules = rules::check(&place.tree.top, folders.iter().map(Vec::as_slice));
        let tracked = rules.and_then(|()| Tracked::read(place, git));
        let hidden = hiding.join().unwrap_or(Err(Error::Output));
        (tracked, listing.join().unwrap_or(Err(Error::Output)), hidden)
    });
    let tracked = match tracked {
        Err(error @ Error::Skipped(_)) => return Err(error),
        // What the index of the user tracks matters only for files that would be left out. Without it, they are.
        read => read.unwrap_or_default(),
    };
    let listed = listed?;
    let hidden = match hidden {
        // No file stops git, or the listing would have failed.
        Err(Error::Runtime(longhaul_runtime::Error::TimedOut { .. })) => hidden_rules(git)?,
        hidden => hidden?,
    };
    Ok((tracked, listed, hidden))
}

/// What a scan changes in the private index.
#[derive(Debug, Default)]
struct Work {
    /// Files to read.
    added: BTreeSet<Vec<u8>>,
    links: BTreeSet<Vec<u8>>,
    removed: BTreeSet<Vec<u8>>,
    left_out: Vec<LeftOut>,
    /// The size of all files to read.
    bytes: u64,
    /// When the files were last changed, in seconds.
    changed_at: Vec<(String, i64)>,
    /// The folders of these files that were not known before.
    new_folders: Vec<Vec<u8>>,
}

impl Work {
    /// Finds the files that are new or have changed, and decides about each.
    fn find(
        place: &Place,
        git: &PrivateGit,
        limits: &Limits,
        state: &mut ScanState,
        tracked: &Tracked,
        is_new: bool,
        (changed, (others, messages)): &Listed,
    ) -> Result<Self, Error> {
        let (changed, others) = (listed_paths(changed), listed_paths(others));
        let total = entries(&place.dir.join("index")) + others.len() as u64;
        if total > limits.max_files {
            return Err(Skip::TooManyFiles(total).into());
        }
        let top = &place.tree.top;
        let mut kinds = FileKinds::new(&place.tree, tracked);
        let present: Vec<&[u8]> = changed.iter().copied().filter(|path| kinds.at(path).is_some()).collect();
        let ignored = ignored_of(git, &present)?;
        let forced: Vec<&[u8]> =
            tracked.ignored.iter().map(Vec::as_slice).filter(|path| state.has_changed(top, path)).collect();
        let mut work = Self::default();
        let unreadable = unreadable_folders(messages, top).into_iter();
        work.left_out.extend(unreadable.map(|path| LeftOut { path, reason: LeftOutReason::Unreadable }));
        let rules = Some(rules::identity(place, limits, tracked));
        let have_changed = state.rules != rules || changed.iter().chain(&others).any(|path| rules::holds_rules(path));
        state.rules = rules;
        if have_changed && !is_new {
            let not_allowed = NotAllowed::find(git, limits, tracked)?;
            work.removed.extend(not_allowed.ignored);
            not_allowed.left_out.iter().for_each(|path| work.consider(path, true, &mut kinds, limits, state));
        }
        for path in changed {
            if ignored.contains(path) && !tracked.ignored.contains(path) {
                // It was stored before it was ignored.
                work.removed.insert(path.to_owned());
            } else {
                work.consider(path, true, &mut kinds, limits, state);
            }
        }
        for path in others.into_iter().chain(forced) {
            work.consider(path, false, &mut kinds, limits, state);
        }
        state.modes.retain(|path, _| !work.removed.contains(&decoded_path(path)));
        Ok(work)
    }

    /// Decides about a path that is new or has changed. `is_stored` says whether the index has it.
    fn consider(
        &mut self,
        path: &[u8],
        is_stored: bool,
        kinds: &mut FileKinds<'_>,
        limits: &Limits,
        state: &mut ScanState,
    ) {
        let encoded = encoded_path(path);
        let Some((metadata, candidate)) = kinds.at(path) else {
            state.modes.remove(&encoded);
            self.removed.extend(is_stored.then(|| path.to_owned()));
            return;
        };
        if let Some(reason) = limits.reason(&candidate) {
            let path = match candidate.is_in_other_repository {
                true => kinds.repository_above(path),
                false => limits.left_out_path(&candidate, reason).to_owned(),
            };
            self.left_out.push(LeftOut { path, reason });
            state.modes.remove(&encoded);
            // It is considered again by the next scan, so that it is said again.
            state.forced.remove(&encoded);
            self.removed.extend(is_stored.then(|| candidate.path.to_owned()));
            return;
        }
        for folder in ancestors(path) {
            if state.folders.insert(encoded_path(folder)) {
                self.new_folders.push(folder.to_owned());
            }
        }
        self.added.insert(path.to_owned());
        if candidate.kind == FileKind::Link {
            self.links.insert(path.to_owned());
            state.modes.remove(&encoded);
            return;
        }
        self.bytes += candidate.size;
        let Some(metadata) = metadata else { return };
        self.changed_at.push((encoded.clone(), metadata.ctime()));
        state.record_mode(encoded, &metadata);
    }

    /// Updates the index and writes its tree.
    fn store(&self, git: &PrivateGit, is_new: bool) -> Result<String, Error> {
        let is_few = !is_new && self.added.len() <= FEW.0 && self.bytes <= FEW.1;
        let writer = PrivateGit { borrowed: git.borrowed.clone().filter(|_| !is_few), ..git.clone() };
        let list = |paths: &BTreeSet<Vec<u8>>| {
            paths.iter().flat_map(|path| [path.as_slice(), b"\0"]).flatten().copied().collect::<Vec<u8>>()
        };
        if !self.removed.is_empty() {
            git.run(&["update-index", "-z", "--force-remove", "--stdin"], &list(&self.removed))?;
        }
        if !self.added.is_empty() {
            let args = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
            writer.run(&args, &list(&self.added))?;
        }
        let id = git.run(&["write-tree"], b"")?;
        object_id(&id)
    }
}

/// The files that have changed, and those that are new, with git's messages about the latter.
type Listed = (Vec<u8>, Printed);

fn list(git: &PrivateGit, is_new: bool) -> Result<Listed, longhaul_runtime::Error> {
    let others = ["ls-files", "-z", "--others", "--exclude-standard"];
    match is_new {
        true => Ok((Vec::new(), git.run_with_messages(&others)?)),
        false => git.run_both(&["diff-files", "-z", "--name-only"], &others),
    }
}

/// Lists files as [`list`] does. If that takes long, it is an error if a file stops git, and otherwise begins again.
fn list_in_time(git: &PrivateGit, is_new: bool) -> Result<Listed, Error> {
    match list(&in_time(git), is_new) {
        Err(longhaul_runtime::Error::TimedOut { .. }) => {
            rules::search(git)?;
            Ok(list(git, is_new)?)
        }
        listed => Ok(listed?),
    }
}

fn in_time(git: &PrivateGit) -> PrivateGit {
    PrivateGit { deadline: git.deadline.min(Instant::now() + LIST_FILES), ..git.clone() }
}

/// Returns how many bytes the files have whose content is not in the store or the repository yet.
fn new_bytes(git: &PrivateGit, work: &Work) -> Result<u64, Error> {
    let files: Vec<&[u8]> = work.added.difference(&work.links).map(Vec::as_slice).collect();
    let ids = hashes(git, &files, Contents::Read)?;
    let found = git.run(&["cat-file", "--batch-check=%(objectname)"], ids.join("\n").as_bytes())?;
    let found = String::from_utf8_lossy(&found);
    let is_missing = found.lines().map(|line| line.ends_with(" missing"));
    let missing = files.iter().zip(is_missing).filter(|(_, is_missing)| *is_missing);
    let size = |path: &[u8]| {
        std::fs::symlink_metadata(git.work_tree.join(OsStr::from_bytes(path))).map_or(0, |metadata| metadata.size())
    };
    Ok(missing.map(|(path, _)| size(path)).sum())
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

// What is known of a work tree from its last scan.

/// What is known of a work tree from the last scan.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ScanState {
    /// The version of the index that the tree was written from.
    pub(crate) index: Option<String>,
    pub(crate) tree: Option<String>,
    /// The permissions that a new file does not get, as of the first scan.
    pub(crate) umask: Option<u32>,
    /// Permissions of files that differ from those of a new file.
    pub(crate) modes: BTreeMap<String, u32>,
    /// Tracked files that are ignored: git does not list them, so their versions are compared.
    forced: BTreeMap<String, String>,
    /// Files that were changed within the last second of the scan. git compares whole seconds, and would not notice that
    /// their permissions change in the same second.
    recent: BTreeSet<String>,
    pub(crate) folders: BTreeSet<String>,
    /// Identifies the rules by which the stored files were chosen.
    pub(crate) rules: Option<String>,
    /// Until when the work tree is not scanned, and why.
    pause: Option<(u64, String)>,
}

impl ScanState {
    /// Returns the permissions that a new file does not get.
    pub(crate) fn umask(&mut self) -> u32 {
        *self.umask.get_or_insert_with(current_umask)
    }

    /// Records the permissions of a file.
    fn record_mode(&mut self, path: String, metadata: &Metadata) {
        let (umask, permissions) = (self.umask(), metadata.mode() & 0o7777);
        if permissions == usual_permissions(umask, permissions & 0o100 != 0) {
            self.modes.remove(&path);
        } else {
            self.modes.insert(path, permissions);
        }
    }

    /// Reads permissions and folders of all stored files again. Returns files as [`Self::record_recent_modes`] does.
    ///
    /// A scan that was killed may have written the index and not this state. git does not list these files then, because
    /// they have not changed since they are in the index.
    fn record_stored(&mut self, top: &Path, stored: &[&[u8]]) -> Vec<(String, i64)> {
        self.modes.clear();
        self.forced.clear();
        self.folders.clear();
        let mut recent = Vec::new();
        for path in stored {
            self.folders.extend(ancestors(path).map(encoded_path));
            let found = std::fs::symlink_metadata(top.join(OsStr::from_bytes(path)));
            if let Some(metadata) = found.ok().filter(Metadata::is_file) {
                recent.push((encoded_path(path), metadata.ctime()));
                self.record_mode(encoded_path(path), &metadata);
            }
        }
        recent
    }

    /// Reads the permissions of recently changed files again. Returns these files, each with the second of its last change.
    fn record_recent_modes(&mut self, top: &Path) -> Vec<(String, i64)> {
        let mut recent = Vec::new();
        for path in std::mem::take(&mut self.recent) {
            let found = std::fs::symlink_metadata(top.join(OsStr::from_bytes(&decoded_path(&path))));
            if let Some(metadata) = found.ok().filter(Metadata::is_file) {
                recent.push((path.clone(), metadata.ctime()));
                self.record_mode(path, &metadata);
            }
        }
        recent
    }

    /// Returns whether a tracked file that is ignored has changed since the last scan, and records its version.
    fn has_changed(&mut self, top: &Path, path: &[u8]) -> bool {
        let (key, version) = (encoded_path(path), version_of(&top.join(OsStr::from_bytes(path))));
        match version {
            Some(version) => self.forced.insert(key, version.clone()) != Some(version),
            None => self.forced.remove(&key).is_some(),
        }
    }
}

fn current_umask() -> u32 {
    let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    rustix::process::umask(umask);
    umask.as_raw_mode() as u32
}

// What the files of a work tree are, as far as it decides whether they are stored.

/// Finds out what the files of a work tree are. Inspects each folder once.
pub(crate) struct FileKinds<'a> {
    top: &'a Path,
    tracked: &'a Tracked,
    own: Vec<Vec<u8>>,
    folders: HashMap<Vec<u8>, FolderKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderKind {
    Folder,
    Repository,
    /// It is not there, or is a file or a link.
    None,
}

impl<'a> FileKinds<'a> {
    pub(crate) fn new(tree: &'a WorkTree, tracked: &'a Tracked) -> Self {
        Self { top: &tree.top, tracked, own: own_folders(tree), folders: HashMap::new() }
    }

    /// Returns what is at a path; `None` if nothing is, or only behind a link, or a folder. There is no metadata of a file in
    /// a folder that may not be searched.
    pub(crate) fn at<'p>(&mut self, path: &'p [u8]) -> Option<(Option<Metadata>, Candidate<'p>)> {
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
        let metadata = match std::fs::symlink_metadata(&full) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let mut candidate = Candidate::new(path, FileKind::File, 0);
                candidate.is_readable = false;
                return Some((None, candidate));
            }
            Err(_) => return None,
        };
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
        Some((Some(metadata), candidate))
    }

    fn folder(&mut self, path: &[u8]) -> FolderKind {
        if let Some(known) = self.folders.get(path) {
            return *known;
        }
        let full = self.top.join(OsStr::from_bytes(path));
        let kind = match std::fs::symlink_metadata(&full) {
            Ok(found) if found.is_dir() => {
                let is_own = self.own.iter().any(|own| own == path);
                let is_other = is_own || is_repository(&full) || self.tracked.submodules.contains(path);
                if is_other { FolderKind::Repository } else { FolderKind::Folder }
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
}
