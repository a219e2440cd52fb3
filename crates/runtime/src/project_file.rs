//! A project's own `.claude/longhaul.json`, and whether the user trusts it.

use std::path::{Path, PathBuf};

use longhaul_core::Config;
use longhaul_core::config::{ProjectReading, Trust};
use sha2::{Digest, Sha256};

use crate::folder_hashes::FolderHashes;
use crate::{Error, Home, files};

/// The path of the file inside the project's folder.
pub const PROJECT_FILE: &str = ".claude/longhaul.json";

/// The file of a project, read once, so that the text that is hashed, shown and used is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// The folder of the project, with symbolic links resolved.
    pub folder: PathBuf,
    /// The text.
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

    /// Returns the user's consent.
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
    pub(crate) fn is_news(&self, home: &Home, now: u64) -> bool {
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
    /// The content is the trusted one.
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
