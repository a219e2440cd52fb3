//! Which files the ignore rules match, those of now and those of a snapshot.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use longhaul_runtime::files;
use longhaul_runtime::git::PrivateGit;
use longhaul_snapshot::{Refusal, RestorePlan, ancestors, decoded_path};

use crate::Error;
use crate::git_output::listed_paths;
use crate::place::Place;
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

/// Returns which of `deleted` the ignore rules of the target match: such a file may have existed then. `further` are the rules
/// of then that are not in the work tree.
pub(crate) fn ignored_then(
    place: &Place,
    git: &PrivateGit,
    target: &str,
    further: Option<&str>,
    deleted: &[&[u8]],
) -> Result<Vec<Vec<u8>>, Error> {
    if deleted.is_empty() {
        return Ok(Vec::new());
    }
    let folders: BTreeSet<&[u8]> = deleted
        .iter()
        .flat_map(|path| ancestors(path))
        .chain([&b""[..]])
        .filter(|path| !path.contains(&b'\n'))
        .collect();
    let rules: Vec<Vec<u8>> = folders
        .into_iter()
        .map(|folder| if folder.is_empty() { b".gitignore".to_vec() } else { [folder, b"/.gitignore"].concat() })
        .collect();
    let names: Vec<u8> =
        rules.iter().flat_map(|path| [target.as_bytes(), b":", path, b"\n"]).flatten().copied().collect();
    let found = git.run(&["cat-file", "--batch-check=%(objecttype) %(objectname)"], &names)?;
    let found = String::from_utf8_lossy(&found);
    let found = rules.iter().zip(found.lines()).filter_map(|(path, line)| Some((path, line.strip_prefix("blob ")?)));
    let (rules, ids): (Vec<&Vec<u8>>, Vec<String>) = found.map(|(path, id)| (path, id.to_owned())).unzip();
    let folder = TemporaryFolder::for_rules(&place.dir)?;
    // The rules of the top come after them, so that they count more.
    let mut top = further.map(decoded_path).unwrap_or_default();
    files::replace(&folder.path().join(".gitignore"), &top)?;
    git.contents(&ids, |at, _, content| {
        let mut text = Vec::new();
        let path = folder.path().join(OsStr::from_bytes(rules[at]));
        let read = content.read_to_end(&mut text);
        read.map_err(|source| longhaul_runtime::Error::Read { path: path.clone(), source })?;
        if rules[at] == b".gitignore" {
            top.push(b'\n');
            text.splice(..0, top.drain(..));
        }
        files::replace(&path, &text)
    })?;
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
