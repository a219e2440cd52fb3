//! `installed.json`: what was installed, and what was there before. Uninstalling also works without it, less exactly.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_runtime::bounded_read;
use serde::{Deserialize, Serialize};

use crate::installed_files::{self, Kind};
use crate::{Error, Result};

/// How the hooks are registered in Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InstallMode {
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
    /// The id of the bundle that the links point to.
    pub id: String,
    /// The id of the bundle that was installed before.
    pub previous: Option<String>,
    /// The folder that it was installed from.
    pub source: Option<PathBuf>,
    /// The time of the installation, in milliseconds.
    pub installed_at: u64,
    /// How the hooks are registered. The file calls it `way`.
    #[serde(rename = "way")]
    pub mode: InstallMode,
    /// The names in settings.json before the first installation; `None` if there was no such file.
    pub settings_before: Option<Vec<String>>,
    /// Whether the user does not want the chords in keybindings.json.
    pub no_keybinding: bool,
    /// The chords that were added to keybindings.json.
    pub added_chords: Vec<String>,
    /// Whether the user has answered the question about notifications.
    pub asked_notify: bool,
    /// Folders that did not exist before the first installation, outermost first.
    pub made_dirs: Vec<PathBuf>,
}

impl Manifest {
    /// Reads the file, or returns `None` if it cannot be read.
    pub fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&bounded_read::bytes(path, bounded_read::LARGE).ok()?).ok()
    }

    /// Writes the file.
    pub fn save(&self, path: &Path) -> Result<()> {
        let failed = |source| Error::Write { path: path.to_owned(), source };
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        let temporary = path.with_extension("tmp");
        let text = text + "\n";
        let written = installed_files::write(&temporary, text.as_bytes(), Kind::Plain);
        written.and_then(|()| fs::rename(&temporary, path)).map_err(failed)
    }
}
