//! Checks whether snapshots of the files can be taken.

use std::time::Duration;

use longhaul_core::{Env, Millis};
use longhaul_runtime::git::{self, GitVersion};
use longhaul_snapshot_store::{last_failure, store_size};

use super::Finding;
use super::facts::Facts;
use super::judge::ago;
use crate::paths::InstallPaths;

/// How long git may take to print its version.
const LIMIT: Duration = Duration::from_secs(5);

/// By how much the store may exceed its cap until upkeep runs.
const SLACK: u64 = 5;

/// The facts about snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotFacts {
    /// The version of git, or why it is not known.
    pub git: Result<GitVersion, String>,
    /// The size of the store in bytes.
    pub bytes: u64,
    /// The largest size that the configuration allows.
    pub max_bytes: u64,
    /// The last failure, if no snapshot of that work tree has succeeded since.
    pub failure: Option<(Millis, String)>,
}

impl SnapshotFacts {
    /// Collects the facts; `None` if snapshots are disabled.
    pub(super) fn collect(env: &Env, paths: &InstallPaths) -> Option<Self> {
        let (config, _) = longhaul_runtime::config(env).ok()?;
        config.snapshots.enabled.then(|| Self {
            git: git::version(LIMIT).map_err(|error| error.chain()),
            bytes: store_size(&paths.data).bytes,
            max_bytes: config.snapshots.max_store.0,
            failure: last_failure(&paths.data),
        })
    }
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
    if let Some((at, why)) = &snapshots.failure {
        let what = format!("the last snapshot failed, {}: {why}", ago(facts.now, at.0));
        return vec![Finding::warning(check, what, "see longhaul.log; the next prompt tries again")];
    }
    if snapshots.bytes > snapshots.max_bytes.saturating_add(snapshots.max_bytes / SLACK) {
        let what = format!("the store has {} bytes, more than snapshots.max_store", snapshots.bytes);
        return vec![Finding::warning(check, what, "`longhaul memory upkeep` drops the oldest snapshots")];
    }
    vec![Finding::ok(check, format!("taken with git; they use {} MB", snapshots.bytes / 1_000_000))]
}
