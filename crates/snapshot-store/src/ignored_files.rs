//! Which files the ignore rules match, those of now and those of a snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use longhaul_runtime::files;
use longhaul_runtime::git::PrivateGit;
use longhaul_snapshot::{Refusal, RestorePlan, ancestors, decoded_path};

use crate::Error;
use crate::git_output::{listed_files, listed_paths};
use crate::metadata::Metadata;
use crate::place::Place;
use crate::rules::holds_rules;
use crate::temporary_folder::TemporaryFolder;
use crate::tracked::Tracked;

/// Returns which of `paths` the ignore rules match. No folder above them may be a link.
pub(crate) fn ignored_of(git: &PrivateGit, paths: &[&[u8]]) -> Result<BTreeSet<Vec<u8>>, Error> {
    if paths.is_empty() {
        return Ok(BTreeSet::new());
    }
    // Otherwise a name that begins with a colon would be a pattern.
    let input: Vec<u8> = paths.iter().flat_map(|path| [&b"./"[..], *path, b"\0"]).flatten().copied().collect();
    let ignored = git.run_or_no(&["check-ignore", "-z", "--stdin", "--no-index"], &[], &input)?;
    let plain = |path: &[u8]| path.strip_prefix(b"./").unwrap_or(path).to_vec();
    Ok(listed_paths(&ignored).into_iter().map(plain).collect())
}

/// Returns which of `deleted` the ignore rules of the target match: such a file may have existed then. `then` knows the rules
/// of then that are not among the files of the target.
pub(crate) fn ignored_then(
    place: &Place,
    git: &PrivateGit,
    target: &str,
    then: &Metadata,
    deleted: &[&[u8]],
) -> Result<Vec<Vec<u8>>, Error> {
    if deleted.is_empty() {
        return Ok(Vec::new());
    }
    let above: BTreeSet<&[u8]> = deleted.iter().flat_map(|path| ancestors(path)).chain([&b""[..]]).collect();
    let is_above = |path: &[u8]| {
        let folder = path.strip_suffix(b".gitignore").map(|folder| folder.strip_suffix(b"/").unwrap_or(folder));
        holds_rules(path) && folder.is_some_and(|folder| above.contains(folder))
    };
    let hidden = then.hidden_rules.iter().map(|(path, text)| (decoded_path(path), decoded_path(text)));
    let mut texts: BTreeMap<Vec<u8>, Vec<u8>> = hidden.filter(|(path, _)| is_above(path)).collect();
    // All files are listed: no other way to ask for one takes every name.
    let (mut rules, mut ids) = (Vec::new(), Vec::new());
    for (path, _, id) in listed_files(&git.run(&["ls-tree", "-r", "-z", target], b"")?) {
        if is_above(path) {
            rules.push(path.to_owned());
            ids.push(id.to_owned());
        }
    }
    git.contents(&ids, |at, _, content| {
        let mut text = Vec::new();
        let read = content.read_to_end(&mut text);
        let path = place.tree.top.join(OsStr::from_bytes(&rules[at]));
        read.map_err(|source| longhaul_runtime::Error::Read { path, source })?;
        texts.insert(rules[at].clone(), text);
        Ok(())
    })?;
    // The rules of the top come after those outside of the work tree, so that they count more.
    let top = texts.entry(b".gitignore".to_vec()).or_default();
    top.splice(..0, then.rules.as_deref().map(decoded_path).unwrap_or_default().into_iter().chain([b'\n']));
    let folder = TemporaryFolder::for_rules(&place.dir)?;
    for (path, text) in &texts {
        files::replace(&folder.path().join(OsStr::from_bytes(path)), text)?;
    }
    let git = PrivateGit { work_tree: folder.path().to_owned(), ..git.clone() };
    let ignored = ignored_of(&git, deleted)?;
    Ok(ignored.into_iter().collect())
}

/// Refuses to touch files that are ignored now, unless git tracks them.
pub(crate) fn refuse_ignored(place: &Place, git: &PrivateGit, plan: &mut RestorePlan) -> Result<(), Error> {
    let existing: Vec<&[u8]> =
        plan.steps.iter().filter(|step| step.before.is_some()).map(|step| step.path.as_slice()).collect();
    let mut ignored = ignored_of(git, &existing)?;
    if ignored.is_empty() {
        return Ok(());
    }
    let tracked = Tracked::read(place, git).unwrap_or_default();
    ignored.retain(|path| !tracked.ignored.contains(path));
    plan.refused.extend(ignored.iter().map(|path| (path.clone(), Refusal::NotInSnapshot)));
    plan.refused.sort();
    // What would take the place of a file that stays cannot be created either.
    let is_blocked = |path: &[u8]| ancestors(path).find(|folder| ignored.contains(*folder)).is_some();
    let blocked: Vec<Vec<u8>> =
        plan.steps.iter().map(|step| step.path.clone()).filter(|path| is_blocked(path)).collect();
    plan.refused.extend(blocked.iter().map(|path| (path.clone(), Refusal::Blocked)));
    plan.steps.retain(|step| !ignored.contains(&step.path) && !blocked.contains(&step.path));
    Ok(())
}
