//! The text of a configuration file before an installation, where removing what was added would not restore every byte.

use std::path::Path;

use longhaul_runtime::bounded_read;
use serde::{Deserialize, Serialize};

use super::without_agent;

/// A file before and after an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigRecord {
    /// Its text before; `None` if it did not exist.
    before: Option<String>,
    /// Its text after. If it is another one now, the record is not used.
    after: String,
    /// Whether the folder of the file existed before, if the installation could have created it.
    had_folder: bool,
}

impl ConfigRecord {
    /// Reads the record; `None` if there is no readable one.
    pub(super) fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&bounded_read::bytes(path, bounded_read::LARGE).ok()?).ok()
    }

    /// Returns the record of a change from `text` to `after`; `None` if none is needed. `earlier` is that of an earlier
    /// installation.
    pub(crate) fn needed(earlier: Option<&Self>, text: Option<&str>, after: String) -> Option<Self> {
        let before = match earlier.filter(|earlier| Some(earlier.after.as_str()) == text) {
            Some(earlier) => earlier.before.clone(),
            None => match without_agent(text.unwrap_or_default()) {
                // Hooks of another version are in the file already.
                Ok(Some(without)) => Some(without).filter(|without| !without.is_empty()),
                Ok(None) | Err(_) => text.map(str::to_owned),
            },
        };
        // A file in which nothing is left is removed: one that was empty before is another one.
        let restored = without_agent(&after).ok().flatten().filter(|text| !text.is_empty());
        (restored != before).then_some(Self { before, after, had_folder: false })
    }

    /// Returns the record of a file that did not exist, in a folder that did.
    pub(super) fn of_folder(after: String) -> Self {
        Self { before: None, after, had_folder: true }
    }

    /// Returns whether the folder of the file existed before.
    pub(super) fn had_folder(&self) -> bool {
        self.had_folder
    }

    /// Returns whether the file existed before the installation and was empty, and is now as the installation left it.
    pub(super) fn was_empty(&self, text: &str) -> bool {
        self.after == text && self.before.as_deref() == Some("")
    }

    /// Returns the text before the installation, if the file is as the installation left it. An empty text means that it did
    /// not exist.
    pub(super) fn original(&self, text: &str) -> Option<String> {
        (self.after == text).then(|| self.before.clone().unwrap_or_default())
    }

    /// Returns the record as the text of its file.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
