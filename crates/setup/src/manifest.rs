//! What was installed, and what was there before. Uninstalling works without it, and better with it.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_runtime::bounded_read;
use serde::{Deserialize, Serialize};

use crate::installed_files::{self, Kind};
use crate::{Error, Result};

/// How the client is told of our hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// As a plugin.
    #[default]
    Plugin,
    /// As hooks in settings.json.
    Hooks,
}

/// `installed.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// The version.
    pub version: String,
    /// The version that the links lead to.
    pub id: String,
    /// The version before.
    pub previous: Option<String>,
    /// Where it came from.
    pub source: Option<PathBuf>,
    /// When, in milliseconds.
    pub installed_at: u64,
    /// How the client is told.
    pub way: Way,
    /// The names in settings.json before the first installation; `None` where there was no such file.
    pub settings_before: Option<Vec<String>>,
    /// Whether our chords are not wanted in keybindings.json.
    pub no_keybinding: bool,
    /// The chords that were added to keybindings.json; `None` where an earlier version has not recorded it.
    pub added_chords: Option<Vec<String>>,
    /// Folders that were not there before the first installation, outermost first.
    pub made_dirs: Vec<PathBuf>,
}

impl Manifest {
    /// Reads it; `None` where there is none that can be read.
    pub fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&bounded_read::bytes(path, bounded_read::LARGE).ok()?).ok()
    }

    /// Writes it.
    pub fn save(&self, path: &Path) -> Result<()> {
        let failed = |source| Error::Write { path: path.to_owned(), source };
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        let temporary = path.with_extension("tmp");
        let text = text + "\n";
        let written = installed_files::write(&temporary, text.as_bytes(), Kind::Plain);
        written.and_then(|()| fs::rename(&temporary, path)).map_err(failed)
    }
}
