//! `longhaul blame`: which prompt, command or person each line of a file comes from. Reads the versions of the file from the
//! snapshots and what the memory knows of the calls between them; `decision.rs` decides.
//!
//! The versions are found by one git process that compares all trees, and read by a second one. The origins up to a version
//! are stored as a line map, from which the next question continues, and which outlives the snapshots.

mod calls;
mod decision;
mod explanation;
mod line_maps;
mod turns;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use longhaul_core::Env;
use longhaul_runtime::git::{self, PrivateGit};
use longhaul_runtime::{Home, bounded_read};
use longhaul_store::{LineMap, Snapshot, Store};

use self::calls::EditCall;
use self::decision::{Attribution, Bare, Turn, compare, line, lines_of};
use self::turns::{Activity, Turns};
use crate::Error;
use crate::git_output::is_id;
use crate::paths::{encoded_path, names_git};
use crate::place::{LOCK_PATIENCE, Place};

pub use self::decision::{Origin, OriginKind};
pub use self::explanation::{Explanation, Told};

/// Maximum size of a file whose lines are shown.
const MAX_FILE: u64 = 32 << 20;

/// The most time that git may take.
const GIT: Duration = Duration::from_secs(60);

/// How many new versions are worth a stored line map.
const WORTH_STORING: usize = 8;

/// How often the file is followed to an earlier name.
const MAX_RENAMES: usize = 8;

/// The longest time between a call and the commit of its text, for lines that no snapshot shows.
const COMMITTED_WITHIN_MS: u64 = 30 * 86_400_000;

/// Bytes at the beginning of a file among which a zero means that it is not text.
const BINARY_CHECK: usize = 8_000;

/// The lines of a file with their origins.
#[derive(Debug, Clone)]
pub struct Blame {
    /// The path in the work tree.
    pub path: Vec<u8>,
    /// The lines, without their line feeds.
    pub lines: Vec<BlamedLine>,
    /// The origins, each once.
    pub origins: Vec<Origin>,
}

/// A line with its origin.
#[derive(Debug, Clone)]
pub struct BlamedLine {
    /// The line.
    pub text: Vec<u8>,
    /// The number of its origin.
    pub origin: usize,
    /// What stood there before it was changed, and the number of the origin of that, as far as snapshots show it.
    pub before: Option<(Vec<u8>, usize)>,
}

/// How much is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The origins.
    Origins,
    /// Also what each line was before, for which every stored version is read.
    WithBefore,
}

/// What a question about a file needs.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The environment.
    pub env: &'a Env,
    /// The data folder.
    pub home: &'a Home,
    /// The database.
    pub store: &'a Store,
    /// The work tree.
    pub place: &'a Place,
    /// The path of the file in it.
    pub path: &'a [u8],
    /// How much is found out.
    pub depth: Depth,
}

/// Returns the lines of a file with their origins.
pub fn blame(asked: &Question<'_>) -> Result<Blame, Error> {
    let Question { store, place, path, .. } = asked;
    if names_git(path) {
        return Err(Error::Unknown(path.to_vec()));
    }
    let text = read_file(place, path)?;
    let git = reading_git(asked.env, place)?;
    let snapshots = store.snapshots_of_tree(&place.key, 0)?;
    let turns = Turns::read(asked.env, asked.home, store, place, &snapshots)?;
    let activity = Activity::of_file(&turns, store, place, path)?;
    let mut history = History::new(asked, &git, &snapshots, &activity, snapshots.len());
    let (mut known, mut versions) = history.attribute(&text)?;
    if history.map_at > 0 && brings_lines(&known, history.map_at) {
        // A checkout may have brought back what only the versions before the stored line map show.
        history = History { uses_map: false, ..History::new(asked, &git, &snapshots, &activity, snapshots.len()) };
        (known, versions) = history.attribute(&text)?;
    }
    if asked.depth == Depth::Origins && versions >= WORTH_STORING {
        // A question is answered also if its answer cannot be stored.
        let _ = history.store_map(path);
    }
    let mut found = history.finish(known, text);
    let begins_at = (!snapshots.is_empty() || history.map_at > 0).then_some(history.begins_at);
    let ahead = history.ahead.take();
    resolve_commits(asked, &git, &activity, begins_at, ahead, &mut found);
    Ok(found)
}

/// Returns git for reading objects of the repository and of the snapshots. It sees no file of the work tree: attributes or a mail map
/// there could be a pipe that git would wait for.
pub fn reading_git(env: &Env, place: &Place) -> Result<PrivateGit, Error> {
    if !place.dir.join("HEAD").is_file() {
        // No snapshot was taken yet.
        let _lock = place.lock(LOCK_PATIENCE)?;
        place.set_up(env)?;
    }
    Ok(PrivateGit { work_tree: place.dir.clone(), ..place.git(Instant::now() + GIT) })
}

/// Stores the line maps of the files that snapshots have changed, before these snapshots are dropped; `dropped` are their numbers.
/// Stops at `deadline`: the files that were changed last come first.
pub(crate) fn keep_line_maps(
    env: &Env,
    home: &Home,
    store: &Store,
    place: &Place,
    dropped: &HashSet<i64>,
    deadline: Instant,
) -> Result<usize, Error> {
    let snapshots = store.snapshots_of_tree(&place.key, 0)?;
    let Some(last) = snapshots.iter().rposition(|snapshot| dropped.contains(&snapshot.id)) else { return Ok(0) };
    let git = PrivateGit { work_tree: place.dir.clone(), ..place.git(deadline) };
    // Up to the first one that stays: what lies before it is known only now.
    let end = (last + 2).min(snapshots.len());
    let trees: Vec<&str> = snapshots[..end].iter().filter_map(|snapshot| snapshot.tree.as_deref()).collect();
    let mut paths: Vec<Vec<u8>> = Vec::new();
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    for pair in trees.windows(2).rev().filter(|pair| pair[0] != pair[1]) {
        for change in crate::compare::changes(&git, pair[0], pair[1])? {
            if known.insert(change.path.clone()) {
                paths.push(change.path);
            }
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    let turns = Turns::read(env, home, store, place, &snapshots)?;
    let mut stored = 0;
    for path in paths {
        if Instant::now() >= deadline {
            break;
        }
        let asked = Question { env, home, store, place, path: &path, depth: Depth::Origins };
        let activity = Activity::of_file(&turns, store, place, &path)?;
        let mut history = History::new(&asked, &git, &snapshots, &activity, end);
        // A file that is no text, or has gone from the store, has no map.
        if let Ok((Some(_), _)) = history.walk(&path, end, 0, None) {
            stored += usize::from(history.store_map(&path)?);
        }
    }
    Ok(stored)
}

/// Returns whether a line came with a checkout or a merge after a time.
fn brings_lines(known: &Attribution, after: u64) -> bool {
    let is_new = |origin: &Origin| origin.kind == OriginKind::Outside && origin.commit.is_some() && origin.at > after;
    known.origins.iter().any(|id| is_new(known.origin(*id)))
}

/// Returns the present text of the file.
fn read_file(place: &Place, path: &[u8]) -> Result<Vec<u8>, Error> {
    let full = place.tree.top.join(OsStr::from_bytes(path));
    let read = |source| longhaul_runtime::Error::Read { path: full.clone(), source };
    // The folders of the path may be links that lead elsewhere.
    let folder = full.parent().unwrap_or(&full).canonicalize().map_err(read)?;
    if !folder.starts_with(&place.tree.top) {
        return Err(Error::Unknown(path.to_vec()));
    }
    // A link of the repository may lead to a file that snapshots leave out, such as one with secrets.
    if full.symlink_metadata().map_err(read)?.is_symlink() {
        return Err(Error::Unknown(path.to_vec()));
    }
    let text = bounded_read::bytes(&full, MAX_FILE).map_err(read)?;
    if is_binary(&text) { Err(Error::Binary(path.to_vec())) } else { Ok(text) }
}

/// Returns when the file was last changed, in milliseconds since the epoch.
fn modified_ms(place: &Place, path: &[u8]) -> u64 {
    let found = std::fs::metadata(place.tree.top.join(OsStr::from_bytes(path))).and_then(|found| found.modified());
    let since = found.ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_millis() as u64)
}

/// Returns whether the commit that is checked out has the file.
fn is_tracked(place: &Place, git: &PrivateGit, path: &[u8]) -> bool {
    git::commit(&place.tree.top).is_some_and(|head| text_of_commit(git, &head, path).is_ok())
}

fn is_binary(text: &[u8]) -> bool {
    text[..text.len().min(BINARY_CHECK)].contains(&0)
}

/// The versions of a file in the snapshots.
struct History<'a> {
    asked: &'a Question<'a>,
    git: &'a PrivateGit,
    snapshots: &'a [Snapshot],
    activity: &'a Activity<'a>,
    /// Lines that are no longer in the file, by their hashes.
    texts: HashMap<u64, Vec<u8>>,
    /// The calls that a version has shown before their time.
    consumed: HashSet<String>,
    /// Whether a stored line map is used, even if snapshots from before it are there.
    uses_map: bool,
    /// The time up to which it goes.
    map_at: u64,
    /// The time at which the files of the first snapshot that is behind the origins were read.
    begins_at: u64,
    /// The time from which on versions could not be read.
    unread_from: Option<u64>,
    /// The snapshot of the first version before the next one that breaks off.
    left_out: Option<usize>,
    /// The content of the last version.
    last_blob: String,
    /// Git's own blame of the file, begun while the versions are read.
    ahead: Option<CommitBlame>,
    /// How many snapshots a new line map may cover, and its content.
    settled_at: usize,
    settled: Option<((Vec<u8>, String), String)>,
}

/// A version of the file: the snapshot that shows it first, and its content there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    snapshot: usize,
    /// `None` where there is no file.
    blob: Option<String>,
}

impl<'a> History<'a> {
    /// Looks at the first `end` snapshots.
    fn new(
        asked: &'a Question<'a>,
        git: &'a PrivateGit,
        snapshots: &'a [Snapshot],
        activity: &'a Activity<'a>,
        end: usize,
    ) -> Self {
        Self {
            asked,
            git,
            snapshots,
            activity,
            texts: HashMap::new(),
            consumed: HashSet::new(),
            uses_map: asked.depth == Depth::Origins,
            map_at: 0,
            begins_at: snapshots.first().map_or(0, |first| first.created_at + first.took_ms.unwrap_or_default()),
            unread_from: None,
            left_out: None,
            last_blob: String::new(),
            ahead: None,
            settled_at: activity.settled(snapshots).min(end),
            settled: None,
        }
    }

    /// Follows the file through all snapshots up to its present text. Returns also how many versions were read.
    fn attribute(&mut self, text: &[u8]) -> Result<(Attribution, usize), Error> {
        let Question { place, path, env, .. } = *self.asked;
        let (known, versions) = self.walk(path, self.snapshots.len(), 0, Some(text))?;
        // All snapshots may be gone, and only a line map be left.
        let last = self.snapshots.last();
        if last.is_none() && known.is_none() {
            return Ok((Attribution::new(text.to_vec(), Origin::of(OriginKind::Commit)), 0));
        }
        let last_at = last.map_or(self.map_at, |last| last.created_at);
        let mut known = match known {
            Some(known) => known,
            // A file that is new since the last snapshot.
            None if modified_ms(place, path) > last_at => Attribution::new(Vec::new(), Origin::of(OriginKind::Unknown)),
            // Snapshots leave it out.
            None if !is_tracked(place, self.git, path) => {
                Attribution::new(text.to_vec(), Origin::of(OriginKind::Unknown))
            }
            None => Attribution::new(text.to_vec(), Origin::of(OriginKind::Commit)),
        };
        self.keep_texts(&known, text);
        let head = git::commit(&place.tree.top);
        let head = head.as_deref().filter(|head| last.is_none_or(|last| last.head.as_deref() != Some(head)));
        // What changed in versions that could not be read may come from everything since.
        let from = self.unread_from.unwrap_or(last_at);
        let mut change = self.activity.change(from, env.now.0.max(last_at), 0, head);
        change.calls.retain(|(call, _)| !self.consumed.contains(&call.id));
        let id = self.git.run(&["hash-object", "--stdin", "--no-filters"], text).ok();
        let id = id.and_then(|id| id_of(&String::from_utf8_lossy(&id)));
        known.advance(text.to_vec(), id, &change);
        Ok((known, versions))
    }

    /// Follows the file through the snapshots before `end`. Returns its lines with their origins, and how many versions were read;
    /// `None` if no snapshot has the file. `present` is the text behind the last snapshot.
    fn walk(
        &mut self,
        path: &[u8],
        end: usize,
        depth: usize,
        present: Option<&[u8]>,
    ) -> Result<(Option<Attribution>, usize), Error> {
        let map = self.asked.store.line_map(&self.asked.place.key, &encoded_path(path))?;
        // Only the versions themselves say what a line was before. Those that are gone are only in the map.
        let oldest = self.snapshots.first().map_or(u64::MAX, |snapshot| snapshot.created_at);
        let map = map.filter(|map| self.uses_map || map.begins_at < oldest);
        let map = map.and_then(|map| Some((line_maps::from_bytes(&map.lines, &map.origins)?, map)));
        let first = map
            .as_ref()
            .map_or(0, |(_, map)| self.snapshots.partition_point(|snapshot| snapshot.created_at <= map.snapshot_at));
        let first = first.min(end);
        let mut versions = self.versions(path, first, end)?;
        let mut known: Option<Attribution> = None;
        let mut was = String::new();
        if let Some((mut stored, map)) = map {
            let blob = Some(map.blob.clone()).filter(|blob| !blob.is_empty());
            // Compared with a tree that is gone, the first version may be the stored one.
            if versions.first().is_some_and(|version| version.blob == blob) {
                versions.remove(0);
            }
            if let Some(text) = blob.as_ref().filter(|blob| is_id(blob)).and_then(|blob| self.text_of(blob)) {
                stored.know_text(text);
            }
            if let Some(id) = blob.as_deref().and_then(id_of) {
                stored.remember(id);
            }
            self.map_at = map.snapshot_at;
            self.begins_at = map.begins_at;
            self.last_blob.clone_from(&map.blob);
            was = map.blob;
            known = Some(stored);
        }
        // A file that appears may be one that had another name before.
        if known.is_none()
            && let Some(first) = versions.first().filter(|version| version.snapshot > 0 && depth < MAX_RENAMES)
            && let Some(old) = self.old_name(path, first.snapshot)?
        {
            let asked = Question { path: &old, ..*self.asked };
            let activity = Activity::of_file(self.activity.of_tree, asked.store, asked.place, &old)?;
            let older = History::new(&asked, self.git, self.snapshots, &activity, first.snapshot);
            let mut older = History { uses_map: self.uses_map, ..older };
            known = older.walk(&old, first.snapshot, depth + 1, None)?.0;
            self.texts.extend(older.texts);
        }
        // The first snapshot has the file, so git will be asked for the commits of the lines that are left of it.
        let is_old = versions.first().is_some_and(|first| first.snapshot == 0 && first.blob.is_some());
        if is_old && known.is_none() && present.is_some() && versions.len() >= WORTH_STORING && self.ahead.is_none() {
            self.ahead = CommitBlame::begin(self.git, self.asked.place, path);
        }
        let ids: Vec<String> = versions.iter().filter_map(|version| version.blob.clone()).collect();
        let git = self.git.clone();
        let mut at = 0;
        // A version that may break off: the next one says whether it does.
        let mut held: Option<(&Version, Vec<u8>)> = None;
        let read = git.contents(&ids, |_, size, content| {
            let mut text = Vec::new();
            if size <= MAX_FILE {
                text.reserve_exact(size as usize);
                let failed = |source| longhaul_runtime::Error::Read { path: git.objects.clone(), source };
                content.read_to_end(&mut text).map_err(failed)?;
            }
            while let Some(version) = versions.get(at).filter(|version| version.blob.is_none()) {
                self.let_go(&mut known, held.take(), None);
                self.step(&mut known, version, Vec::new());
                at += 1;
            }
            if let Some(version) = versions.get(at) {
                let text = if is_binary(&text) { Vec::new() } else { text };
                self.let_go(&mut known, held.take(), Some(&text));
                match &known {
                    Some(known) if known.may_break_off(&text) => held = Some((version, text)),
                    _ => self.step(&mut known, version, text),
                }
                at += 1;
            }
            Ok(())
        });
        let is_last = at == versions.len();
        self.let_go(&mut known, held.take(), present.filter(|_| is_last && read.is_ok()));
        if let Some(left_out) = self.left_out.take() {
            // The present text comes next.
            let before = left_out.checked_sub(1).map(|at| self.snapshots[at].created_at);
            self.unread_from = Some(before.map_or(self.map_at, |before| before.max(self.map_at)));
        }
        match read {
            Ok(()) => {
                for version in &versions[at..] {
                    self.step(&mut known, version, Vec::new());
                }
            }
            // What the snapshots borrow from the repository may be gone. What was read before is known.
            Err(error) if known.is_none() || depth > 0 => return Err(error.into()),
            Err(_) => {
                let before = versions.get(at).and_then(|version| version.snapshot.checked_sub(1));
                self.unread_from = Some(before.map_or(self.map_at, |at| self.snapshots[at].created_at));
            }
        }
        if depth == 0 && self.settled.is_none() && self.settled_at >= end && self.unread_from.is_none() {
            let blob = versions.last().map_or(was, |version| version.blob.clone().unwrap_or_default());
            self.settled = known.as_ref().map(|known| (line_maps::to_bytes(known), blob));
        }
        Ok((known, at))
    }

    /// Goes on to a version that may break off, or leaves it out if it does: `next` goes on where it ends.
    fn let_go(&mut self, known: &mut Option<Attribution>, held: Option<(&Version, Vec<u8>)>, next: Option<&[u8]>) {
        let Some((version, text)) = held else { return };
        if known.as_ref().zip(next).is_some_and(|(known, next)| known.breaks_off(&text, next)) {
            self.left_out.get_or_insert(version.snapshot);
        } else {
            self.step(known, version, text);
        }
    }

    /// Goes on to a version of the file.
    fn step(&mut self, known: &mut Option<Attribution>, version: &Version, text: Vec<u8>) {
        if version.snapshot >= self.settled_at && self.settled.is_none() {
            // Later snapshots may be explained by calls that are still to come.
            self.settled = known.as_ref().map(|known| (line_maps::to_bytes(known), self.last_blob.clone()));
            if self.left_out.is_some() {
                // What happened before the version that was left out would be missing after the map.
                self.settled_at = 0;
            }
        }
        self.last_blob = version.blob.clone().unwrap_or_default();
        if self.asked.depth == Depth::WithBefore
            && let Some(known) = known
        {
            known.texts_into(&mut self.texts);
        }
        let id = version.blob.as_deref().and_then(id_of);
        if known.is_none() && version.snapshot == 0 {
            let mut first = Attribution::new(text, Origin::of(OriginKind::Commit));
            if let Some(id) = id {
                first.remember(id);
            }
            *known = Some(first);
            return;
        }
        let state = known.get_or_insert_with(|| Attribution::new(Vec::new(), Origin::of(OriginKind::Commit)));
        let now = &self.snapshots[version.snapshot];
        // After the oldest snapshots were dropped, the one before is not known.
        let first = self.left_out.take().unwrap_or(version.snapshot);
        let before = first.checked_sub(1).map(|at| &self.snapshots[at]);
        let from = before.map_or(self.map_at, |before| before.created_at.max(self.map_at));
        let head = now.head.as_deref();
        let head = head.filter(|head| before.is_none_or(|before| before.head.as_deref() != Some(head)));
        let mut change = self.activity.change(from, now.created_at, now.took_ms.unwrap_or_default(), head);
        change.calls.retain(|(call, _)| !self.consumed.contains(&call.id));
        let late = state.advance(text, id, &change);
        self.consumed.extend(change.late_calls.iter().take(late).map(|(call, _)| call.id.clone()));
    }

    /// Returns the versions of the file in the snapshots from `first` to `end`.
    fn versions(&self, path: &[u8], first: usize, end: usize) -> Result<Vec<Version>, Error> {
        let snapshots = &self.snapshots[first..end];
        let Some(tree) = snapshots.first().and_then(|snapshot| snapshot.tree.as_deref()) else { return Ok(Vec::new()) };
        let empty = if tree.len() == 40 { EMPTY_TREE } else { EMPTY_TREE_SHA256 };
        // With a stored map, the first snapshot is compared with the one before.
        let before = first.checked_sub(1).and_then(|at| self.snapshots[at].tree.as_deref());
        let mut old = before.unwrap_or(empty);
        let mut pairs = String::new();
        let mut places = Vec::new();
        for (at, snapshot) in snapshots.iter().enumerate() {
            let Some(tree) = snapshot.tree.as_deref().filter(|tree| is_id(tree)) else { continue };
            if tree != old {
                pairs.push_str(&format!("{old} {tree}\n"));
                places.push(first + at);
                old = tree;
            }
        }
        let path_text = OsStr::from_bytes(path).to_str();
        let args = [
            "diff-tree",
            "--stdin",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "--",
        ];
        let listed = match path_text {
            Some(path) => self.git.run(&[&args[..], &[path]].concat(), pairs.as_bytes())?,
            // Names that are not UTF-8 are few: every change is read.
            None => self.git.run(&args[..args.len() - 1], pairs.as_bytes())?,
        };
        Ok(parse_versions(&listed, &places, path))
    }

    /// Returns the name that the file had in the snapshot before, if it was renamed.
    fn old_name(&self, path: &[u8], snapshot: usize) -> Result<Option<Vec<u8>>, Error> {
        let trees = [snapshot - 1, snapshot].map(|at| self.snapshots[at].tree.as_deref());
        let [Some(before), Some(after)] = trees else { return Ok(None) };
        let args = [
            "diff-tree",
            "--find-renames",
            "-l",
            "400",
            "--no-ext-diff",
            "--no-textconv",
            "-r",
            "-z",
            "--raw",
            before,
            after,
        ];
        let listed = self.git.run(&args, b"")?;
        let mut parts = listed.split(|byte| *byte == 0);
        while let Some(head) = parts.next().filter(|head| head.starts_with(b":")) {
            let status = head.rsplit(|byte| *byte == b' ').next().and_then(|status| status.first().copied());
            let first = parts.next();
            if matches!(status, Some(b'R' | b'C')) {
                let second = parts.next();
                if second == Some(path) && status == Some(b'R') {
                    return Ok(first.map(<[u8]>::to_vec));
                }
            }
        }
        Ok(None)
    }

    fn text_of(&self, blob: &str) -> Option<Vec<u8>> {
        let text = self.git.run(&["cat-file", "blob", blob], b"").ok()?;
        (!is_binary(&text)).then_some(text)
    }

    /// Stores the lines and their origins up to the last snapshot before which every turn has ended; returns whether there is one.
    fn store_map(&mut self, path: &[u8]) -> Result<bool, Error> {
        let (Some(last), Some(((lines, origins), blob))) =
            (self.settled_at.checked_sub(1).and_then(|at| self.snapshots.get(at)), self.settled.take())
        else {
            return Ok(false);
        };
        self.asked.store.put_line_map(&LineMap {
            tree_key: self.asked.place.key.clone(),
            path: encoded_path(path),
            begins_at: self.begins_at,
            snapshot_at: last.created_at,
            blob,
            lines,
            origins,
            made_at: self.asked.env.now.0,
        })?;
        Ok(true)
    }

    fn keep_texts(&mut self, known: &Attribution, text: &[u8]) {
        if self.asked.depth == Depth::WithBefore {
            known.texts_into(&mut self.texts);
            self.texts.extend(lines_of(text).into_iter().map(|text| (line(text).exact, text.to_vec())));
        }
    }

    fn finish(&self, known: Attribution, text: Vec<u8>) -> Blame {
        let texts = lines_of(&text);
        let before = |at: usize| {
            let (hash, origin) = known.before[at]?;
            Some((self.texts.get(&hash)?.clone(), origin as usize))
        };
        let lines = texts.iter().enumerate().map(|(at, text)| BlamedLine {
            text: text.to_vec(),
            origin: known.origins.get(at).map_or(0, |id| *id as usize),
            before: before(at).filter(|(old, _)| old != text),
        });
        Blame { path: self.asked.path.to_vec(), lines: lines.collect(), origins: known.table().to_vec() }
    }
}

/// Returns a number for a content from the id that git gives to it.
fn id_of(blob: &str) -> Option<u64> {
    u64::from_str_radix(blob.get(..16)?, 16).ok()
}

/// The id of a tree without files.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// Reads what git says of pairs of trees: a line for each pair, then an entry for each file that differs.
fn parse_versions(listed: &[u8], places: &[usize], path: &[u8]) -> Vec<Version> {
    let mut versions = Vec::new();
    let mut pair = 0;
    let mut rest = listed;
    while !rest.is_empty() {
        if rest[0] != b':' {
            let Some(end) = memchr::memchr(b'\n', rest) else { break };
            pair += 1;
            rest = &rest[end + 1..];
            continue;
        }
        let mut parts = rest.splitn(3, |byte| *byte == 0);
        let (Some(head), Some(name), Some(after)) = (parts.next(), parts.next(), parts.next()) else { break };
        rest = after;
        let fields: Vec<&[u8]> = head.split(|byte| *byte == b' ').collect();
        let [_, mode, _, blob, _] = fields[..] else { continue };
        let Some(snapshot) = places.get(pair - 1).copied().filter(|_| name == path) else { continue };
        let blob = String::from_utf8_lossy(blob).into_owned();
        // A link or a submodule has no lines.
        let is_file = mode.starts_with(b"100") && is_id(&blob);
        versions.push(Version { snapshot, blob: Some(blob).filter(|_| is_file) });
    }
    versions
}

/// Git's own blame of a whole file, which runs beside this.
struct CommitBlame {
    head: String,
    printed: JoinHandle<Option<Vec<u8>>>,
}

impl CommitBlame {
    fn begin(git: &PrivateGit, place: &Place, path: &[u8]) -> Option<Self> {
        let head = git::commit(&place.tree.top).filter(|head| is_id(head))?;
        let path = std::str::from_utf8(path).ok()?.to_owned();
        let (git, commit) = (git.clone(), head.clone());
        let printed = std::thread::spawn(move || git.run(&["blame", "--porcelain", &commit, "--", &path], b"").ok());
        Some(Self { head, printed })
    }
}

/// A commit that git's own blame names.
struct Committed {
    id: String,
    /// In milliseconds since the epoch.
    at: u64,
}

/// Finds the commits of lines that are older than the first snapshot, which was taken at `begins_at` if there ever was one, and the
/// calls of past sessions that have their text.
fn resolve_commits(
    asked: &Question<'_>,
    git: &PrivateGit,
    activity: &Activity<'_>,
    begins_at: Option<u64>,
    ahead: Option<CommitBlame>,
    found: &mut Blame,
) {
    let is_open = |origin: &Origin| match origin.kind {
        OriginKind::Commit => origin.commit.is_none(),
        // A checkout or a merge has brought the line, perhaps from another work tree.
        OriginKind::Outside => origin.commit.is_some(),
        _ => false,
    };
    let open: Vec<usize> =
        (0..found.lines.len()).filter(|at| is_open(&found.origins[found.lines[*at].origin])).collect();
    if open.is_empty() {
        return;
    }
    let needs_blame = open.iter().any(|at| found.origins[found.lines[*at].origin].kind == OriginKind::Commit);
    let commits = if needs_blame { committed_lines(asked, git, ahead, found, &open) } else { HashMap::new() };
    let mut by_line: HashMap<Bare, Vec<(&EditCall, &Turn)>> = HashMap::new();
    for (call, turn) in activity.past_calls() {
        for bare in call.new_lines().into_iter().filter(|bare| bare.is_telling()) {
            by_line.entry(bare).or_default().push((call, turn));
        }
    }
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    for at in open {
        let was = found.origins[found.lines[at].origin].clone();
        let committed = commits.get(&at);
        let mut origin = match (was.kind, committed) {
            (OriginKind::Outside, _) => was.clone(),
            (_, Some(committed)) => {
                Origin { commit: Some(committed.id.clone()), at: committed.at, ..Origin::of(OriginKind::Commit) }
            }
            // It is not committed, at least not under this name.
            (_, None) if begins_at.is_some() => was.clone(),
            (_, None) => Origin::of(OriginKind::Unknown),
        };
        // Git counts in seconds.
        let until = if origin.at > 0 { origin.at + 1_000 } else { asked.env.now.0 };
        // A later call can only have repeated what the first snapshot shows.
        let until = begins_at.filter(|_| was.kind == OriginKind::Commit).map_or(until, |first| until.min(first));
        let calls = by_line.get(&line(&found.lines[at].text).bare).into_iter().flatten();
        // The text of a call may also stand in an older commit, where somebody else wrote it.
        let calls = calls.filter(|(call, _)| call.at <= until && until - call.at <= COMMITTED_WITHIN_MS);
        let candidates: Vec<Origin> = calls
            .map(|(call, turn)| Origin { by_text: true, ..Origin::of_turn(OriginKind::Prompt, turn, Some(&call.id)) })
            .collect();
        if !candidates.is_empty() {
            let commit = origin.commit.take();
            origin = Origin { commit, ..Origin::one_of(candidates) };
        }
        let key = serde_json::to_string(&origin).unwrap_or_default();
        let id = *ids.entry(key).or_insert_with(|| {
            found.origins.push(origin);
            found.origins.len() - 1
        });
        found.lines[at].origin = id;
    }
}

/// Asks git which commit has brought which line.
fn committed_lines(
    asked: &Question<'_>,
    git: &PrivateGit,
    ahead: Option<CommitBlame>,
    found: &Blame,
    open: &[usize],
) -> HashMap<usize, Committed> {
    let printed = || {
        let head = git::commit(&asked.place.tree.top).filter(|head| is_id(head))?;
        let path = std::str::from_utf8(asked.path).ok()?;
        let text = git.run(&["cat-file", "blob", &format!("{head}:{path}")], b"").ok()?;
        let new: Vec<_> = found.lines.iter().map(|found_line| line(&found_line.text)).collect();
        let old: Vec<_> = lines_of(&text).into_iter().map(line).collect();
        let wanted: HashSet<usize> = open.iter().copied().collect();
        let mut pairs: BTreeMap<usize, usize> = BTreeMap::new();
        for op in compare(&old, &new).iter().filter(|op| matches!(op, similar::DiffOp::Equal { .. })) {
            pairs.extend(op.old_range().zip(op.new_range()).filter(|(_, new)| wanted.contains(new)));
        }
        if pairs.is_empty() {
            return None;
        }
        let ahead = ahead.filter(|ahead| ahead.head == head).and_then(|ahead| ahead.printed.join().ok().flatten());
        if let Some(printed) = ahead {
            return Some((printed, pairs));
        }
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for at in pairs.keys() {
            match ranges.last_mut() {
                Some((_, end)) if *end + 1 == *at => *end = *at,
                _ => ranges.push((*at, *at)),
            }
        }
        let mut args = vec!["blame".to_owned(), "--porcelain".to_owned()];
        if ranges.len() <= 20 {
            args.extend(ranges.iter().map(|(from, to)| format!("-L{},{}", from + 1, to + 1)));
        }
        args.extend([head, "--".to_owned(), path.to_owned()]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Some((git.run(&args, b"").ok()?, pairs))
    };
    let Some((printed, pairs)) = printed() else { return HashMap::new() };
    let mut times: HashMap<String, u64> = HashMap::new();
    let mut lines: Vec<(usize, String)> = Vec::new();
    for line in printed.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"\t")) {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let mut words = line.split(' ');
        let first = words.next().unwrap_or_default();
        if is_id(first) {
            if let Some(at) = words.nth(1).and_then(|number| number.parse::<usize>().ok()) {
                lines.push((at - 1, first.to_owned()));
            }
        } else if first == "committer-time"
            && let (Some((_, id)), Some(at)) = (lines.last(), words.next().and_then(|at| at.parse::<u64>().ok()))
        {
            times.insert(id.clone(), at * 1_000);
        }
    }
    let of_line = |(old, id): (usize, String)| {
        let at = times.get(&id).copied().unwrap_or_default();
        Some((*pairs.get(&old)?, Committed { id, at }))
    };
    lines.into_iter().filter_map(of_line).collect()
}

/// Returns whether a snapshot of the work tree has the file: whoever may not read the files may read these.
pub fn is_in_snapshots(store: &Store, place: &Place, path: &[u8]) -> Result<bool, Error> {
    let Some(newest) = store.newest_snapshot_of_tree(&place.key)? else { return Ok(false) };
    let Some(tree) = newest.tree.filter(|tree| is_id(tree)) else { return Ok(false) };
    let git = place.git(Instant::now() + GIT);
    let (out, _) = git.run_bounded(&["ls-tree", "-z", &tree, "--"], &[path], 64 * 1024)?;
    // Not a link, which may lead anywhere.
    let is_it = |entry: &[u8]| entry.starts_with(b"100") && entry.splitn(2, |byte| *byte == b'\t').nth(1) == Some(path);
    Ok(out.split(|byte| *byte == 0).any(is_it))
}

/// Returns the files that a commit has added or changed.
pub fn changed_paths(git: &PrivateGit, commit: &str) -> Result<Vec<Vec<u8>>, Error> {
    let args = [
        "diff-tree",
        "--root",
        "--no-commit-id",
        "--no-renames",
        "--diff-filter=AM",
        "--name-only",
        "-r",
        "-z",
        commit,
    ];
    let listed = git.run(&args, b"")?;
    Ok(crate::git_output::listed_paths(&listed).into_iter().map(<[u8]>::to_vec).collect())
}

/// Returns the lines that a commit has added to a file, from 1, each with the place of the same line in the present file.
pub fn changed_lines(git: &PrivateGit, commit: &str, path: &[u8], found: &Blame) -> Result<Vec<(usize, usize)>, Error> {
    let hashed = |text: &[u8]| lines_of(text).into_iter().map(line).collect::<Vec<_>>();
    let now = hashed(&text_of_commit(git, commit, path)?);
    // The first commit has no parent, and a new file no text in it.
    let before = hashed(&text_of_commit(git, &format!("{commit}^"), path).unwrap_or_default());
    let present: Vec<_> = found.lines.iter().map(|found_line| line(&found_line.text)).collect();
    let mut added: HashSet<usize> = (0..now.len()).collect();
    for op in compare(&before, &now).iter().filter(|op| matches!(op, similar::DiffOp::Equal { .. })) {
        added.retain(|at| !op.new_range().contains(at));
    }
    let same = compare(&now, &present);
    let same = same.iter().filter(|op| matches!(op, similar::DiffOp::Equal { .. }));
    let pairs = same.flat_map(|op| op.old_range().zip(op.new_range()));
    Ok(pairs.filter(|(at, _)| added.contains(at)).map(|(at, present)| (at + 1, present)).collect())
}

/// Returns the text of a file in a commit.
pub fn text_of_commit(git: &PrivateGit, commit: &str, path: &[u8]) -> Result<Vec<u8>, Error> {
    let path = std::str::from_utf8(path).map_err(|_| Error::Unknown(path.to_vec()))?;
    Ok(git.run(&["cat-file", "blob", &format!("{commit}:{path}")], b"")?)
}

/// Returns whether a path of a call means the file.
fn is_same_file(top: &Path, path: &[u8], named: &str) -> bool {
    let file = top.join(OsStr::from_bytes(path));
    let named = Path::new(named);
    if named.is_relative() {
        return file.ends_with(named);
    }
    named == file
        || (named.file_name() == file.file_name()
            && named.parent().and_then(|folder| folder.canonicalize().ok()).as_deref() == file.parent())
}
