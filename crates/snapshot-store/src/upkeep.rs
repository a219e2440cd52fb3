//! Drops old snapshots and keeps the store small. Never runs in a hook.

use std::path::{Path, PathBuf};
use std::time::Instant;

use longhaul_core::{Config, Env, Millis};
use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::memory::upkeep::may_delete;
use longhaul_runtime::{Home, bounded_read, files, waiting_times};
use longhaul_snapshot::{Kept, retention};
use longhaul_store::{Snapshot, Store};

use crate::Error;
use crate::place::{Place, folders, remove, snapshots_dir};
use crate::prune::pack_loose;
use crate::tidy::{Tidied, tidy};

/// Number of files in [`SAMPLE`] from which on the store is packed: about 2,000 objects in all.
const MANY: usize = 32;

/// Four of the 256 folders of objects.
const SAMPLE: [&str; 4] = ["17", "5a", "9c", "e3"];

/// How many rounds of dropping and packing are made to get below the cap.
const ROUNDS: usize = 5;

/// What the description of a failure of upkeep begins with.
pub const UPKEEP_FAILURE: &str = "the upkeep of the snapshots";

/// How large the store of all snapshots is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSize {
    /// Bytes of all files.
    pub bytes: u64,
    /// Number of repositories.
    pub repositories: usize,
}

/// Returns how large the store of all snapshots is.
pub fn store_size(home: &Home) -> StoreSize {
    let repositories = repositories(home);
    StoreSize { bytes: repositories.iter().map(|dir| size(dir)).sum(), repositories: repositories.len() }
}

/// Returns the last failure of a snapshot, or of the upkeep of a store, that no success has followed: the time, and a
/// description.
pub fn last_failure(home: &Home) -> Option<(Millis, String)> {
    let repositories = repositories(home).into_iter();
    let dirs = repositories.flat_map(|dir| folders(&dir.join("trees")).into_iter().chain([dir]));
    let read = |dir: PathBuf| {
        let text = bounded_read::text(&dir.join("failure"), bounded_read::SMALL).ok()?;
        let (at, why) = text.split_once(' ')?;
        Some((Millis(at.parse().ok()?), why.trim().to_owned()))
    };
    dirs.filter_map(read).max_by_key(|(at, _)| *at)
}

/// Records that a snapshot of a work tree failed.
pub(crate) fn record_failure(place: &Place, error: &Error) {
    let at = longhaul_runtime::env().now.0;
    let text = format!("{at} {}: {}", place.tree.top.display(), error.chain());
    let _ = files::replace(&place.dir.join("failure"), text.as_bytes());
}

/// Records that a snapshot of a work tree was taken.
pub(crate) fn clear_failure(place: &Place) {
    let _ = remove(&place.dir.join("failure"));
}

/// Packs new objects if there are many. The lock must be held.
pub(crate) fn pack_if_many(place: &Place) {
    let count = |name: &str| std::fs::read_dir(place.objects().join(name)).map_or(0, Iterator::count);
    if SAMPLE.into_iter().map(count).sum::<usize>() >= MANY {
        let git = PrivateGit {
            git_dir: place.repository_dir.clone(),
            ..place.git(Instant::now() + waiting_times::PACK_NEW_OBJECTS)
        };
        // If it fails, upkeep tries again.
        let _ = pack_loose(&git);
    }
}

/// What upkeep has done.
#[derive(Debug, Default)]
pub struct Dropped {
    /// How many snapshots were dropped.
    pub snapshots: usize,
    /// The stores whose files could not be deleted, and why. The other stores are not affected.
    pub failures: Vec<String>,
    /// How many stores are in use: their files are deleted by the next upkeep.
    pub in_use: usize,
}

/// Drops snapshots that are too old or too many, and deletes what no snapshot needs.
pub fn upkeep(env: &Env, home: &Home, config: &Config, store: &Store) -> Result<Dropped, Error> {
    let settings = &config.snapshots;
    let mut dropped = Dropped::default();
    for round in 0..ROUNDS {
        let excess = store_size(home).bytes.saturating_sub(settings.max_store.0);
        let snapshots = store.snapshots(None)?;
        let kept: Vec<Kept> =
            snapshots.iter().filter(|one| one.commit.is_some() || one.skipped.is_some()).map(kept).collect();
        let drop = if may_delete(home, env.now) {
            retention(&kept, env.now, settings.max_age_days.as_millis(), excess)
        } else {
            // By a wrong clock, the newest ones may seem to be the oldest.
            Vec::new()
        };
        if drop.is_empty() && round > 0 {
            break;
        }
        dropped.snapshots += store.drop_snapshots(&drop)?;
        (dropped.in_use, dropped.failures) = (0, Vec::new());
        for dir in repositories(home) {
            match tidy(&dir, store, settings.max_store.0) {
                Ok(tidied) => {
                    dropped.in_use += usize::from(tidied == Tidied::Later);
                    let _ = remove(&dir.join("failure"));
                }
                Err(error) => {
                    let why = format!("{UPKEEP_FAILURE} in {} failed: {}", dir.display(), error.chain());
                    let _ = files::replace(&dir.join("failure"), format!("{} {why}", env.now.0).as_bytes());
                    dropped.failures.push(why);
                }
            }
        }
    }
    Ok(dropped)
}

fn kept(snapshot: &Snapshot) -> Kept {
    let mut kept = Kept::new(snapshot.id, Millis(snapshot.created_at), snapshot.bytes.max(1));
    kept.is_pinned = snapshot.is_pinned;
    kept
}

/// Returns the folders of all repositories.
fn repositories(home: &Home) -> Vec<PathBuf> {
    folders(&snapshots_dir(home)).into_iter().filter_map(|dir| std::path::absolute(dir).ok()).collect()
}

/// Returns the size of all files below a folder.
pub(crate) fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}
