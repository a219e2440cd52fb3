//! A project's own `.claude/longhaul.json`, and whether the user trusts it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fs2::FileExt;
use longhaul_core::Config;
use longhaul_core::catalog::Job;
use longhaul_core::config::{ProjectReading, ProjectValue, Trust};
use longhaul_core::event::{SessionStart, StartSource};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, Flow, Home, Hook, files};

/// The path of the file inside the project's folder.
pub const PROJECT_FILE: &str = ".claude/longhaul.json";

/// The file of a project, read once, so that the text that is hashed, shown and used is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// The folder of the project, with symbolic links resolved.
    pub folder: PathBuf,
    pub text: String,
    /// The SHA-256 of the text, in hexadecimal.
    pub hash: String,
}

/// The user's consent to the file of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// The user trusts this content.
    Given,
    /// The user trusted another content.
    Outdated,
    /// The user has not trusted it.
    None,
}

impl Consent {
    /// Returns the trust in the current content.
    pub fn trust(self) -> Trust {
        match self {
            Self::Given => Trust::Trusted,
            Self::Outdated | Self::None => Trust::Untrusted,
        }
    }
}

impl ProjectFile {
    /// Reads the file of the project in `dir`; `None` if it is not a regular file.
    pub fn read(dir: &Path) -> Option<Self> {
        let (text, _) = files::read_foreign(&dir.join(PROJECT_FILE))?;
        // Different paths to the same folder give the same result. A moved folder or another worktree is another
        // project.
        let folder = dir.canonicalize().ok()?;
        let hash = Sha256::digest(text.as_bytes()).iter().fold(String::new(), |hash, byte| format!("{hash}{byte:02x}"));
        Some(Self { folder, text, hash })
    }

    pub fn consent(&self, home: &Home) -> Consent {
        match FolderHashes::load(&home.trusted_projects()).get(&self.folder) {
            Some(trusted) if trusted.hash == self.hash => Consent::Given,
            Some(_) => Consent::Outdated,
            None => Consent::None,
        }
    }

    /// Records that the user trusts this content.
    pub fn trust(&self, home: &Home, now: u64) -> Result<(), Error> {
        FolderHashes::change(home, &home.trusted_projects(), |known| known.set(&self.folder, &self.hash, now)).map(drop)
    }

    /// Returns the effective configuration with this file.
    pub fn read_over(&self, own: &Config, home: &Home) -> ProjectReading {
        own.with_project(&self.text, self.consent(home).trust())
    }

    /// Records that the user gets a notice of this content. Returns whether it is the first notice.
    ///
    /// If nothing can be written, it counts as the first: a repeated notice is better than none.
    fn is_news(&self, home: &Home, now: u64) -> bool {
        let path = home.noticed_projects();
        let is_known = |known: &FolderHashes| known.get(&self.folder).is_some_and(|seen| seen.hash == self.hash);
        if is_known(&FolderHashes::load(&path)) {
            return false;
        }
        FolderHashes::change(home, &path, |known| {
            let is_news = !is_known(known);
            known.set(&self.folder, &self.hash, now);
            is_news
        })
        .unwrap_or(true)
    }
}

/// Withdraws the trust in the file of a folder. Returns whether it was trusted. The folder need not exist any more.
pub fn distrust(home: &Home, folder: &Path) -> Result<bool, Error> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    // The next session start then shows the notice again.
    FolderHashes::change(home, &home.noticed_projects(), |known| known.remove(&folder))?;
    FolderHashes::change(home, &home.trusted_projects(), |known| known.remove(&folder))
}

/// Returns the folders with trusted files, each with the time of the consent and the current state of the file.
pub fn trusted_projects(home: &Home) -> Vec<(PathBuf, u64, TrustedNow)> {
    let known = FolderHashes::load(&home.trusted_projects());
    let now = |folder: &Path, hash: &str| match ProjectFile::read(folder) {
        None => TrustedNow::Gone,
        Some(file) if file.hash == hash => TrustedNow::Unchanged,
        Some(_) => TrustedNow::Changed,
    };
    known.iter().map(|(folder, entry)| (folder.to_owned(), entry.at, now(folder, &entry.hash))).collect()
}

/// The current state of a file that was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedNow {
    Unchanged,
    /// The content has changed. It is not trusted until the user trusts it again.
    Changed,
    /// The file does not exist any more.
    Gone,
}

/// Returns the user's configuration, with the values that the project in `dir` may change.
pub(crate) fn in_force(own: &Config, home: &Home, dir: Option<&Path>) -> Config {
    match dir.and_then(ProjectFile::read) {
        Some(file) => file.read_over(own, home).config,
        None => own.clone(),
    }
}

// The file of a project: the user is notified once of its values.

/// Maximum number of values that are shown.
const SHOWN: usize = 5;

/// Maximum number of characters of a value that are shown.
const MAX_VALUE: usize = 40;

/// Notifies the user, once for each content, which values the project's file asks for and how to allow them.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if !hook.serves(Job::Continuation) || hook.event.source == StartSource::Compact {
        return Ok(Flow::Next);
    }
    let Some(file) = hook.project_dir().and_then(|dir| ProjectFile::read(&dir)) else { return Ok(Flow::Next) };
    let consent = file.consent(&hook.home);
    let reading = hook.config.with_project(&file.text, consent.trust());
    let Some(message) = message(&file, consent, &reading, &hook.config) else { return Ok(Flow::Next) };
    if file.is_news(&hook.home, hook.env.now.0) {
        hook.log.write(&message);
        hook.notify(&format!("longhaul: {message}"));
    }
    Ok(Flow::Next)
}

/// What it means that a project switches continuation on.
pub const GOES_ON: &str = "(sessions here are then cleared and continue by themselves)";

/// Returns whether a value of a project's file, if it is trusted, switches continuation on that is off in the user's own
/// configuration.
pub fn switches_on(own: &Config, value: &ProjectValue) -> bool {
    let asks_for_off = value.asked.as_str().is_some_and(|asked| asked.trim() == "off");
    value.key == "continuation.at" && !own.continuation.at.is_on && !asks_for_off
}

/// Returns the notice for a project's file; `None` if all of it is in force.
fn message(file: &ProjectFile, consent: Consent, reading: &ProjectReading, own: &Config) -> Option<String> {
    let folder = longhaul_inject::printable(&file.folder.display().to_string());
    if let Some(problem) = &reading.problem {
        return Some(format!("{PROJECT_FILE} in {folder} {problem}: nothing in it is in force"));
    }
    let waiting: Vec<String> =
        reading.waiting().map(|value| format!("{} = {}", value.key, value.shown(MAX_VALUE))).collect();
    let refused = reading.refused().count();
    if waiting.is_empty() && refused == 0 {
        return None;
    }
    let not_its_to_set = match refused {
        0 => String::new(),
        1 => "; 1 value is refused (`longhaul config show`)".to_owned(),
        refused => format!("; {refused} values are refused (`longhaul config show`)"),
    };
    if waiting.is_empty() {
        return Some(format!("{PROJECT_FILE} in {folder}{}", not_its_to_set.replacen(';', ":", 1)));
    }
    let asks = match consent {
        Consent::Outdated => "has changed since you trusted it, and asks for",
        Consent::Given | Consent::None => "asks for",
    };
    let more = match waiting.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let waiting = waiting.into_iter().take(SHOWN).collect::<Vec<_>>().join(", ");
    let meaning = match reading.waiting().any(|value| switches_on(own, value)) {
        true => format!(" {GOES_ON}"),
        false => String::new(),
    };
    Some(format!(
        "{PROJECT_FILE} in {folder} {asks} {waiting}{more}: not in force. To allow it, run `longhaul config trust` in \
         that folder{meaning}{not_its_to_set}"
    ))
}

// A JSON file that maps folders to the hash of a file in each. It is used only if no other user could have written it.

/// Maximum number of folders; the oldest entry is removed first.
const MOST_FOLDERS: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FolderHash {
    pub(crate) hash: String,
    /// The time at which the entry was written, in milliseconds since the Unix epoch.
    pub(crate) at: u64,
}

/// Entries by the canonical path of the folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FolderHashes {
    folders: BTreeMap<String, FolderHash>,
}

impl FolderHashes {
    /// Reads the file. Returns no entries if it is missing or unreadable, or if another user can write it.
    pub(crate) fn load(path: &Path) -> Self {
        let read = || {
            let metadata = path.symlink_metadata().ok()?;
            let is_own = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0;
            let bytes = is_own.then(|| files::read_without_waiting(path).ok())??;
            serde_json::from_slice(&bytes).ok()
        };
        read().unwrap_or_default()
    }

    /// Changes the file under a lock, so that no concurrent change is lost.
    pub(crate) fn change<T>(home: &Home, path: &Path, change: impl FnOnce(&mut Self) -> T) -> Result<T, Error> {
        let lock = files::open_append(&home.locks().join("projects"))?;
        lock.lock_exclusive().map_err(|source| Error::Write { path: path.to_owned(), source })?;
        let before = Self::load(path);
        let mut after = before.clone();
        let changed = change(&mut after);
        if after != before {
            files::replace(path, &serde_json::to_vec_pretty(&after).unwrap_or_default())?;
        }
        Ok(changed)
    }

    /// Returns the entry of a folder. A path that is not UTF-8 has none: its lossy form could be that of another
    /// folder.
    pub(crate) fn get(&self, folder: &Path) -> Option<&FolderHash> {
        self.folders.get(folder.to_str()?)
    }

    /// Stores the hash of a folder's file.
    pub(crate) fn set(&mut self, folder: &Path, hash: &str, at: u64) {
        let Some(folder) = folder.to_str() else { return };
        self.folders.insert(folder.to_owned(), FolderHash { hash: hash.to_owned(), at });
        while self.folders.len() > MOST_FOLDERS {
            let oldest = self.folders.iter().min_by_key(|(_, entry)| entry.at).map(|(folder, _)| folder.clone());
            self.folders.retain(|folder, _| Some(folder) != oldest.as_ref());
        }
    }

    /// Removes a folder. Returns whether it had an entry.
    pub(crate) fn remove(&mut self, folder: &Path) -> bool {
        folder.to_str().is_some_and(|folder| self.folders.remove(folder).is_some())
    }

    /// Returns all entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, &FolderHash)> {
        self.folders.iter().map(|(folder, entry)| (Path::new(folder), entry))
    }
}
