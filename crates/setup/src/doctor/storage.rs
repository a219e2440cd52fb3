//! Checks of what is stored: the data folder, the database, permissions, snapshots, the configuration. What is wrong with the
//! folder or its disk is found in `runtime/src/storage.rs`.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use longhaul_runtime::git::{self, GitVersion};
use longhaul_runtime::memory::salvage::SetAside;
use longhaul_runtime::waiting_times::{self, DATABASE_FOR_DOCTOR};
use longhaul_snapshot_store::{UPKEEP_FAILURE, last_failure, snapshots_dir, store_size};
use longhaul_store::{Health, SCHEMA, Schema, health_of, index_progress_of, schema_of};

use super::{Facts, Report, ago, few};
use crate::current_state::names;

/// Checks that the data folder can be written to.
pub(super) fn storage(facts: &Facts<'_>, report: &mut Report) {
    if let Some(trouble) = facts.storage {
        let what = format!("nothing can be stored: {}", trouble.describe(facts.paths.data.dir()));
        report.broken(what, trouble.advice());
    }
}

/// Checks the database, and lists those that were renamed.
pub(super) fn database(facts: &Facts<'_>, report: &mut Report) {
    current_database(facts, report);
    for SetAside { path, report: salvaged, .. } in facts.paths.data.set_aside_databases() {
        let path = path.display();
        match salvaged {
            Some(salvaged) => report.warning(
                format!("damaged, and renamed: {salvaged}"),
                format!("delete {path} and what is named after it if you do not need it"),
            ),
            None => report.warning(
                format!("damaged, and renamed to {path}: what can be read of it is not salvaged yet"),
                format!("run `longhaul memory salvage {path}`"),
            ),
        }
    }
    let dir = facts.paths.data.dir();
    let is_unreleased =
        |name: &String| name.starts_with("longhaul.db.before-") && !name.ends_with("-wal") && !name.ends_with("-shm");
    let unreleased = few(names(dir).into_iter().filter(is_unreleased));
    if !unreleased.is_empty() {
        let dir = dir.display();
        report.warning(
            format!("databases from before the first release were renamed: {unreleased}"),
            format!("`longhaul memory import` fills the new one from the transcripts; then delete them in {dir}"),
        );
    }
}

fn current_database(facts: &Facts<'_>, report: &mut Report) {
    let path = facts.paths.data.database();
    if !path.exists() {
        return report.note("nothing is stored yet");
    }
    let file = path.display();
    match health_of(&path, DATABASE_FOR_DOCTOR) {
        // That does not mean that it is damaged.
        Health::Unreadable(why) if facts.storage.is_some() => {
            return report.note(format!("{file} cannot be checked: {why}"));
        }
        Health::Unreadable(why) => {
            let fix = "make the file and its folder readable and writable for your user";
            return report.broken(format!("{file} cannot be read: {why}"), fix);
        }
        Health::Damaged(problems) => {
            let fix = "the next session renames it and creates a new one; or restore a backup of your own";
            return report.broken(format!("{file} is damaged: {}", few(problems)), fix);
        }
        _ => {}
    }
    let schema = match schema_of(&path, DATABASE_FOR_DOCTOR) {
        Some(Schema::Unreleased) => {
            return report.warning(
                format!("{file} was written by a version before the first release"),
                "start a session, which renames it and begins a new one; then `longhaul memory import` fills that",
            );
        }
        Some(Schema::Newer(schema)) => {
            let what = format!("written by a newer version: schema {schema}, this version knows {SCHEMA}");
            return report.broken(what, "install the newer version again; nothing is lost");
        }
        Some(Schema::Known(schema)) => schema,
        None => 0,
    };
    if let Some(index) = index_progress_of(&path, DATABASE_FOR_DOCTOR).filter(|index| !index.is_complete()) {
        let what = format!(
            "no damage; {} % of the search index is built: until it is complete, a search does not find everything",
            index.percent()
        );
        return report.warning(what, "run `longhaul memory upkeep`; every new session also continues it");
    }
    let until = if schema < SCHEMA { ", updated by the next session" } else { "" };
    report.ok(format!("no damage, schema {schema}{until}"));
}

/// Checks that other users can read nothing in the data folder.
pub(super) fn permissions(facts: &Facts<'_>, report: &mut Report) {
    let dir = facts.paths.data.dir();
    let mut open = open_to_others(dir);
    open.sort();
    match few(open.iter().map(|path| path.display())).as_str() {
        "" => report.ok(format!("only you can read {}", dir.display())),
        open => {
            let fix = format!("run `chmod -R go= {}`", dir.display());
            report.warning(format!("other users can read or write {open}"), fix);
        }
    }
}

/// Returns `path` and everything below it that other users can read or write.
fn open_to_others(path: &Path) -> Vec<PathBuf> {
    let Some(metadata) = path.symlink_metadata().ok().filter(|metadata| !metadata.is_symlink()) else {
        return Vec::new();
    };
    let mut open = Vec::new();
    if metadata.permissions().mode() & 0o077 != 0 {
        open.push(path.to_owned());
    }
    if metadata.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        open.extend(entries.flat_map(|entry| open_to_others(&entry.path())));
    }
    open
}

/// Reports how much space Longhaul takes, and where. A file with several links is counted once.
pub(super) fn space(facts: &Facts<'_>, report: &mut Report) {
    let paths = &facts.paths;
    let folders = [
        ("installed versions", paths.lib.clone()),
        ("copies of Claude Code", paths.cache()),
        ("clone of the marketplace", paths.client_dir.join("plugins/marketplaces").join(crate::MARKETPLACE)),
        ("snapshots", snapshots_dir(&paths.data)),
        ("other data", paths.data.dir().to_owned()),
    ];
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let (mut counted, mut all, mut parts) = (HashSet::new(), 0, Vec::new());
    for (what, folder) in folders.iter().filter(|(_, folder)| folder.exists()) {
        let bytes = size(folder, &mut counted);
        all += bytes;
        parts.push(format!("{} {what} ({})", megabytes(bytes), folder.display()));
    }
    report.ok(format!("Longhaul takes {}: {}", megabytes(all), parts.join(", ")));
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

/// By how much the store may exceed its cap until upkeep runs.
const SLACK: u64 = 5;

/// With less free space than this, a snapshot may fail.
const LEAST_FREE: u64 = 16 << 20;

/// Checks the snapshots.
pub(super) fn snapshots(facts: &Facts<'_>, report: &mut Report) {
    let Some(settings) = facts.config().map(|config| &config.snapshots).filter(|settings| settings.enabled) else {
        return;
    };
    let oldest = GitVersion::OLDEST;
    match git::version(waiting_times::GIT_VERSION) {
        Err(error) => {
            let fix = "install git, or set snapshots.enabled to false";
            return report.warning(format!("no snapshots of files: {}", error.chain()), fix);
        }
        Ok(version) if version < oldest => {
            let (GitVersion { major, minor }, GitVersion { major: least, minor: than }) = (version, oldest);
            let what = format!("no snapshots of files: version {major}.{minor} of git is older than {least}.{than}");
            return report.warning(what, "install a newer git, or set snapshots.enabled to false");
        }
        Ok(_) => {}
    }
    let home = &facts.paths.data;
    // The folder need not exist yet. A process that has no space left cannot record that.
    let disk = home.dir().ancestors().find_map(|dir| rustix::fs::statvfs(dir).ok());
    let free = disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    if let Some(free) = free.filter(|free| *free < LEAST_FREE) {
        let what = format!("only {} kB are free where snapshots are stored: one may fail", free / 1000);
        return report.warning(what, "free some space on the file system of LONGHAUL_HOME");
    }
    if let Some((at, why)) = last_failure(home) {
        let ago = ago(facts.now, at.0);
        let what = if why.starts_with(UPKEEP_FAILURE) {
            format!("{ago}, {why}")
        } else {
            format!("the last snapshot failed, {ago}: {why}")
        };
        return report.warning(what, "see longhaul.log; the next prompt tries again");
    }
    let (bytes, most) = (store_size(home).bytes, settings.max_store.0);
    if bytes > most.saturating_add(most / SLACK) {
        let what = format!("the store has {bytes} bytes, more than snapshots.max_store");
        return report.warning(what, "`longhaul memory upkeep` drops the oldest snapshots");
    }
    report.ok(format!("taken with git; they use {} MB", bytes / 1_000_000));
}

/// Checks the settings.
pub(super) fn config(facts: &Facts<'_>, report: &mut Report) {
    match &facts.config {
        Err(why) => report.broken(
            format!("nothing is recorded and nothing is typed: {why}"),
            "correct the file, make it readable, or remove it",
        ),
        Ok((_, warnings)) if warnings.is_empty() => report.ok("no problems"),
        Ok((_, warnings)) => {
            let fix = "correct the value; `longhaul config schema` lists the allowed values";
            warnings.iter().for_each(|warning| report.warning(warning.to_string(), fix));
        }
    }
}
