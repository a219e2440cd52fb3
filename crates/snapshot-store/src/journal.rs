//! What a restore is about to do, written down before it begins, so that it can be finished or taken back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use longhaul_runtime::{bounded_read, files};
use longhaul_snapshot::{Entry, Step, decoded_path, encoded_path};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::disk::Files;
use crate::place::{Place, remove};
use crate::restore_objects::Synced;

/// Maximum size of a journal.
const MAX: u64 = 1 << 30;

/// A restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// The number of the snapshot that is restored; 0 if it is the state before another restore.
    pub(crate) snapshot: i64,
    /// The commit of the snapshot that was taken before.
    pub(crate) before: String,
    /// When it began, in milliseconds since the epoch.
    pub(crate) started_at: u64,
    /// What the names of temporary files begin with.
    pub(crate) temporary: String,
    /// The steps, in their order.
    pub(crate) steps: Vec<JournalStep>,
    /// The permissions that folders have in the end: those that are created, and those that change.
    pub(crate) folder_modes: BTreeMap<String, u32>,
    /// The permissions that those of them have which exist before.
    pub(crate) folders_before: BTreeMap<String, u32>,
    /// Folders that are not removed when they become empty.
    pub(crate) kept_folders: Vec<String>,
}

impl Journal {
    /// Returns the name of the temporary file of a step.
    pub(crate) fn temporary_name(&self, step: usize) -> String {
        format!("{}-{step}", self.temporary)
    }

    /// Returns whether the restore changes anything.
    pub(crate) fn changes_something(&self) -> bool {
        !self.steps.is_empty() || !self.folders_before.is_empty()
    }

    /// Opens the work tree, with what the journal says about its folders.
    pub(crate) fn files(&self, place: &Place) -> Result<Files, Error> {
        let decoded = |modes: &BTreeMap<String, u32>| -> BTreeMap<Vec<u8>, u32> {
            modes.iter().map(|(path, mode)| (decoded_path(path), *mode)).collect()
        };
        let mut files = Files::of(place)?;
        (files.folder_modes, files.folders_before) = (decoded(&self.folder_modes), decoded(&self.folders_before));
        files.kept_folders = self.kept_folders.iter().map(|path| decoded_path(path)).collect();
        Ok(files)
    }
}

/// A step of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalStep {
    path: String,
    before: Option<(u32, String)>,
    after: Option<(u32, String)>,
    /// The permissions before and after; `None` for a link.
    pub(crate) permissions: (Option<u32>, Option<u32>),
}

impl JournalStep {
    pub(crate) fn new(step: &Step, permissions: (Option<u32>, Option<u32>)) -> Self {
        let stored = |entry: &Option<Entry>| entry.as_ref().map(|entry| (entry.mode, entry.id.clone()));
        Self { path: encoded_path(&step.path), before: stored(&step.before), after: stored(&step.after), permissions }
    }

    pub(crate) fn step(&self) -> Step {
        let entry = |stored: &Option<(u32, String)>| stored.clone().map(|(mode, id)| Entry { mode, id });
        Step { path: decoded_path(&self.path), before: entry(&self.before), after: entry(&self.after) }
    }
}

/// Returns whether a restore of a work tree was begun and not finished, given the folder of its store.
pub(crate) fn exists(dir: &Path) -> bool {
    dir.join("journal.json").exists() && read(dir, "journal.json").is_some()
}

/// Returns the restore that was begun and not finished.
///
/// A journal that cannot be read was not written to the end, so that the restore has changed nothing.
pub(crate) fn unfinished(place: &Place) -> Option<Journal> {
    read(&place.dir, "journal.json")
}

/// Returns the last restore, finished or not.
pub(crate) fn last(place: &Place) -> Option<Journal> {
    unfinished(place).or_else(|| read(&place.dir, "last-restore.json"))
}

fn read(dir: &Path, name: &str) -> Option<Journal> {
    serde_json::from_slice(&bounded_read::bytes(&dir.join(name), MAX).ok()?).ok()
}

/// The file with the number of the snapshot whose restore was announced.
fn announcement(place: &Place) -> PathBuf {
    place.dir.join("announced-restore")
}

/// Records that a restore is about to be planned.
pub(crate) fn announce(place: &Place, snapshot: i64) -> Result<(), Error> {
    Ok(files::replace(&announcement(place), snapshot.to_string().as_bytes())?)
}

/// Removes the announcement.
pub(crate) fn withdraw(place: &Place) -> Result<(), Error> {
    remove(&announcement(place))
}

/// Returns the snapshot whose restore was announced and never begun, and removes the announcement.
pub(crate) fn take_announced(place: &Place) -> Result<Option<i64>, Error> {
    let announced = bounded_read::text(&announcement(place), bounded_read::SMALL).ok();
    if announced.is_some() {
        withdraw(place)?;
    }
    Ok(announced.filter(|_| !exists(&place.dir)).map(|text| text.trim().parse().unwrap_or_default()))
}

/// Writes down a restore that is about to begin. What is needed to take it back must be on the disk before.
pub(crate) fn begin(place: &Place, journal: &Journal, _synced: &Synced) -> Result<(), Error> {
    let json = serde_json::to_vec(journal).map_err(|_| Error::Output)?;
    let path = place.dir.join("journal.json");
    files::replace(&path, &json)?;
    let synced = bounded_read::open(&path).and_then(|file| file.sync_all());
    synced.map_err(Error::change(&path))?;
    withdraw(place)
}

/// Records that the restore is finished.
pub(crate) fn finish(place: &Place) -> Result<(), Error> {
    withdraw(place)?;
    let path = place.dir.join("journal.json");
    std::fs::rename(&path, place.dir.join("last-restore.json")).map_err(Error::change(&path))
}

/// Returns the commit of the state before the last restore of a work tree, given the folder of its store.
pub(crate) fn before_of(dir: &Path) -> Option<String> {
    read(dir, "last-restore.json").map(|journal| journal.before)
}

/// Makes it impossible to take back the last restore of a work tree, given the folder of its store.
pub(crate) fn forget_last(dir: &Path) -> Result<(), Error> {
    remove(&dir.join("last-restore.json"))
}
