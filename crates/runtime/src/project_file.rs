//! A project's own `.claude/longhaul.json`, and whether the user trusts it.

use std::path::{Path, PathBuf};

use longhaul_core::Config;
use longhaul_core::config::{ProjectReading, Trust};
use sha2::{Digest, Sha256};

use crate::folder_hashes::FolderHashes;
use crate::{Error, Home, files};

/// Where it is, in the project's folder.
pub const PROJECT_FILE: &str = ".claude/longhaul.json";

/// A project's file, as it was read once: what is hashed, shown and used is the same text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// The project's folder, without links.
    pub folder: PathBuf,
    /// The text.
    pub text: String,
    /// The SHA-256 of the text, in hexadecimal.
    pub hash: String,
}

/// What the user has said to a project's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// It is trusted with this content.
    Given,
    /// It was trusted with another content.
    Outdated,
    /// Nothing.
    None,
}

impl Consent {
    /// Returns what that means for the content as it is.
    pub fn trust(self) -> Trust {
        match self {
            Self::Given => Trust::Trusted,
            Self::Outdated | Self::None => Trust::Untrusted,
        }
    }
}

impl ProjectFile {
    /// Reads the file of the project in `dir`; `None` where there is no regular file.
    pub fn read(dir: &Path) -> Option<Self> {
        let (text, _) = files::read_foreign(&dir.join(PROJECT_FILE))?;
        // Whichever way leads to the folder, it is the same. One that is moved, or another worktree, is another.
        let folder = dir.canonicalize().ok()?;
        let hash = Sha256::digest(text.as_bytes()).iter().fold(String::new(), |hash, byte| format!("{hash}{byte:02x}"));
        Some(Self { folder, text, hash })
    }

    /// Returns what the user has said to it.
    pub fn consent(&self, home: &Home) -> Consent {
        match FolderHashes::load(&home.trusted_projects()).get(&self.folder) {
            Some(trusted) if trusted.hash == self.hash => Consent::Given,
            Some(_) => Consent::Outdated,
            None => Consent::None,
        }
    }

    /// Notes that the user trusts the file with this content.
    pub fn trust(&self, home: &Home, now: u64) -> Result<(), Error> {
        FolderHashes::change(home, &home.trusted_projects(), |known| known.set(&self.folder, &self.hash, now)).map(drop)
    }

    /// Returns what is in force with it.
    pub fn read_over(&self, own: &Config, home: &Home) -> ProjectReading {
        own.with_project(&self.text, self.consent(home).trust())
    }

    /// Notes that the user is told of this content; returns whether that is for the first time.
    ///
    /// Where nothing can be written, every time counts as the first: rather twice than never.
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

/// Withdraws the trust in the file of a folder; returns whether it was trusted. The folder need not exist any more.
pub fn distrust(home: &Home, folder: &Path) -> Result<bool, Error> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    // The next session start shows what the file asks for again.
    FolderHashes::change(home, &home.noticed_projects(), |known| known.remove(&folder))?;
    FolderHashes::change(home, &home.trusted_projects(), |known| known.remove(&folder))
}

/// Returns the folders whose files are trusted, with when that was said and whether it still holds.
pub fn trusted_projects(home: &Home) -> Vec<(PathBuf, u64, TrustedNow)> {
    let known = FolderHashes::load(&home.trusted_projects());
    let now = |folder: &Path, hash: &str| match ProjectFile::read(folder) {
        None => TrustedNow::Gone,
        Some(file) if file.hash == hash => TrustedNow::Unchanged,
        Some(_) => TrustedNow::Changed,
    };
    known.iter().map(|(folder, entry)| (folder.to_owned(), entry.at, now(folder, &entry.hash))).collect()
}

/// What has become of a file that was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedNow {
    /// It is what it was.
    Unchanged,
    /// Its content is another: it is not trusted until the user says so again.
    Changed,
    /// There is none any more.
    Gone,
}

/// Returns the user's configuration with what the project in `dir` may set.
pub(crate) fn in_force(own: &Config, home: &Home, dir: Option<&Path>) -> Config {
    match dir.and_then(ProjectFile::read) {
        Some(file) => file.read_over(own, home).config,
        None => own.clone(),
    }
}
