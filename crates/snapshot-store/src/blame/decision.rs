//! Which prompt, command or person each line of a file comes from: from the versions of the file, and the calls between two of
//! them, to an origin for each line. Pure: no disk, no database.
//!
//! Between two versions, the edit calls are repeated on the text (`Attribution::repeat`): where they lead to the next version, each
//! line is explained exactly. What is left is compared without blanks: a line that stays, is indented or moves keeps its
//! origin. Every other line changed by something that no call has, and who may have done it follows from the turns that ran.

use std::collections::{BTreeSet, HashMap};
use std::ops::{Index, Range};
use std::rc::Rc;
use std::time::{Duration, Instant};

use memchr::{memchr_iter, memmem};
use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_deadline};

use super::calls::{Edit, EditCall};

/// The most time for one comparison. Of texts that take longer, a cruder difference is used.
const COMPARE: Duration = Duration::from_secs(2);

/// A line with fewer letters and digits says nothing about where it comes from: there are many like it.
const TELLING_CHARS: usize = 4;

/// How many states of the file that a checkout has left are compared with what a later checkout brings.
const LEFT_STATES: usize = 8;

/// How many calls are tried that are younger than the version.
const MAX_LATE: usize = 20;

/// How far a line that stays is looked for, in lines.
const NEAR: usize = 24;

/// How many equal lines in a row end a change, and how many of them must say something.
const ANCHOR: (usize, usize) = (16, 4);

/// How far the edge of a change is moved over equal lines.
const MAX_SLIDE: usize = 200;

longhaul_core::named! {
    /// Where a line comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OriginKind {
        /// A call of this turn wrote exactly this line.
        Prompt = "prompt",
        /// It changed during this turn, and no edit call has it.
        Command = "command",
        /// It changed while no turn ran.
        Outside = "outside",
        /// It is older than the first snapshot.
        Commit = "commit",
        /// There are several candidates, or nothing is known.
        Unknown = "unknown",
        /// It changed during a private turn.
        Private = "private",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// What wrote it.
    #[serde(rename = "k")]
    pub kind: OriginKind,
    /// The session, in the form that is safe as a file name.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The id that the client gave to the prompt.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// The time of the prompt, in milliseconds since the epoch; of a change outside of a turn, the latest time that it can have.
    #[serde(rename = "t", default)]
    pub at: u64,
    /// The call that wrote it, if it is known.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The commit that has the line; of a change outside of a turn, the commit that was checked out in that time.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether only the text of a past call says so: no snapshot shows the change itself.
    #[serde(rename = "x", default, skip_serializing_if = "std::ops::Not::not")]
    pub by_text: bool,
    /// What may have written it, where the kind is `unknown`.
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Self>,
}

impl Origin {
    pub fn of(kind: OriginKind) -> Self {
        Self {
            kind,
            session: None,
            prompt_id: None,
            at: 0,
            call: None,
            commit: None,
            by_text: false,
            candidates: Vec::new(),
        }
    }

    pub(super) fn of_turn(kind: OriginKind, turn: &Turn, call: Option<&str>) -> Self {
        if turn.is_private {
            return Self::of(OriginKind::Private);
        }
        if turn.is_forgotten {
            return Self::of(OriginKind::Unknown);
        }
        let (session, prompt_id) = (Some(turn.session.clone()), turn.prompt_id.clone());
        Self { session, prompt_id, at: turn.from, call: call.map(str::to_owned), ..Self::of(kind) }
    }

    /// Returns the one origin of several candidates, or an unknown one that names them.
    pub(super) fn one_of(candidates: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Self> = Vec::new();
        for candidate in candidates {
            // Candidates of candidates: the list stays flat.
            let each = if candidate.kind == OriginKind::Unknown { candidate.candidates } else { vec![candidate] };
            for origin in each {
                if !all.contains(&origin) {
                    all.push(origin);
                }
            }
        }
        if all.len() > 1 {
            let first = all[0].clone();
            let is_same_turn = |origin: &Self| {
                origin.session.is_some()
                    && origin.session == first.session
                    && (origin.prompt_id.as_ref(), origin.at) == (first.prompt_id.as_ref(), first.at)
            };
            if all.iter().all(is_same_turn) {
                // The same turn by one of several calls. If a command may be it, only the turn is certain.
                let is_command = all.iter().any(|origin| origin.kind == OriginKind::Command);
                let kind = if is_command { OriginKind::Command } else { OriginKind::Prompt };
                return Self { kind, call: None, ..first };
            }
            return Self { candidates: all, ..Self::of(OriginKind::Unknown) };
        }
        all.pop().unwrap_or_else(|| Self::of(OriginKind::Unknown))
    }
}

/// A turn of a session, as far as it matters for the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) session: String,
    pub(super) prompt_id: Option<String>,
    /// When it began.
    pub(super) from: u64,
    /// When it ended, at the latest.
    pub(super) to: u64,
    /// Whether it ended then. If not, it ended at an unknown time before.
    pub(super) is_end_known: bool,
    pub(super) is_private: bool,
    /// Whether it was forgotten at the user's request.
    pub(super) is_forgotten: bool,
    /// Whether it ran in this work tree, as snapshots show.
    pub(super) is_here: bool,
}

/// A turn that ran between two versions.
#[derive(Debug, Clone)]
pub(super) struct ActiveTurn<'a> {
    pub(super) turn: &'a Turn,
    /// The calls that may have changed any file, such as shell commands.
    pub(super) commands: Vec<&'a str>,
    /// The one of them of which the client reported that it changed this file.
    pub(super) reported: Option<&'a str>,
    pub(super) knows_calls: bool,
}

/// What happened between two versions.
#[derive(Debug, Clone, Default)]
pub(super) struct Change<'a> {
    /// The time of the older version.
    pub(super) from: u64,
    /// The time of the newer version.
    pub(super) to: u64,
    pub(super) turns: Vec<ActiveTurn<'a>>,
    /// Whether there was a moment at which no turn ran.
    pub(super) may_be_outside: bool,
    /// Edit calls for this file, with their turns, in the order of their times.
    pub(super) calls: Vec<(&'a EditCall, &'a Turn)>,
    /// Edit calls shortly after the newer version was begun: it may have what they wrote.
    pub(super) late_calls: Vec<(&'a EditCall, &'a Turn)>,
    /// The commit that is checked out now, if another one was before.
    pub(super) new_head: Option<String>,
}

impl Change<'_> {
    fn outside(&self) -> Origin {
        Origin { at: self.to, commit: self.new_head.clone(), ..Origin::of(OriginKind::Outside) }
    }

    /// Returns the origin of a line that a call has written, or perhaps only repeated: of what was there when its turn began, there
    /// may be no version.
    fn origin_of(&self, call: &EditCall, turn: &Turn) -> Origin {
        let origin = Origin::of_turn(OriginKind::Prompt, turn, Some(&call.id));
        let repeats = call.edits.iter().any(|edit| !matches!(edit, Edit::Replace { .. }));
        if repeats && turn.from > self.from { Origin::one_of([origin, self.origin()]) } else { origin }
    }

    /// Returns the origin of a line that no call has.
    fn origin(&self) -> Origin {
        let mut candidates = Vec::new();
        let mut may_be_outside = self.may_be_outside;
        for active in &self.turns {
            if active.knows_calls && active.commands.is_empty() && !active.turn.is_private {
                // A program that the client starts after an edit, such as a formatter, or a person at the same time.
                may_be_outside = true;
            }
            let call = match (active.reported, active.commands.as_slice()) {
                (Some(reported), _) => Some(reported),
                (None, [only]) => Some(*only),
                (None, _) => None,
            };
            candidates.push(Origin::of_turn(OriginKind::Command, active.turn, call));
        }
        if may_be_outside || candidates.is_empty() {
            candidates.push(self.outside());
        }
        Origin::one_of(candidates)
    }
}

/// A line as it is compared: a hash of it, and one of it without blanks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Line {
    pub(super) exact: u64,
    pub(super) bare: Bare,
}

/// A hash of a line without blanks, in 48 bits. The lowest bit says whether the line is telling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Bare(pub(super) u64);

impl Bare {
    /// Returns whether a line is unlikely to be written twice by chance.
    pub(super) fn is_telling(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Returns a line of a text, without its line feed.
pub(super) fn line(text: &[u8]) -> Line {
    let (mut exact, mut bare, mut telling) = (HASH_START, HASH_START, 0);
    for byte in text {
        exact = step(exact, *byte);
        if !byte.is_ascii_whitespace() {
            bare = step(bare, *byte);
            telling += usize::from(byte.is_ascii_alphanumeric() || !byte.is_ascii());
        }
    }
    let mixed = (bare ^ (bare >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    Line { exact, bare: Bare(((mixed >> 17) << 1) | u64::from(telling >= TELLING_CHARS)) }
}

/// FNV-1a, whose values are the same in every version: a stored line map has them.
const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// Returns the lines of a text, without their line feeds.
pub(super) fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memchr_iter(b'\n', text) {
        lines.push(&text[start..end]);
        start = end + 1;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

fn hashed(text: &[u8]) -> Vec<Line> {
    lines_of(text).into_iter().map(line).collect()
}

fn count_of(text: &[u8]) -> usize {
    memchr_iter(b'\n', text).count() + usize::from(text.last().is_some_and(|last| *last != b'\n'))
}

/// Returns where the lines of a text begin.
fn starts_of(text: &[u8]) -> Vec<usize> {
    let mut starts: Vec<usize> = std::iter::once(0).chain(memchr_iter(b'\n', text).map(|at| at + 1)).collect();
    starts.truncate(count_of(text));
    starts
}

/// Returns how many bytes two texts have in common at the beginning.
fn common(left: &[u8], other: &[u8]) -> usize {
    const CHUNK: usize = 256;
    let chunks = left.chunks_exact(CHUNK).zip(other.chunks_exact(CHUNK));
    let at = chunks.take_while(|(left, other)| left == other).count() * CHUNK;
    at + left[at..].iter().zip(&other[at..]).take_while(|(left, other)| left == other).count()
}

/// The number of an origin in [`Attribution::table`].
pub(super) type OriginId = u32;

/// What a line was before it was changed: the hash of its text, and its origin.
pub(super) type Before = Option<(u64, OriginId)>;

/// The lines of a file, each with its origin, as they are after some of its versions.
#[derive(Debug, Clone, Default)]
pub(super) struct Attribution {
    /// The text; `None` where only the lines are known, from a stored line map.
    text: Option<Vec<u8>>,
    /// Where each line begins in the text; empty where that is to be found again.
    starts: Vec<usize>,
    pub(super) lines: Vec<Line>,
    pub(super) origins: Vec<OriginId>,
    pub(super) before: Vec<Before>,
    table: Table,
    /// The origins of every version with an id, as runs.
    seen: HashMap<u64, Runs>,
    /// These ids, the one that was there last at the end.
    seen_order: Vec<u64>,
    /// States that a checkout has left, the newest last.
    left: Vec<Rc<(Vec<Line>, Vec<OriginId>)>>,
}

/// Every origin once.
#[derive(Debug, Clone, Default)]
struct Table {
    all: Vec<Origin>,
    ids: HashMap<Origin, OriginId>,
}

impl Table {
    fn id(&mut self, origin: Origin) -> OriginId {
        if let Some(id) = self.ids.get(&origin) {
            return *id;
        }
        let id = self.all.len() as OriginId;
        self.all.push(origin.clone());
        self.ids.insert(origin, id);
        id
    }

    /// Removes the origins that were added after the first `count`.
    fn truncate(&mut self, count: usize) {
        for origin in self.all.drain(count..) {
            self.ids.remove(&origin);
        }
    }

    fn one_of(&mut self, ids: impl IntoIterator<Item = OriginId>) -> OriginId {
        let ids: BTreeSet<OriginId> = ids.into_iter().collect();
        if ids.len() == 1 {
            return ids.into_iter().next().unwrap_or_default();
        }
        let origins: Vec<Origin> = ids.iter().map(|id| self.all[*id as usize].clone()).collect();
        self.id(Origin::one_of(origins))
    }
}

/// Origins of successive lines, as runs of equal ones.
pub(super) type Runs = Vec<(u32, OriginId)>;

pub(super) fn runs(origins: &[OriginId]) -> Runs {
    // Thousands of versions are remembered: each takes no more than it needs.
    let changes = origins.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let mut runs: Runs = Vec::with_capacity(changes + usize::from(!origins.is_empty()));
    for origin in origins {
        match runs.last_mut() {
            Some((count, last)) if last == origin => *count += 1,
            _ => runs.push((1, *origin)),
        }
    }
    runs
}

pub(super) fn unrolled(runs: &[(u32, OriginId)]) -> Vec<OriginId> {
    runs.iter().flat_map(|(count, id)| std::iter::repeat_n(*id, *count as usize)).collect()
}

impl Attribution {
    /// Begins with the first known version, all of whose lines come from `origin`.
    pub(super) fn new(text: Vec<u8>, origin: Origin) -> Self {
        let lines = hashed(&text);
        let mut known = Self { before: vec![None; lines.len()], lines, text: Some(text), ..Self::default() };
        known.origins = vec![known.table.id(origin); known.lines.len()];
        known
    }

    /// Continues from a stored line map.
    pub(super) fn resume(bare: &[Bare], origins: Vec<OriginId>, table: Vec<Origin>) -> Self {
        let lines: Vec<Line> = bare.iter().map(|bare| Line { exact: 0, bare: *bare }).collect();
        let ids = table.iter().enumerate().map(|(at, origin)| (origin.clone(), at as OriginId)).collect();
        let table = Table { all: table, ids };
        Self { before: vec![None; lines.len()], lines, origins, table, ..Self::default() }
    }

    /// Adds every line by its hash.
    pub(super) fn texts_into(&self, texts: &mut HashMap<u64, Vec<u8>>) {
        for (text, line) in lines_of(self.text.as_deref().unwrap_or_default()).into_iter().zip(&self.lines) {
            texts.entry(line.exact).or_insert_with(|| text.to_vec());
        }
    }

    /// Sets the text of the lines that a stored map has, if it is the text of these lines.
    pub(super) fn know_text(&mut self, text: Vec<u8>) {
        let lines = hashed(&text);
        if lines.len() == self.lines.len() && lines.iter().zip(&self.lines).all(|(line, other)| line.bare == other.bare)
        {
            self.lines = lines;
            self.set_text(text);
        }
    }

    /// Returns whether a version may show the file while it is written: it is empty, or breaks off within a line.
    pub(super) fn may_break_off(&self, text: &[u8]) -> bool {
        count_of(text) <= self.lines.len() && text.last().is_none_or(|last| *last != b'\n')
    }

    /// Returns whether a version that [may break off](Self::may_break_off) does: the next one goes on where it ends, and has
    /// lines again that it lacks.
    pub(super) fn breaks_off(&self, text: &[u8], next: &[u8]) -> bool {
        if text.len() >= next.len() || !next.starts_with(text) {
            return false;
        }
        // Its last line is not complete.
        let there = memchr_iter(b'\n', text).count();
        let lacking: BTreeSet<Bare> = hashed(next).into_iter().skip(there).map(|line| line.bare).collect();
        self.lines.iter().skip(there).any(|line| line.bare.is_telling() && lacking.contains(&line.bare))
    }

    fn set_text(&mut self, text: Vec<u8>) {
        self.text = Some(text);
        self.starts.clear();
    }

    pub(super) fn table(&self) -> &[Origin] {
        &self.table.all
    }

    pub(super) fn origin(&self, id: OriginId) -> &Origin {
        &self.table.all[id as usize]
    }

    /// Remembers the present state under the id of its content, so that a later return to it is recognised.
    pub(super) fn remember(&mut self, id: u64) {
        if self.seen.insert(id, runs(&self.origins)).is_some() {
            self.seen_order.retain(|seen| *seen != id);
        }
        self.seen_order.push(id);
    }

    /// Returns the versions that were there last, each with its id and its origins.
    pub(super) fn recent(&self, most: usize) -> impl Iterator<Item = (u64, &Runs)> {
        let from = self.seen_order.len().saturating_sub(most);
        self.seen_order[from..].iter().filter_map(|id| Some((*id, self.seen.get(id)?)))
    }

    /// Adds a version that was there once, from a stored line map.
    pub(super) fn recall(&mut self, id: u64, runs: Runs) {
        self.seen.insert(id, runs);
        self.seen_order.push(id);
    }

    /// Goes on to the next version; `id` identifies its content. Returns how many of the late calls it has.
    pub(super) fn advance(&mut self, text: Vec<u8>, id: Option<u64>, change: &Change<'_>) -> usize {
        if self.text.as_ref() == Some(&text) {
            return 0;
        }
        let mut late = 0;
        let is_touched = !change.calls.is_empty() || !change.late_calls.is_empty() || change.new_head.is_some();
        let was = is_touched.then(|| Rc::new((self.lines.clone(), self.origins.clone())));
        let mut loose: Vec<(&EditCall, &Turn)> = Vec::new();
        let placed = self.repeat(change, &change.calls, &mut loose);
        if self.text.as_ref() != Some(&text) && !change.late_calls.is_empty() {
            late = self.repeat_late(&text, change, &mut loose);
        }
        if self.text.as_ref() != Some(&text) {
            let known = id.filter(|_| !placed && loose.is_empty()).and_then(|id| self.seen.get(&id));
            let count = |runs: &Runs| runs.iter().map(|(count, _)| *count as usize).sum::<usize>();
            match known.filter(|runs| count(runs) == count_of(&text)).cloned() {
                // It is as it was once: an undo, a checkout or a restore.
                Some(runs) => self.return_to(text, &runs),
                None => self.compare(text, change, was.as_deref(), &loose),
            }
        }
        if let Some(was) = was.filter(|_| change.new_head.is_some()) {
            if self.left.len() == LEFT_STATES {
                self.left.remove(0);
            }
            self.left.push(was);
        }
        if let Some(id) = id {
            self.remember(id);
        }
        late
    }

    fn return_to(&mut self, text: Vec<u8>, runs: &Runs) {
        (self.lines, self.starts) = self.hashed_like(&text);
        self.origins = unrolled(runs);
        self.before = vec![None; self.lines.len()];
        self.text = Some(text);
    }

    /// Repeats edit calls on the text. Those that do not fit, or whose text is not whole, are added to `loose`. Returns
    /// whether any was repeated.
    fn repeat<'a>(
        &mut self,
        change: &Change<'a>,
        calls: &[(&'a EditCall, &'a Turn)],
        loose: &mut Vec<(&'a EditCall, &'a Turn)>,
    ) -> bool {
        let mut has_placed = false;
        for (call, turn) in calls {
            let origin = self.table.id(change.origin_of(call, turn));
            let is_placed = call.edits.iter().all(|edit| self.apply(edit, origin));
            if is_placed && call.is_whole {
                has_placed = true;
            } else {
                loose.push((call, turn));
            }
        }
        has_placed
    }

    /// Repeats calls that are younger than the version, one after the other, as long as that leads to it.
    /// Returns how many did.
    fn repeat_late<'a>(
        &mut self,
        text: &[u8],
        change: &Change<'a>,
        loose: &mut Vec<(&'a EditCall, &'a Turn)>,
    ) -> usize {
        // What a trial does not change, or only adds to, is not copied: the earlier versions and the origins are most of it.
        let mut tried = Self {
            text: self.text.clone(),
            starts: self.starts.clone(),
            lines: self.lines.clone(),
            origins: self.origins.clone(),
            before: self.before.clone(),
            table: std::mem::take(&mut self.table),
            seen: std::mem::take(&mut self.seen),
            seen_order: std::mem::take(&mut self.seen_order),
            left: std::mem::take(&mut self.left),
        };
        let origins = tried.table.all.len();
        for (at, call) in change.late_calls.iter().enumerate() {
            let mut unplaced = Vec::new();
            tried.repeat(change, &[*call], &mut unplaced);
            if tried.text.as_deref() == Some(text) {
                *self = tried;
                return at + 1;
            }
            if at > MAX_LATE {
                break;
            }
        }
        (self.table, self.seen, self.seen_order, self.left) = (tried.table, tried.seen, tried.seen_order, tried.left);
        self.table.truncate(origins);
        loose.extend(&change.late_calls);
        0
    }

    /// Repeats one edit; returns whether it fits.
    fn apply(&mut self, edit: &Edit, origin: OriginId) -> bool {
        match edit {
            Edit::Whole(content) => {
                let mut content = content.clone();
                if self.text.as_deref().is_some_and(has_crlf) && !has_crlf(&content) {
                    content = with_crlf(&content);
                }
                let (new, _) = self.hashed_like(&content);
                self.splice(0..self.lines.len(), &new, origin);
                self.set_text(content);
                true
            }
            Edit::Replace { old, new, all } => {
                let Some(text) = &self.text else { return false };
                let (old, new) = match has_crlf(text) && !has_crlf(old) {
                    true => (with_crlf(old), with_crlf(new)),
                    false => (old.clone(), new.clone()),
                };
                if old.is_empty() {
                    // The edit tool creates a file in this way.
                    return text.is_empty() && self.apply(&Edit::Whole(new), origin);
                }
                let found: Vec<usize> = memmem::find_iter(text, &old).collect();
                if found.is_empty() || (found.len() > 1 && !all) {
                    return false;
                }
                // From the end, so that the places before stay right.
                for at in found.into_iter().rev() {
                    self.replace(at..at + old.len(), &new, origin);
                }
                true
            }
            Edit::Part(_) => false,
        }
    }

    /// Replaces a part of the text, and the lines that it touches.
    fn replace(&mut self, range: Range<usize>, new: &[u8], origin: OriginId) {
        let Some(text) = &mut self.text else { return };
        let start = memchr::memrchr(b'\n', &text[..range.start]).map_or(0, |at| at + 1);
        let keeps_lines =
            (new.ends_with(b"\n") || (new.is_empty() && range.start == start)) && text[..range.end].ends_with(b"\n");
        let end = match keeps_lines {
            true => range.end,
            false => memchr::memchr(b'\n', &text[range.end..]).map_or(text.len(), |at| range.end + at + 1),
        };
        let first = memchr_iter(b'\n', &text[..start]).count();
        let count = lines_of(&text[start..end]).len();
        let region = [&text[start..range.start], new, &text[range.end..end]].concat();
        let lines = hashed(&region);
        text.splice(range, new.iter().copied());
        self.starts.clear();
        self.splice(first..first + count, &lines, origin);
    }

    /// Puts new lines in the place of some lines. Those that stay keep their origins.
    fn splice(&mut self, range: Range<usize>, new: &[Line], origin: OriginId) {
        let mut origins = Vec::with_capacity(new.len());
        let mut before = Vec::with_capacity(new.len());
        for op in compare_edit(&self.lines[range.clone()], new) {
            let (old, fresh) = (op.old_range(), op.new_range());
            for (nth, _) in fresh.enumerate() {
                let at = range.start + old.start + nth;
                if matches!(op, DiffOp::Equal { .. }) {
                    origins.push(self.origins[at]);
                    before.push(self.before[at]);
                } else {
                    origins.push(origin);
                    before.push((nth < old.len()).then(|| (self.lines[at].exact, self.origins[at])));
                }
            }
        }
        self.lines.splice(range.clone(), new.iter().copied());
        self.origins.splice(range.clone(), origins);
        self.before.splice(range, before);
    }

    /// Goes on to `text` by comparing: what no call has changed.
    fn compare(
        &mut self,
        text: Vec<u8>,
        change: &Change<'_>,
        was: Option<&(Vec<Line>, Vec<OriginId>)>,
        loose: &[(&EditCall, &Turn)],
    ) {
        let (new, starts) = self.hashed_like(&text);
        let ops = compare(&self.lines, &new);
        let mut placed: Vec<Option<OriginId>> = vec![None; new.len()];
        let mut before: Vec<Before> = vec![None; new.len()];
        let mut inserted: Vec<Range<usize>> = Vec::new();
        for op in &ops {
            let (old, fresh) = (op.old_range(), op.new_range());
            if matches!(op, DiffOp::Equal { .. }) {
                before[fresh.clone()].copy_from_slice(&self.before[old.clone()]);
                for (to, from) in placed[fresh].iter_mut().zip(&self.origins[old]) {
                    *to = Some(*from);
                }
                continue;
            }
            for (nth, to) in fresh.clone().enumerate().take(old.len()) {
                before[to] = Some((self.lines[old.start + nth].exact, self.origins[old.start + nth]));
            }
            if !fresh.is_empty() {
                inserted.push(fresh);
            }
        }
        self.place_moved(&ops, was, &new, &inserted, &mut placed);
        self.place_rewrapped(&ops, &text, &starts, &mut placed);
        self.place_by_text(loose, &new, &inserted, &mut placed, change);
        if change.new_head.is_some() || (change.calls.is_empty() && change.late_calls.is_empty()) {
            self.place_returned(&new, &inserted, &mut placed, change);
        }
        let rest = match loose.iter().any(|(call, _)| !call.is_whole) {
            // A call whose text is not whole may have written any of them.
            true => {
                let partly = loose.iter().filter(|(call, _)| !call.is_whole);
                let partly = partly.map(|(call, turn)| Origin::of_turn(OriginKind::Prompt, turn, Some(&call.id)));
                let others = change.turns.iter().any(|active| !active.commands.is_empty()).then(|| change.origin());
                let outside = change.may_be_outside.then(|| change.outside());
                Origin::one_of(partly.chain(others).chain(outside))
            }
            false => change.origin(),
        };
        let rest = self.table.id(rest);
        let mut origins: Vec<OriginId> = placed.into_iter().map(|id| id.unwrap_or(rest)).collect();
        self.doubt_edges(&ops, &new, &mut origins);
        (self.lines, self.origins, self.before) = (new, origins, before);
        (self.text, self.starts) = (Some(text), starts);
    }

    /// Returns the lines of a text that has much in common with the present one, whose hashes are known, and where they begin.
    fn hashed_like(&mut self, text: &[u8]) -> (Vec<Line>, Vec<usize>) {
        let Some(old) = &self.text else { return (hashed(text), starts_of(text)) };
        if self.starts.len() != self.lines.len() {
            self.starts = starts_of(old);
        }
        let starts = &self.starts;
        let old_line = |at: usize| {
            let end = starts.get(at + 1).map_or(old.len(), |next| next - 1);
            let line = &old[starts[at]..end];
            if at + 1 == starts.len() { line.strip_suffix(b"\n").unwrap_or(line) } else { line }
        };
        let mut lines: Vec<Line> = Vec::with_capacity(self.lines.len() + NEAR);
        let mut new_starts: Vec<usize> = Vec::with_capacity(self.lines.len() + NEAR);
        // The next line of each text, and how many new ones were not found since the last one that was.
        let (mut at, mut next, mut missed) = (0, 0, 0);
        while next < text.len() {
            if missed == 0 && at < starts.len() {
                // A long part that is the same: its lines are not looked at one by one.
                let from = starts[at];
                let same = common(&old[from..], &text[next..]);
                let (old_end, end) = (from + same, next + same);
                let is_whole = old_end == old.len() && (old.ends_with(b"\n") || end == text.len());
                let to = if is_whole { starts.len() } else { starts.partition_point(|start| *start <= old_end) - 1 };
                if to > at {
                    lines.extend_from_slice(&self.lines[at..to]);
                    new_starts.extend(starts[at..to].iter().map(|start| start - from + next));
                    next += starts.get(to).copied().unwrap_or(old.len()) - from;
                    at = to;
                    continue;
                }
            }
            let end = memchr::memchr(b'\n', &text[next..]).map_or(text.len(), |by| next + by);
            let new = &text[next..end];
            // A line that was replaced leaves the next one at its place; inserted and deleted ones move it a little.
            let middle = at + missed;
            let near = (0..=NEAR).flat_map(|by| [middle + by, middle.wrapping_sub(by)]);
            let mut places = near.chain([at]).filter(|place| (at..starts.len()).contains(place));
            new_starts.push(next);
            match places.find(|place| old_line(*place) == new) {
                Some(place) => {
                    lines.push(self.lines[place]);
                    (at, missed) = (place + 1, 0);
                }
                None => {
                    lines.push(line(new));
                    missed += 1;
                }
            }
            next = end + 1;
        }
        (lines, new_starts)
    }

    /// Gives lines that were only moved the origin that they had. A line that says little moves with its neighbour.
    fn place_moved(
        &mut self,
        ops: &[DiffOp],
        was: Option<&(Vec<Line>, Vec<OriginId>)>,
        new: &[Line],
        inserted: &[Range<usize>],
        placed: &mut [Option<OriginId>],
    ) {
        let mut gone: HashMap<Bare, Vec<usize>> = HashMap::new();
        let removed = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })).flat_map(DiffOp::old_range);
        let removed: Vec<usize> = removed.collect();
        for at in &removed {
            gone.entry(self.lines[*at].bare).or_default().push(*at);
        }
        // What a call has removed, and a command has put elsewhere, is among the lines before the calls.
        let mut earlier: HashMap<Bare, BTreeSet<OriginId>> = HashMap::new();
        if let Some(was) = was.filter(|was| was.0.len() != self.lines.len() || was.1 != self.origins) {
            let kept: BTreeSet<Bare> = self.lines.iter().map(|line| line.bare).collect();
            for (line, origin) in was.0.iter().zip(&was.1).filter(|(line, _)| !kept.contains(&line.bare)) {
                earlier.entry(line.bare).or_default().insert(*origin);
            }
        }
        for range in inserted {
            let mut from: Vec<Option<usize>> = vec![None; range.len()];
            for at in range.clone().filter(|at| new[*at].bare.is_telling()) {
                match gone.get(&new[at].bare).map(Vec::as_slice) {
                    Some([only]) => {
                        placed[at] = Some(self.origins[*only]);
                        from[at - range.start] = Some(*only);
                    }
                    Some(several) => {
                        let ids: Vec<OriginId> = several.iter().map(|at| self.origins[*at]).collect();
                        placed[at] = Some(self.table.one_of(ids));
                        from[at - range.start] = several.first().copied();
                    }
                    None => {
                        if let Some(ids) = earlier.get(&new[at].bare) {
                            placed[at] = Some(self.table.one_of(ids.iter().copied()));
                        }
                    }
                }
            }
            let with_neighbour = |at: usize,
                                  old: Option<usize>,
                                  from: &mut Vec<Option<usize>>,
                                  placed: &mut [Option<OriginId>]| {
                let Some(old) = old.filter(|old| *old < self.lines.len()) else { return };
                if placed[at].is_none() && self.lines[old].bare == new[at].bare && removed.binary_search(&old).is_ok() {
                    placed[at] = Some(self.origins[old]);
                    from[at - range.start] = Some(old);
                }
            };
            for at in range.clone().skip(1) {
                let old = from[at - range.start - 1].map(|old| old + 1);
                with_neighbour(at, old, &mut from, placed);
            }
            for at in range.clone().rev().skip(1) {
                let old = from[at - range.start + 1].and_then(|old| old.checked_sub(1));
                with_neighbour(at, old, &mut from, placed);
            }
        }
    }

    /// Gives lines that a formatter has only wrapped otherwise the origins of the lines that they were.
    fn place_rewrapped(&mut self, ops: &[DiffOp], text: &[u8], starts: &[usize], placed: &mut [Option<OriginId>]) {
        let Some(old_text) = self.text.take() else { return };
        let is_wrapped =
            |op: &&DiffOp| matches!(op, DiffOp::Replace { old_len, new_len, .. } if *old_len.max(new_len) <= 2_000);
        for op in ops.iter().filter(is_wrapped) {
            let (old, new) = (op.old_range(), op.new_range());
            let owners = |text: &[u8], starts: &[usize], range: Range<usize>| -> (Vec<u8>, Vec<usize>) {
                let line = |at: usize| &text[starts[at]..starts.get(at + 1).copied().unwrap_or(text.len())];
                let each = range.flat_map(|at| line(at).iter().map(move |byte| (*byte, at)));
                // A formatter adds or removes a comma at the end of a list that it wraps.
                each.filter(|(byte, _)| !byte.is_ascii_whitespace() && *byte != b',').unzip()
            };
            let ((old_bytes, old_owner), (new_bytes, new_owner)) =
                (owners(&old_text, &self.starts, old), owners(text, starts, new.clone()));
            if old_bytes.is_empty() || old_bytes != new_bytes {
                continue;
            }
            let mut from: HashMap<usize, BTreeSet<OriginId>> = HashMap::new();
            for (old, new) in old_owner.iter().zip(&new_owner) {
                from.entry(*new).or_default().insert(self.origins[*old]);
            }
            for at in new {
                if let Some(ids) = from.get(&at) {
                    placed[at] = Some(self.table.one_of(ids.iter().copied()));
                }
            }
        }
        self.text = Some(old_text);
    }

    /// Gives lines that stand in a call which could not be repeated the origin of that call.
    fn place_by_text(
        &mut self,
        loose: &[(&EditCall, &Turn)],
        new: &[Line],
        inserted: &[Range<usize>],
        placed: &mut [Option<OriginId>],
        change: &Change<'_>,
    ) {
        if loose.is_empty() {
            return;
        }
        // By turn, the newest call of each: of several calls of a turn, the last one has written what stands there.
        let mut by_line: HashMap<Bare, Vec<(&Turn, OriginId)>> = HashMap::new();
        for (call, turn) in loose {
            let origin = self.table.id(change.origin_of(call, turn));
            for bare in call.new_lines() {
                let known = by_line.entry(bare).or_default();
                known.retain(|(known, _)| (&known.session, &known.prompt_id) != (&turn.session, &turn.prompt_id));
                known.push((turn, origin));
            }
        }
        for at in inserted.iter().flat_map(Clone::clone) {
            if placed[at].is_none()
                && let Some(origins) = by_line.get(&new[at].bare)
            {
                placed[at] = Some(self.table.one_of(origins.iter().map(|(_, origin)| *origin)));
            }
        }
    }

    /// Gives lines that a checkout has brought back the origins that they had before another one took them away.
    fn place_returned(
        &mut self,
        new: &[Line],
        inserted: &[Range<usize>],
        placed: &mut [Option<OriginId>],
        change: &Change<'_>,
    ) {
        if change.new_head.is_none() {
            return;
        }
        let open = |placed: &[Option<OriginId>]| {
            inserted.iter().flat_map(Clone::clone).filter(|at| placed[*at].is_none()).collect::<Vec<_>>()
        };
        for state in self.left.clone().iter().rev() {
            let wanted = open(placed);
            if wanted.is_empty() {
                return;
            }
            let known: BTreeSet<Bare> = state.0.iter().map(|line| line.bare).filter(|bare| bare.is_telling()).collect();
            if !wanted.iter().any(|at| known.contains(&new[*at].bare)) {
                continue;
            }
            for op in compare(&state.0, new).iter().filter(|op| matches!(op, DiffOp::Equal { .. })) {
                // A line that says little counts only in a run with one that says more.
                let is_telling = op.new_range().any(|at| new[at].bare.is_telling() && placed[at].is_none());
                for (from, to) in op.old_range().zip(op.new_range()).filter(|_| is_telling) {
                    placed[to].get_or_insert(state.1[from]);
                }
            }
        }
    }

    /// Names both candidates at the edges of a change that may as well lie some lines further up or down.
    fn doubt_edges(&mut self, ops: &[DiffOp], new: &[Line], origins: &mut [OriginId]) {
        for op in ops {
            match op {
                DiffOp::Insert { new_index, new_len, .. } => {
                    let (start, end) = (*new_index, new_index + new_len);
                    let (up, down) = slide(new, start..end);
                    self.doubt(origins, start - up..end + down, *new_len);
                }
                DiffOp::Delete { old_index, old_len, new_index } => {
                    let (start, end) = (*old_index, old_index + old_len);
                    let (up, down) = slide(&self.lines, start..end);
                    // Each of these lines may be the one a period further: in the old lines, `old_len` later or earlier.
                    for old in start - up..start + down {
                        if let Some(origin) = (new_index + old).checked_sub(start).and_then(|at| origins.get_mut(at)) {
                            *origin = self.table.one_of([self.origins[old], self.origins[old + old_len], *origin]);
                        }
                    }
                }
                DiffOp::Equal { .. } | DiffOp::Replace { .. } => {}
            }
        }
    }

    /// Names, in the part over which an insertion of `length` lines can slide, the origins that equal lines in it have.
    fn doubt(&mut self, origins: &mut [OriginId], part: Range<usize>, length: usize) {
        if part.len() == length {
            return;
        }
        for phase in 0..length.min(part.len()) {
            let places: Vec<usize> = part.clone().skip(phase).step_by(length).collect();
            let ids: BTreeSet<OriginId> = places.iter().map(|at| origins[*at]).collect();
            if places.len() > 1 && ids.len() > 1 {
                let doubt = self.table.one_of(ids);
                for at in places {
                    origins[at] = doubt;
                }
            }
        }
    }
}

/// Returns how many lines further up and down a part of a text may as well lie.
fn slide(lines: &[Line], part: Range<usize>) -> (usize, usize) {
    let Range { start, end } = part;
    let is_same = |line: usize, other: usize| lines[line].bare == lines[other].bare;
    let up = (1..=MAX_SLIDE.min(start)).take_while(|by| is_same(start - by, end - by)).count();
    let down = (0..MAX_SLIDE.min(lines.len() - end)).take_while(|by| is_same(start + by, end + by)).count();
    (up, down)
}

fn has_crlf(text: &[u8]) -> bool {
    // Nearly every text has no such character at all: that is found out faster.
    memchr::memchr(b'\r', text).is_some_and(|at| memmem::find(&text[at..], b"\r\n").is_some())
}

fn with_crlf(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 20);
    for byte in text {
        if *byte == b'\n' {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    out
}

/// Compares lines without their blanks. Equal beginnings and ends are set apart first: they are most of a file.
pub(super) fn compare(old: &[Line], new: &[Line]) -> Vec<DiffOp> {
    compare_by(old, new, |line, other| line.bare == other.bare)
}

/// Compares the old and the new text of an edit, which repeats the lines around its change exactly.
fn compare_edit(old: &[Line], new: &[Line]) -> Vec<DiffOp> {
    compare_by(old, new, |line, other| line == other)
}

/// Compares lines; `is_same` says which are set apart at both ends.
fn compare_by(old: &[Line], new: &[Line], is_same: impl Fn(&Line, &Line) -> bool) -> Vec<DiffOp> {
    let most = old.len().min(new.len());
    let head = (0..most).position(|at| !is_same(&old[at], &new[at])).unwrap_or(most);
    let most = most - head;
    let differs = |at: &usize| !is_same(&old[old.len() - 1 - at], &new[new.len() - 1 - at]);
    let tail = (0..most).find(differs).unwrap_or(most);
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut ops = Vec::new();
    let (mut from, mut to) = (head, head);
    if head > 0 {
        ops.push(DiffOp::Equal { old_index: 0, new_index: 0, len: head });
    }
    // Several small changes of a long file, each with many equal lines behind it, are compared one by one.
    while let Some((old_len, new_len)) = next_anchor(&old[from..old_end], &new[to..new_end]) {
        push_differences(&mut ops, old, new, from..from + old_len, to..to + new_len);
        (from, to) = (from + old_len, to + new_len);
        let most = (old_end - from).min(new_end - to);
        let len = (0..most).position(|at| old[from + at].bare != new[to + at].bare).unwrap_or(most);
        ops.push(DiffOp::Equal { old_index: from, new_index: to, len });
        (from, to) = (from + len, to + len);
    }
    push_differences(&mut ops, old, new, from..old_end, to..new_end);
    if tail > 0 {
        ops.push(DiffOp::Equal { old_index: old_end, new_index: new_end, len: tail });
    }
    ops
}

/// Returns how many lines of each text come before the next long run of equal lines; `None` if it is not near.
fn next_anchor(old: &[Line], new: &[Line]) -> Option<(usize, usize)> {
    let is_anchor = |from: usize, to: usize| {
        let (Some(old), Some(new)) = (old.get(from..from + ANCHOR.0), new.get(to..to + ANCHOR.0)) else { return false };
        old.iter().zip(new).all(|(line, other)| line.bare == other.bare)
            && new.iter().filter(|line| line.bare.is_telling()).count() >= ANCHOR.1
    };
    // The shortest change first, and of these the one that replaces lines by as many others.
    (0..=2 * NEAR).find_map(|sum| {
        let splits = (0..=sum / 2).flat_map(|by| [(sum - by, by), (by, sum - by)]);
        let mut splits: Vec<(usize, usize)> = splits.collect();
        splits.reverse();
        splits.into_iter().find(|(from, to)| is_anchor(*from, *to))
    })
}

/// Lines by their hashes without blanks, as they are compared.
struct BareLines<'a>(&'a [Line]);

impl Index<usize> for BareLines<'_> {
    type Output = Bare;

    fn index(&self, at: usize) -> &Bare {
        &self.0[at].bare
    }
}

/// Adds the differences of a part of both texts.
fn push_differences(ops: &mut Vec<DiffOp>, old: &[Line], new: &[Line], from: Range<usize>, to: Range<usize>) {
    if from.is_empty() && to.is_empty() {
        return;
    }
    let deadline = Some(Instant::now() + COMPARE);
    ops.extend(capture_diff_deadline(Algorithm::Patience, &BareLines(old), from, &BareLines(new), to, deadline));
}
