//! The rules by which files are stored, and which stored files they no longer allow.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use longhaul_runtime::bounded_read;
use longhaul_runtime::git::PrivateGit;
use longhaul_snapshot::{Candidate, FileKind, Limits, encoded_path};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::git_output::listed_paths;
use crate::place::Place;
use crate::tracked::Tracked;

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

/// Returns whether a file holds ignore rules.
pub(crate) fn holds_rules(path: &[u8]) -> bool {
    path == b".gitignore" || path.ends_with(b"/.gitignore")
}

/// The stored files that the rules do not allow any more.
#[derive(Debug, Default)]
pub(crate) struct NotAllowed {
    /// Those that are ignored.
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
