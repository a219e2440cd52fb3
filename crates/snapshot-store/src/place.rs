//! Where the snapshots of a work tree are stored, and which work trees have none: the home folder, and those around it. Also
//! the lock of that place, and what is stored there beside files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs2::FileExt;
use longhaul_core::Env;
use longhaul_runtime::git::{NoWorkTree, PrivateGit, WorkTree};
use longhaul_runtime::{Home, bounded_read, files};
use rustix::io::FdFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::folders::FolderModes;
use crate::left_out::{LeftOut, LeftOutReason};
use crate::paths::{decoded_path, encoded_path};
use crate::{Error, Skip, git_output};

/// How long to wait for the lock of a work tree's snapshots, in the background: another process takes a snapshot or packs them, or
/// is about to end.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait for git, for finding the work tree of a folder.
const FIND_WORK_TREE: Duration = Duration::from_secs(10);

/// Attributes that switch off every conversion, so that the bytes of a file are stored as they are. They come before
/// those of the work tree.
const ATTRIBUTES: &str = "* -text -eol -crlf -ident -filter -working-tree-encoding\n";

/// Maximum size of a file of ignore rules.
const MAX_RULES: u64 = 4 << 20;

/// Settings of the repository that describe how its file system treats names. Linux compares them byte for byte, whatever the
/// repository says: with another value, git would confuse two files.
const FILE_NAMES: [&str; 2] = ["core.ignorecase", "core.precomposeunicode"];

pub fn snapshots_dir(home: &Home) -> PathBuf {
    home.dir().join("snapshots")
}

/// A work tree, and where its snapshots are stored.
#[derive(Debug, Clone)]
pub struct Place {
    pub tree: WorkTree,
    /// The store of the repository, which all its worktrees share: references and objects.
    pub repository_dir: PathBuf,
    /// The git folder of this work tree: index, configuration, state, journal.
    pub dir: PathBuf,
    /// Identifies the work tree.
    pub key: String,
}

impl Place {
    /// Finds the work tree around `dir`. Creates nothing.
    pub fn find(env: &Env, home: &Home, dir: &Path) -> Result<Self, Error> {
        let read = |source| longhaul_runtime::Error::Read { path: dir.to_owned(), source };
        let dir = dir.canonicalize().map_err(read)?;
        let tree = WorkTree::around(env, &dir, FIND_WORK_TREE).map_err(|why| match why {
            NoWorkTree::Failed(error) => Error::from(error),
            why => Skip::NoWorkTree(why.to_string()).into(),
        })?;
        let home_dir = env.home_dir.as_deref().and_then(|home| home.canonicalize().ok());
        if tree.top.parent().is_none() || home_dir.is_some_and(|home| home.starts_with(&tree.top)) {
            return Err(Skip::HomeOrRoot.into());
        }
        if tree.top.starts_with(&tree.git_dir) || tree.top.starts_with(&tree.common_dir) {
            return Err(Skip::InGitFolder.into());
        }
        if !dir.starts_with(&tree.top) {
            return Err(Skip::Outside.into());
        }
        // LONGHAUL_HOME need not exist yet.
        let data = home.dir().ancestors().find_map(|dir| dir.canonicalize().ok()).unwrap_or_default();
        if data.starts_with(&tree.top) {
            return Err(Skip::HoldsStore.into());
        }
        let all = std::path::absolute(snapshots_dir(home)).map_err(read)?;
        let (repository, own) = (key(&tree.common_dir), key(&tree.top));
        let repository_dir = all.join(&repository);
        let dir = repository_dir.join("trees").join(&own);
        Ok(Self { tree, repository_dir, dir, key: format!("{repository}/{own}") })
    }

    /// Returns the folder to which objects are written.
    pub fn objects(&self) -> PathBuf {
        self.repository_dir.join("objects")
    }

    /// Returns git for this work tree. Each of its commands must end before the deadline.
    pub fn git(&self, deadline: Instant) -> PrivateGit {
        PrivateGit {
            git_dir: self.dir.clone(),
            work_tree: self.tree.top.clone(),
            objects: self.objects(),
            borrowed: Some(self.tree.common_dir.join("objects")).filter(|dir| dir.is_dir()),
            deadline,
        }
    }

    /// Creates the folder of the work tree, which holds the lock.
    pub(crate) fn create_dir(&self) -> Result<(), Error> {
        Ok(files::create_dir(&self.dir)?)
    }

    /// Takes the lock of the work tree; waits for another process at most `patience`.
    pub(crate) fn lock(&self, patience: Duration) -> Result<Lock, Error> {
        self.create_dir()?;
        Lock::take(&self.dir, patience)
    }

    /// Takes the lock of the work tree; returns `None` if another process holds it.
    pub(crate) fn try_lock(&self) -> Result<Option<Lock>, Error> {
        self.create_dir()?;
        Lock::try_take(&self.dir)
    }

    /// Creates or updates the store's folders and its configuration.
    pub(crate) fn set_up(&self, env: &Env) -> Result<(), Error> {
        let format = match self.tree.is_sha256 {
            false => "[core]\n\trepositoryformatversion = 0\n",
            true => "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n",
        };
        // Another number makes every index be built again. The first had entries that are left out now.
        let mut config = format!(
            "# 2\n{format}[core]\n\tbare = false\n\tsharedRepository = 0600\n\tlogAllRefUpdates = false\n\tsplitIndex = false\n\tuntrackedCache = false\n\
             \tpreloadIndex = true\n\tfsync = none\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[index]\n\tversion = 4\n\
             \tskipHash = true\n"
        );
        // With the values of the repository, git might store another mode than a file has, or take a link for a file.
        config.push_str("[core]\n\tfilemode = true\n\tsymlinks = true\n");
        for key in FILE_NAMES.into_iter().filter(|_| !cfg!(target_os = "linux")) {
            let name = key.strip_prefix("core.").unwrap_or(key);
            if let Some(value @ (b"true" | b"false")) = self.tree.setting(key) {
                config.push_str(&format!("[core]\n\t{name} = {}\n", String::from_utf8_lossy(value)));
            }
        }
        let objects = ["info", "pack"].map(|name| self.objects().join(name));
        for dir in objects.iter().chain(&[self.repository_dir.join("refs/snapshots"), self.dir.join("refs")]) {
            files::create_dir(dir)?;
        }
        let head = "ref: refs/heads/none\n".as_bytes();
        update(&self.repository_dir.join("HEAD"), head)?;
        update(
            &self.repository_dir.join("config"),
            format!("{format}[core]\n\tsharedRepository = 0600\n[gc]\n\tauto = 0\n").as_bytes(),
        )?;
        update(&self.repository_dir.join("common-dir"), self.tree.common_dir.as_os_str().as_bytes())?;
        update(&self.dir.join("HEAD"), head)?;
        update(&self.dir.join("work-tree"), self.tree.top.as_os_str().as_bytes())?;
        if update(&self.dir.join("config"), config.as_bytes())? {
            // An index of another format, or with modes of another meaning, is of no use.
            remove(&self.dir.join("index"))?;
        }
        update(&self.dir.join("info/attributes"), ATTRIBUTES.as_bytes())?;
        update(&self.dir.join("info/exclude"), &self.ignore_rules(env)?)?;
        self.remove_leftovers()
    }

    /// Removes what a process that was killed has left. No other process uses it, because the lock is held.
    fn remove_leftovers(&self) -> Result<(), Error> {
        for name in ["index.lock", "user-index.lock"] {
            remove(&self.dir.join(name))?;
        }
        for name in NAMES {
            let _ = std::fs::remove_dir_all(self.dir.join(name));
        }
        for entry in std::fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            // `files::replace` writes to a file with such an extension first.
            let is_temporary =
                entry.path().extension().is_some_and(|extension| extension.as_bytes().starts_with(b"tmp"));
            if is_temporary || git_output::is_copy(&entry.file_name()) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Returns the ignore rules that are not in the work tree: those of the user, then those of the repository, because
    /// a later rule wins.
    fn ignore_rules(&self, env: &Env) -> Result<Vec<u8>, Error> {
        let mut rules = Vec::new();
        let own = self.tree.common_dir.join("info/exclude");
        for path in self.tree.excludes_file(env).into_iter().chain([own]) {
            match bounded_read::bytes(&path, MAX_RULES) {
                Ok(bytes) => {
                    rules.extend(bytes);
                    rules.push(b'\n');
                }
                Err(error)
                    if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {}
                // Without its rules, ignored files would be read.
                Err(_) => return Err(Skip::IgnoreRules(path).into()),
            }
        }
        Ok(rules)
    }
}

/// Returns git for the work tree with the key `key`, to compare its snapshots; `None` if there are none.
///
/// The work tree itself need not exist any more.
pub fn stored_git(home: &Home, key: &str, deadline: Instant) -> Option<PrivateGit> {
    let (repository, tree) = key.split_once('/')?;
    // The key becomes part of a path.
    let is_key = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_key(repository) || !is_key(tree) {
        return None;
    }
    let repository_dir = std::path::absolute(snapshots_dir(home).join(repository)).ok()?;
    let git_dir = Some(repository_dir.join("trees").join(tree)).filter(|dir| dir.join("HEAD").is_file())?;
    let common = bounded_read::bytes(&repository_dir.join("common-dir"), bounded_read::SMALL).ok()?;
    let borrowed = Path::new(OsStr::from_bytes(&common)).join("objects");
    Some(PrivateGit {
        work_tree: git_dir.clone(),
        git_dir,
        objects: repository_dir.join("objects"),
        borrowed: Some(borrowed).filter(|dir| dir.is_dir()),
        deadline,
    })
}

/// Returns a name for a path that is the same in every version.
fn key(path: &Path) -> String {
    let hash = Sha256::digest(path.as_os_str().as_bytes());
    hash.iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a small file of our own if its content differs; returns whether it did.
fn update(path: &Path, content: &[u8]) -> Result<bool, Error> {
    if bounded_read::bytes(path, bounded_read::LARGE).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    files::replace(path, content)?;
    Ok(true)
}

pub(crate) fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Removes a file of our own, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(Error::change(path)),
    }
}

// The lock of a work tree: one process at a time takes or restores a snapshot of it.

/// Interval at which a lock that another process holds is tried again.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock of a work tree. Released when dropped, or when this process and every git that it has started have ended.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock; returns `None` if another process holds it.
    pub(crate) fn try_take(dir: &Path) -> Result<Option<Self>, Error> {
        let file = files::open_append(&dir.join("lock"))?;
        if file.try_lock_exclusive().is_err() {
            return Ok(None);
        }
        // A git that outlives this process may still write, so it inherits the lock.
        let _ = rustix::io::fcntl_setfd(&file, FdFlags::empty());
        Ok(Some(Self { file }))
    }

    /// Takes the lock; waits for another process at most `patience`.
    pub(crate) fn take(dir: &Path, patience: Duration) -> Result<Self, Error> {
        let started = Instant::now();
        loop {
            match Self::try_take(dir)? {
                Some(lock) => return Ok(lock),
                None if started.elapsed() >= patience => return Err(Error::Locked),
                None => std::thread::sleep(PAUSE),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = FileExt::unlock(&self.file);
    }
}

// What a snapshot knows beside its files, stored as JSON in the message of its commit.

/// What a snapshot knows beside its files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Metadata {
    pub(crate) session: String,
    /// What the snapshot was taken for.
    pub(crate) kind: String,
    /// The time of the event, in milliseconds since the epoch.
    pub(crate) created_at: u64,
    /// What was left out: paths and the names of reasons.
    pub(crate) left_out: Vec<(String, String)>,
    /// Permissions of files that differ from those of a new file.
    pub(crate) modes: BTreeMap<String, u32>,
    /// The permissions that a new file does not get.
    pub(crate) umask: u32,
    /// Whether too many files have unusual permissions to store them.
    pub(crate) has_no_modes: bool,
    /// Permissions of folders that differ from those of a new folder.
    pub(crate) folder_modes: BTreeMap<String, u32>,
    /// Whether too many folders have unusual permissions to store them.
    pub(crate) has_no_folder_modes: bool,
    /// Folders that contained no file, as far as they were found.
    pub(crate) empty_folders: Vec<String>,
    /// The ignore rules that are not in the work tree; `None` if they were not stored.
    pub(crate) rules: Option<String>,
    /// The files of ignore rules in the work tree that were ignored themselves, with their texts.
    pub(crate) hidden_rules: BTreeMap<String, String>,
}

/// Maximum number of files, and of folders, of which it is stored that they have unusual permissions.
pub(crate) const MAX_MODES: usize = 50_000;

impl Metadata {
    pub(crate) fn folder_modes(&self) -> FolderModes {
        let unusual = self.folder_modes.iter().map(|(path, mode)| (decoded_path(path), *mode)).collect();
        FolderModes { unusual, umask: self.umask }
    }

    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        let left_out = |(path, reason): &(String, String)| LeftOut {
            path: decoded_path(path),
            reason: LeftOutReason::from_name(reason).unwrap_or(LeftOutReason::Excluded),
        };
        self.left_out.iter().map(left_out).collect()
    }
}

/// Returns the permissions of a file, given those that differ from those of a new file.
pub(crate) fn permissions(modes: &BTreeMap<String, u32>, umask: u32, path: &[u8], is_executable: bool) -> u32 {
    modes.get(&encoded_path(path)).copied().unwrap_or_else(|| usual_permissions(umask, is_executable))
}

pub(crate) fn usual_permissions(umask: u32, is_executable: bool) -> u32 {
    (if is_executable { 0o777 } else { 0o666 }) & !umask
}

pub(crate) fn encoded(left_out: &[LeftOut]) -> Vec<(String, String)> {
    left_out.iter().map(|left| (encoded_path(&left.path), left.reason.as_str().to_owned())).collect()
}

// A folder of our own that exists only for a moment.

/// The folder for the ignore rules of another time, and that for the targets of links. A process that was killed may leave them.
pub(crate) const NAMES: [&str; 2] = ["rules", "links"];

/// A folder in the git folder of a work tree, whose lock must be held. Removed when dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    /// Creates one of [`NAMES`] in the git folder of a work tree.
    pub(crate) fn new(git_dir: &Path, name: &str) -> Result<Self, Error> {
        let folder = Self { path: git_dir.join(name) };
        files::create_dir(&folder.path)?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

// Removes what a git that was killed, or that had no space left, has begun to write.

/// Removes the temporary files among the objects of a repository, unless a process of another worktree may be writing some.
/// The lock of this work tree must be held.
///
/// Without that, half of a large file would keep a full disk full.
pub(crate) fn remove_temporary_objects(place: &Place) {
    let others = folders(&place.repository_dir.join("trees")).into_iter().filter(|tree| *tree != place.dir);
    let locks: Option<Vec<Lock>> = others.map(|tree| Lock::try_take(&tree).ok().flatten()).collect();
    if locks.is_some() {
        remove_temporary_files(&place.objects(), |_| true);
    }
}

/// Removes the temporary files in the folders of objects. No git may be writing one that `is_left`.
pub(crate) fn remove_temporary_files(objects: &Path, is_left: impl Fn(&Path) -> bool) {
    for folder in folders(objects) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b"tmp_") && is_left(&entry.path()) {
                let _ = remove(&entry.path());
            }
        }
    }
}
