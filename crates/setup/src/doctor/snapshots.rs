//! Checks whether snapshots of the files can be taken. The oldest version of git is in
//! `runtime/src/git.rs`.

use std::path::Path;

use longhaul_core::{Env, Millis};
use longhaul_runtime::git::{self, GitVersion};
use longhaul_runtime::waiting_times;
use longhaul_snapshot_store::{UPKEEP_FAILURE, last_failure, store_size};

use super::Finding;
use super::facts::Facts;
use super::judge::ago;
use crate::paths::InstallPaths;

/// By how much the store may exceed its cap until upkeep runs.
const SLACK: u64 = 5;

/// With less free space than this, a snapshot may fail.
const LEAST_FREE: u64 = 16 << 20;

/// The facts about snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotFacts {
    /// The version of git, or why it is not known.
    pub git: Result<GitVersion, String>,
    /// The size of the store in bytes.
    pub bytes: u64,
    /// The largest size that the configuration allows.
    pub max_bytes: u64,
    /// How many bytes are free on the file system of the store, if that is known.
    pub free_bytes: Option<u64>,
    /// The last failure, if no snapshot of that work tree has succeeded since.
    pub failure: Option<(Millis, String)>,
}

impl SnapshotFacts {
    /// Collects the facts; `None` if snapshots are disabled.
    pub(super) fn collect(env: &Env, paths: &InstallPaths) -> Option<Self> {
        let (config, _) = longhaul_runtime::config(env).ok()?;
        config.snapshots.enabled.then(|| Self {
            git: git::version(waiting_times::GIT_VERSION).map_err(|error| error.chain()),
            bytes: store_size(&paths.data).bytes,
            max_bytes: config.snapshots.max_store.0,
            free_bytes: free_bytes(paths.data.dir()),
            failure: last_failure(&paths.data),
        })
    }
}

/// Returns how many bytes are free on the file system of a folder, which need not exist yet.
fn free_bytes(dir: &Path) -> Option<u64> {
    let found = dir.ancestors().find_map(|dir| rustix::fs::statvfs(dir).ok())?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Checks the snapshots.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let check = "snapshots";
    let Some(snapshots) = &facts.snapshots else { return Vec::new() };
    let oldest = GitVersion::OLDEST;
    match &snapshots.git {
        Err(why) => {
            let fix = "install git, or set snapshots.enabled to false";
            return vec![Finding::warning(check, format!("no snapshots of files: {why}"), fix)];
        }
        Ok(version) if *version < oldest => {
            let (GitVersion { major, minor }, GitVersion { major: least, minor: than }) = (version, oldest);
            let what = format!("no snapshots of files: version {major}.{minor} of git is older than {least}.{than}");
            return vec![Finding::warning(check, what, "install a newer git, or set snapshots.enabled to false")];
        }
        Ok(_) => {}
    }
    // A process that has no space left cannot record that either.
    if let Some(free) = snapshots.free_bytes.filter(|free| *free < LEAST_FREE) {
        let what = format!("only {} kB are free where snapshots are stored: one may fail", free / 1000);
        return vec![Finding::warning(check, what, "free some space on the file system of LONGHAUL_HOME")];
    }
    if let Some((at, why)) = &snapshots.failure {
        let ago = ago(facts.now, at.0);
        let what = if why.starts_with(UPKEEP_FAILURE) {
            format!("{ago}, {why}")
        } else {
            format!("the last snapshot failed, {ago}: {why}")
        };
        return vec![Finding::warning(check, what, "see longhaul.log; the next prompt tries again")];
    }
    if snapshots.bytes > snapshots.max_bytes.saturating_add(snapshots.max_bytes / SLACK) {
        let what = format!("the store has {} bytes, more than snapshots.max_store", snapshots.bytes);
        return vec![Finding::warning(check, what, "`longhaul memory upkeep` drops the oldest snapshots")];
    }
    vec![Finding::ok(check, format!("taken with git; they use {} MB", snapshots.bytes / 1_000_000))]
}
