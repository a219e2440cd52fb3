//! Checks of what is stored: the data folder, the database, permissions, transcripts, snapshots, the configuration. Pure.
//! What is wrong with the folder or its disk is found in `runtime/src/storage.rs`.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use longhaul_core::config::Warning;
use longhaul_core::{Env, Millis};
use longhaul_runtime::git::{self, GitVersion};
use longhaul_runtime::memory::salvage::SetAside;
use longhaul_runtime::waiting_times;
use longhaul_snapshot_store::{UPKEEP_FAILURE, last_failure, snapshots_dir, store_size};
use longhaul_store::{Health, SCHEMA, Schema};

use super::facts::{Database, Facts};
use super::{Finding, NAMED, Peer, ago, few, sessions};
use crate::current_state::InstallPaths;

/// Checks that the data folder can be written to.
pub(super) fn storage(facts: &Facts) -> Vec<Finding> {
    let found = facts.storage.map(|trouble| {
        let what = format!("nothing can be stored: {}", trouble.describe(facts.paths.data.dir()));
        Finding::broken("storage", what, trouble.advice())
    });
    found.into_iter().collect()
}

/// Checks the database.
pub(super) fn database(facts: &Facts) -> Vec<Finding> {
    let check = "database";
    let file = facts.paths.data.database();
    let mut found = match &facts.database {
        Database::Missing => vec![Finding::note(check, "nothing is stored yet")],
        Database::Found { health: Health::Unreadable(why), .. } => unreadable_database(facts, why),
        Database::Found { health: Health::Damaged(problems), .. } => {
            let what = format!("{} is damaged: {}", file.display(), few(problems.iter().cloned()));
            vec![Finding::broken(
                check,
                what,
                "the next session renames it and creates a new one; or restore a backup of your own",
            )]
        }
        Database::Found { schema: Some(Schema::Unreleased), .. } => {
            let what = format!("{} was written by a version before the first release", file.display());
            let fix =
                "start a session, which renames it and begins a new one; then `longhaul memory import` fills that";
            vec![Finding::warning(check, what, fix)]
        }
        Database::Found { schema: Some(Schema::Newer(schema)), .. } => {
            let what = format!("written by a newer version: schema {schema}, this version knows {SCHEMA}");
            vec![Finding::broken(check, what, "install the newer version again; nothing is lost")]
        }
        Database::Found { index: Some(index), .. } if !index.is_complete() => {
            let what = format!(
                "no damage; {} % of the search index is built: until it is complete, a search does not find everything",
                index.percent()
            );
            vec![Finding::warning(check, what, "run `longhaul memory upkeep`; every new session also continues it")]
        }
        Database::Found { schema, .. } => {
            let schema = if let Some(Schema::Known(schema)) = schema { *schema } else { 0 };
            let until = if schema < SCHEMA { ", updated by the next session" } else { "" };
            vec![Finding::ok(check, format!("no damage, schema {schema}{until}"))]
        }
    };
    for SetAside { path, report, .. } in &facts.damaged {
        let path = path.display();
        found.push(match report {
            Some(report) => {
                let what = format!("damaged, and renamed: {report}");
                Finding::warning(check, what, format!("delete {path} and what is named after it if you do not need it"))
            }
            None => {
                let what = format!("damaged, and renamed to {path}: what can be read of it is not salvaged yet");
                Finding::warning(check, what, format!("run `longhaul memory salvage {path}`"))
            }
        });
    }
    if !facts.unreleased.is_empty() {
        let what =
            format!("databases from before the first release were renamed: {}", few(facts.unreleased.iter().cloned()));
        let dir = facts.paths.data.dir().display();
        let fix = format!("`longhaul memory import` fills the new one from the transcripts; then delete them in {dir}");
        found.push(Finding::warning(check, what, fix));
    }
    found
}

/// Reports a database that cannot be read, which does not mean that it is damaged.
fn unreadable_database(facts: &Facts, why: &str) -> Vec<Finding> {
    let check = "database";
    let file = facts.paths.data.database();
    match facts.storage {
        Some(_) => vec![Finding::note(check, format!("{} cannot be checked: {why}", file.display()))],
        None => {
            let what = format!("{} cannot be read: {why}", file.display());
            vec![Finding::broken(check, what, "make the file and its folder readable and writable for your user")]
        }
    }
}

/// Checks that other users can read nothing in the data folder.
pub(super) fn permissions(facts: &Facts) -> Vec<Finding> {
    let check = "permissions";
    let dir = facts.paths.data.dir();
    if facts.open_to_others.is_empty() {
        return vec![Finding::ok(check, format!("only you can read {}", dir.display()))];
    }
    let what = format!(
        "other users can read or write {}",
        few(facts.open_to_others.iter().map(|path| path.display().to_string()))
    );
    vec![Finding::warning(check, what, format!("run `chmod -R go= {}`", dir.display()))]
}

/// Reports transcripts that are missing.
pub(super) fn transcripts(facts: &Facts) -> Vec<Finding> {
    let stale = facts.stale.iter().take(NAMED);
    stale.map(|(session, path)| sessions::missing(session, path.display().to_string(), true)).collect()
}

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

/// A folder of Longhaul's, and what it takes on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// What is in it.
    pub what: &'static str,
    /// The folder.
    pub folder: PathBuf,
    /// The size in bytes.
    pub bytes: u64,
}

impl Space {
    /// Returns the folders that exist. A file with several links is counted once.
    pub(super) fn collect(paths: &InstallPaths) -> Vec<Self> {
        let folders = [
            ("installed versions", paths.lib.clone()),
            ("copies of Claude Code", paths.cache()),
            ("clone of the marketplace", paths.client_dir.join("plugins/marketplaces").join(crate::MARKETPLACE)),
            ("snapshots", snapshots_dir(&paths.data)),
            ("other data", paths.data.dir().to_owned()),
        ];
        let mut counted = HashSet::new();
        let sizes = folders.map(|(what, folder)| Self { what, bytes: size(&folder, &mut counted), folder });
        sizes.into_iter().filter(|one| one.folder.exists()).collect()
    }
}

/// Returns what a folder takes on the disk, without the files that were counted already.
fn size(folder: &Path, counted: &mut HashSet<(u64, u64)>) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path(), counted),
        Ok(metadata) if counted.insert((metadata.dev(), metadata.ino())) => metadata.blocks() * 512,
        Ok(_) | Err(_) => 0,
    });
    sizes.sum()
}

/// Reports how much space Longhaul takes, and where.
pub(super) fn space(facts: &Facts) -> Vec<Finding> {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let all: u64 = facts.space.iter().map(|one| one.bytes).sum();
    let parts = facts.space.iter().map(|one| {
        let (size, what) = (megabytes(one.bytes), one.what);
        format!("{size} {what} ({})", one.folder.display())
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    vec![Finding::ok("space", format!("Longhaul takes {}: {parts}", megabytes(all)))]
}

/// Checks the snapshots.
pub(super) fn snapshots(facts: &Facts) -> Vec<Finding> {
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

/// Checks the settings.
pub(super) fn config(facts: &Facts) -> Vec<Finding> {
    let check = "config";
    match &facts.config {
        Err(why) => {
            let what = format!("nothing is recorded and nothing is typed: {why}");
            vec![Finding::broken(check, what, "correct the file, make it readable, or remove it")]
        }
        Ok(warnings) if warnings.is_empty() => vec![Finding::ok(check, "no problems")],
        Ok(warnings) => {
            let fix = "correct the value; `longhaul config schema` lists the allowed values";
            let finding = |warning: &Warning| Finding::warning(check, warning.to_string(), fix);
            warnings.iter().map(finding).collect()
        }
    }
}

/// Reports other programs that do the same jobs.
pub(super) fn peers(facts: &Facts) -> Vec<Finding> {
    let conflict = |peer: &Peer| {
        let what = format!("{} does the same as Longhaul's {}: {}", peer.name, peer.job, peer.place);
        Finding::warning("conflicts", what, format!("{}; or set {}.enabled to false", peer.fix, peer.job))
    };
    facts.peers.iter().map(conflict).collect()
}
