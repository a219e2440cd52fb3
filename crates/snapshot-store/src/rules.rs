//! The rules by which files are stored, and which stored files they no longer allow.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::{bounded_read, files};
use sha2::{Digest, Sha256};

use crate::folders::is_repository;
use crate::git_output::{Tracked, listed_files, listed_paths};
use crate::left_out::{Candidate, FileKind, Limits};
use crate::paths::{ancestors, decoded_path, encoded_path, names_git};
use crate::place::{self, Metadata, Place, TemporaryFolder};
use crate::restore_plan::{Refusal, RestorePlan};
use crate::{Error, Skip};

/// How long to wait for git, for finding out whether a folder is ignored.
const GIT_IGNORED_FOLDER: Duration = Duration::from_secs(5);

/// Returns the ignore rules that are not in the work tree, without comments, in the form in which they are stored.
pub(crate) fn outer_rules(place: &Place) -> String {
    let text = bounded_read::bytes(&place.dir.join("info/exclude"), bounded_read::LARGE).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    encoded_path(&lines.collect::<Vec<_>>().join(&b'\n'))
}

/// Files of ignore rules that are ignored themselves, such as one with `*` in a virtual environment: their paths and texts.
pub(crate) type HiddenRules = BTreeMap<String, String>;

/// The maximum number of such files, and of bytes in all of them.
const MAX_HIDDEN: (usize, usize) = (10_000, 1 << 20);

/// Returns the files of ignore rules that are ignored themselves. They are stored beside the files, because a restore must not
/// delete what they ignored when they are gone.
pub(crate) fn hidden_rules(git: &PrivateGit) -> Result<HiddenRules, Error> {
    // A folder that is ignored as a whole is listed as one, and not searched.
    let args = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    let listed = git.run(&args, b"")?;
    let mut rules = HiddenRules::new();
    let mut bytes = 0;
    for path in listed_paths(&listed).into_iter().filter(|path| holds_rules(path)).take(MAX_HIDDEN.0) {
        let full = git.work_tree.join(OsStr::from_bytes(path));
        // git reads no rules through a link.
        if !full.symlink_metadata().is_ok_and(|found| found.is_file()) {
            continue;
        }
        let text =
            bounded_read::bytes(&full, bounded_read::SMALL).ok().filter(|text| bytes + text.len() <= MAX_HIDDEN.1);
        bytes += text.as_ref().map_or(0, Vec::len);
        // Rules that are not known may ignore everything.
        rules.insert(encoded_path(path), encoded_path(text.as_deref().unwrap_or(b"*")));
    }
    Ok(rules)
}

/// Returns what identifies the rules that are not in the work tree: ignore rules, patterns, and which files git tracks.
pub(crate) fn identity(place: &Place, limits: &Limits, tracked: &Tracked) -> String {
    let mut hash = Sha256::new();
    hash.update(outer_rules(place));
    for pattern in &limits.exclude {
        hash.update([0]);
        hash.update(pattern);
    }
    for (name, paths) in [(b"s", &tracked.secret), (b"i", &tracked.ignored), (b"m", &tracked.submodules)] {
        for path in paths {
            hash.update([0]);
            hash.update(name);
            hash.update(path);
        }
    }
    hash.finalize().iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn holds_rules(path: &[u8]) -> bool {
    path == b".gitignore" || path.ends_with(b"/.gitignore")
}

/// The stored files that the rules do not allow any more.
#[derive(Debug, Default)]
pub(crate) struct NotAllowed {
    pub(crate) ignored: Vec<Vec<u8>>,
    /// Those that are left out for another reason.
    pub(crate) left_out: Vec<Vec<u8>>,
}

impl NotAllowed {
    /// Compares every stored file with the rules.
    pub(crate) fn find(git: &PrivateGit, limits: &Limits, tracked: &Tracked) -> Result<Self, Error> {
        let ignored = git.run(&["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"], b"")?;
        let ignored = listed_paths(&ignored).into_iter().filter(|path| !tracked.ignored.contains(*path));
        let ignored = ignored.map(<[u8]>::to_vec).collect();
        let stored = git.run(&["ls-files", "-z", "--cached"], b"")?;
        let is_left_out = |path: &&[u8]| {
            let mut candidate = Candidate::new(path, FileKind::File, 0);
            candidate.is_tracked = tracked.contains(path);
            limits.reason(&candidate).is_some()
        };
        let left_out = listed_paths(&stored).into_iter().filter(is_left_out).map(<[u8]>::to_vec).collect();
        Ok(Self { ignored, left_out })
    }
}

// The files of a work tree that git opens by itself: ignore rules and attributes.
//
// git opens them without a check. A pipe would block it until its time limit, and a device may have no end. Where one of them
// is not a file, there is no snapshot, and the list says why.

const NAMES: [&str; 2] = [".gitignore", ".gitattributes"];

/// Maximum size of such a file. git reads all of it into memory.
const MAX_BYTES: u64 = 100 << 20;

/// Maximum number of folders that are searched.
const MAX_FOLDERS: usize = 500_000;

/// Checks the files of rules at the top of a work tree, and in `folders`.
pub(crate) fn check<'p>(top: &Path, folders: impl IntoIterator<Item = &'p [u8]>) -> Result<(), Error> {
    std::iter::once(&b""[..]).chain(folders).try_for_each(|folder| check_folder(top, folder))
}

fn check_folder(top: &Path, folder: &[u8]) -> Result<(), Error> {
    let folder = top.join(OsStr::from_bytes(folder));
    let bad = NAMES.map(|name| folder.join(name)).into_iter().find(|path| is_bad(path));
    bad.map_or(Ok(()), |path| Err(Skip::RuleFile(path).into()))
}

/// Returns whether git should not open a path. An older git follows a link.
fn is_bad(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| if found.is_file() { found.len() > MAX_BYTES } else { !found.is_dir() })
}

/// Searches the whole work tree for files of rules that stop git. Used only if git takes suspiciously long: the folders of
/// files that are stored are checked before, and of a new folder only git knows whether it is ignored.
pub(crate) fn search(git: &PrivateGit) -> Result<(), Error> {
    let top = &git.work_tree;
    let mut waiting = VecDeque::from([Vec::new()]);
    let mut seen = 0;
    // A folder comes after those above it, so that git is asked only about folders above which it can read all rules.
    while let Some(folder) = waiting.pop_front() {
        seen += 1;
        if seen > MAX_FOLDERS || Instant::now() >= git.deadline {
            break;
        }
        if let Err(bad) = check_folder(top, &folder) {
            if !is_ignored(git, &folder) {
                return Err(bad);
            }
            // git does not enter it.
            continue;
        }
        waiting.extend(folders_in(top, &folder));
    }
    Ok(())
}

fn is_ignored(git: &PrivateGit, folder: &[u8]) -> bool {
    let soon = PrivateGit { deadline: git.deadline.min(Instant::now() + GIT_IGNORED_FOLDER), ..git.clone() };
    !folder.is_empty() && ignored_of(&soon, &[folder]).is_ok_and(|ignored| !ignored.is_empty())
}

/// Returns the folders in a folder, but no repositories.
fn folders_in(top: &Path, folder: &[u8]) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(top.join(OsStr::from_bytes(folder))).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let own = folders.filter(|entry| !names_git(entry.file_name().as_bytes()) && !is_repository(&entry.path()));
    let path = |name: &[u8]| if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() };
    own.map(|entry| path(entry.file_name().as_bytes())).collect()
}

// Which files the ignore rules match, those of now and those of a snapshot.

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
    let folder = TemporaryFolder::new(&place.dir, place::NAMES[0])?;
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
