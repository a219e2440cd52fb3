//! Packs the objects that snapshots need, and deletes all others. Objects that the repository has pruned do not matter.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

use longhaul_runtime::files;
use longhaul_runtime::git::PrivateGit;

use crate::Error;
use crate::place::{folders, remove};

/// Returns the objects that can be reached from some commits or trees, as far as they exist.
pub(crate) fn reachable(git: &PrivateGit, tips: &BTreeSet<String>) -> Result<Vec<String>, Error> {
    // A tip that does not exist would be an error.
    let tips = existing(git, &tips.iter().cloned().collect::<Vec<_>>())?;
    if tips.is_empty() {
        return Ok(Vec::new());
    }
    let args = ["rev-list", "--objects", "--missing=print", "--no-object-names", "--stdin"];
    let listed = git.run(&args, lines(&tips).as_bytes())?;
    let listed = String::from_utf8_lossy(&listed);
    Ok(listed.lines().filter(|line| !line.starts_with('?')).map(str::to_owned).collect())
}

/// Returns which of some objects exist.
fn existing(git: &PrivateGit, ids: &[String]) -> Result<Vec<String>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = git.run(&["cat-file", "--batch-check=%(objectname)"], lines(ids).as_bytes())?;
    let found = String::from_utf8_lossy(&found);
    Ok(found.lines().filter(|line| !line.ends_with(" missing")).map(str::to_owned).collect())
}

fn lines(ids: &[String]) -> String {
    ids.iter().map(|id| format!("{id}\n")).collect()
}

/// Writes a pack of some objects; returns its name without the extension, or `None` if there is none to write.
pub(crate) fn pack(git: &PrivateGit, ids: &[String], options: &[&str]) -> Result<Option<String>, Error> {
    let packs = git.objects.join("pack");
    files::create_dir(&packs)?;
    let base = packs.join("pack").to_string_lossy().into_owned();
    let args = [&["pack-objects", "-q", "--non-empty"], options, &[base.as_str()]].concat();
    let hash = git.run(&args, lines(ids).as_bytes())?;
    let hash = String::from_utf8_lossy(&hash).trim().to_owned();
    Ok((!hash.is_empty()).then(|| format!("pack-{hash}")))
}

/// Packs all objects that are in files of their own. Nothing is followed, so that it does not matter what is missing.
pub(crate) fn pack_loose(git: &PrivateGit) -> Result<(), Error> {
    let mut ids = Vec::new();
    for folder in folders(&git.objects) {
        let first = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| format!("{first}{}", entry.file_name().to_string_lossy()));
        ids.extend(names.filter(|id| matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    }
    let own = PrivateGit { borrowed: None, ..git.clone() };
    pack(&own, &ids, &["--incremental"])?;
    own.run(&["prune-packed", "-q"], b"")?;
    Ok(())
}

/// Packs the objects of `tips`, and deletes those that are older than `began` and that no tip needs.
///
/// Younger ones may belong to a snapshot that is being taken.
pub(crate) fn keep_only(git: &PrivateGit, tips: &BTreeSet<String>, began: SystemTime) -> Result<(), Error> {
    // git would not pack an object that the repository has, too, and the copy of our own would be deleted.
    let own = PrivateGit { borrowed: None, ..git.clone() };
    let new = pack(&own, &existing(&own, &reachable(git, tips)?)?, &["--honor-pack-keep"])?;
    let is_old = |path: &Path| path.symlink_metadata().and_then(|found| found.modified()).is_ok_and(|at| at < began);
    for folder in folders(&git.objects) {
        let is_packs = folder.ends_with("pack");
        if folder.ends_with("info") {
            continue;
        }
        for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let is_needed = is_packs && (is_kept_pack(&path) || is_new_pack(&path, new.as_deref()));
            // All files of a pack are as young as the pack itself.
            let decisive = if is_packs { path.with_extension("pack") } else { path.clone() };
            if !is_needed && (is_old(&decisive) || !decisive.exists()) {
                remove(&path)?;
            }
        }
    }
    Ok(())
}

fn is_kept_pack(path: &Path) -> bool {
    path.with_extension("keep").exists()
}

fn is_new_pack(path: &Path, new: Option<&str>) -> bool {
    new.is_some() && path.file_stem().and_then(|stem| stem.to_str()) == new
}
