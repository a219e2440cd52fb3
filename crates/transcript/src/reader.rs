//! Reading a transcript in pieces of any size.

use std::collections::{HashMap, HashSet};

use crate::entry::{Entry, EntryKind, trim};
use crate::rollout;
use crate::turn::Turn;

/// The maximum length of a line, in bytes. A longer line is skipped without being held in memory.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// The result of a read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Batch {
    /// The position at which the next read begins: after the last complete line.
    pub cursor: Cursor,
    /// The turns, in the order of the file. The first one may continue a turn of an earlier read (`begins` is false).
    pub turns: Vec<Turn>,
    /// Every entry of the main conversation, in the order of the file, for [`crate::replaced_turns`].
    pub links: Vec<Link>,
    /// The entries of subagents' conversations, which belong to no turn.
    pub sidechains: Vec<Entry>,
    /// Where the last turns were taken back, in the order of the file. Only rollouts of Codex report that.
    pub rollbacks: Vec<Rollback>,
    /// The number of complete lines that are not JSON or too long. Lines without a uuid are common and not counted.
    pub broken_lines: u64,
}

/// A place in a transcript at which the last turns were taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rollback {
    /// The number of turns of the batch before it.
    pub after: usize,
    /// The number of turns that were taken back. They may begin before the batch.
    pub turns: usize,
}

impl Batch {
    /// Returns the ids of the turns of this batch that were taken back in it.
    pub fn rolled_back(&self) -> HashSet<&str> {
        let mut live: Vec<&str> = Vec::new();
        let mut gone = HashSet::new();
        let mut rollbacks = self.rollbacks.iter().peekable();
        for at in 0..=self.turns.len() {
            while let Some(rollback) = rollbacks.next_if(|rollback| rollback.after <= at) {
                gone.extend(live.drain(live.len().saturating_sub(rollback.turns)..));
            }
            live.extend(self.turns.get(at).map(|turn| turn.id.as_str()));
        }
        gone
    }
}

/// Reads a transcript, from its beginning (`default()`) or from the end of an earlier read (`resume`).
///
/// Call [`Reader::feed`] with pieces of any size, then [`Reader::take`]; calling `take` in between limits the memory that
/// a large file needs. Takes linear time.
#[derive(Debug, Default)]
pub struct Reader {
    batch: Batch,
    /// The beginning of a line that is not complete yet.
    partial: Vec<u8>,
    /// The number of bytes of that line that were dropped because it is too long.
    dropped: u64,
    /// The index of each tool call in the running turn, by its id.
    calls: HashMap<String, usize>,
    /// The last bytes before the cursor.
    window: Vec<u8>,
}

impl Reader {
    /// Returns a reader that continues at `cursor`, given the bytes before it (see [`Cursor::check_offset`]).
    ///
    /// Returns `None` where those bytes have changed: the file was replaced. Start again with `Reader::default()` at the
    /// first byte of the file.
    pub fn resume(cursor: Cursor, before: &[u8]) -> Option<Self> {
        cursor.holds(before).then(|| Self {
            window: before.to_vec(),
            batch: Batch { cursor, ..Batch::default() },
            ..Self::default()
        })
    }

    /// Reads the next bytes of the file.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = line_end(bytes) {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            // Of a line that is too long, the end is held.
            if self.partial.is_empty() {
                self.line(line);
            } else {
                self.hold(line);
                let whole = std::mem::take(&mut self.partial);
                self.line(&whole);
            }
        }
        self.hold(bytes);
    }

    /// Returns what has been read since the last call. A line that is not complete yet is kept.
    pub fn take(&mut self) -> Batch {
        self.calls.clear();
        let cursor = self.batch.cursor.clone();
        std::mem::replace(&mut self.batch, Batch { cursor, ..Batch::default() })
    }

    /// Reads a last line without a newline, if it is a complete JSON object. Call it at the end of the file.
    ///
    /// A client that was killed may have written the object without the newline. If the newline follows later, it is read
    /// as an empty line.
    pub fn finish(&mut self) {
        if self.dropped == 0 && is_object(&self.partial) {
            let line = std::mem::take(&mut self.partial);
            self.line(&line);
        }
    }

    /// Returns whether the line that is being read is too long.
    pub fn is_in_long_line(&self) -> bool {
        self.dropped > 0 || self.partial.len() >= MAX_LINE
    }

    /// Skips the line that is being read, so that the next read does not begin with it again; returns its length so far.
    ///
    /// The rest of the line, if it follows later, counts as a broken line.
    pub fn pass_over(&mut self) -> u64 {
        let held = std::mem::take(&mut self.partial);
        let length = std::mem::take(&mut self.dropped) + held.len() as u64;
        self.advance(length, &held);
        self.batch.broken_lines += 1;
        length
    }

    fn hold(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        if self.partial.len() > MAX_LINE {
            // The end is kept: it shows whether the line is complete, and the cursor's checksum needs it.
            let excess = self.partial.len() - Cursor::MARK_BYTES;
            self.partial.drain(..excess);
            self.dropped += excess as u64;
        }
    }

    /// Reads a complete line, including its newline.
    fn line(&mut self, line: &[u8]) {
        let dropped = std::mem::take(&mut self.dropped);
        self.advance(dropped + line.len() as u64, line);
        if dropped > 0 || line.len() > MAX_LINE {
            self.batch.broken_lines += 1;
            return;
        }
        // A crash can leave NUL bytes before the next line.
        let hole = line.iter().take_while(|byte| **byte == 0).count();
        match Entry::parse(&line[hole..]) {
            Some(entry) if entry.sidechain => self.batch.sidechains.push(entry),
            Some(entry) => self.entry(entry),
            // Lines without a uuid are common, and the lines of a rollout have none.
            None if self.rollout_line(&line[hole..]) => {}
            None if line.trim_ascii().is_empty() || is_json(line) => {}
            None => self.batch.broken_lines += 1,
        }
    }

    /// Reads a line of a rollout; returns whether it is one.
    fn rollout_line(&mut self, line: &[u8]) -> bool {
        match rollout::parse(line) {
            Some(rollout::RolloutLine::Entry(entry)) => {
                // A rollout has no branches: every entry follows the one before it.
                let parent = self.batch.cursor.tip.clone();
                self.entry(Entry { parent, ..*entry });
                true
            }
            Some(rollout::RolloutLine::RolledBack(turns)) => {
                self.batch.rollbacks.push(Rollback { after: self.batch.turns.len(), turns });
                true
            }
            Some(rollout::RolloutLine::Other) => true,
            None => false,
        }
    }

    /// Advances the cursor by `bytes`; `end` holds the last of them.
    fn advance(&mut self, bytes: u64, end: &[u8]) {
        let kept = end.len().min(Cursor::MARK_BYTES);
        self.window.extend_from_slice(&end[end.len() - kept..]);
        self.window.drain(..self.window.len().saturating_sub(Cursor::MARK_BYTES));
        self.batch.cursor.advance(bytes, &self.window);
    }

    fn entry(&mut self, entry: Entry) {
        let begins = match entry.kind {
            EntryKind::Prompt { .. } => true,
            // A reply without a prompt begins a turn of its own.
            EntryKind::Reply | EntryKind::Results | EntryKind::Failure(_) => self.batch.cursor.turn.is_none(),
            EntryKind::Interrupt
            | EntryKind::Summary(_)
            | EntryKind::Note(_)
            | EntryKind::Attachment { .. }
            | EntryKind::Other => false,
        };
        if begins {
            self.batch.cursor.turn = Some(entry.uuid.clone());
            self.batch.turns.push(Turn::begin(&entry));
            self.calls.clear();
        }
        let turn = self.batch.cursor.turn.clone();
        self.batch.cursor.tip = Some(entry.uuid.clone());
        let link = Link { uuid: entry.uuid.clone(), parent: entry.parent.clone(), turn: turn.clone() };
        self.batch.links.push(link);
        let Some(turn) = turn else { return };
        if entry.kind == EntryKind::Other {
            return;
        }
        if self.batch.turns.is_empty() {
            self.batch.turns.push(Turn::resume(turn));
        }
        if let Some(open) = self.batch.turns.last_mut() {
            open.add(entry, &mut self.calls);
        }
    }
}

fn line_end(bytes: &[u8]) -> Option<usize> {
    // `contains` is many times faster than `position`, which matters for gigabytes without a newline.
    if bytes.contains(&b'\n') { bytes.iter().position(|byte| *byte == b'\n') } else { None }
}

/// Returns whether a line without a newline is complete: nothing can follow the end of an object.
fn is_object(line: &[u8]) -> bool {
    let line = trim(line);
    line.first() == Some(&b'{') && line.last() == Some(&b'}') && is_json(line)
}

/// Returns whether a line is valid JSON.
fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

// The position at which a read ended and the next one continues.

/// The position up to which a transcript has been read, with the state that the next read needs.
///
/// Store it together with the turns, in the same transaction. `default()` is the beginning of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Cursor {
    /// The offset of the first byte that has not been read: the one after the last complete line.
    pub offset: u64,
    /// A checksum of the bytes before `offset`, which detects a replaced file.
    pub mark: u32,
    /// The id of the turn that was running.
    pub turn: Option<String>,
    /// The id of the last entry of the main conversation.
    pub tip: Option<String>,
}

impl Cursor {
    /// The maximum number of bytes before `offset` that `mark` covers.
    pub const MARK_BYTES: usize = 64;

    /// Returns the offset of the first byte that [`Cursor::holds`] needs.
    pub fn check_offset(&self) -> u64 {
        self.offset.saturating_sub(Self::MARK_BYTES as u64)
    }

    /// Returns whether `before`, the file's bytes from `check_offset` to `offset`, is unchanged since the last read.
    ///
    /// Where it is not, or where the file has become shorter, the file was replaced: start again with `default()`.
    pub fn holds(&self, before: &[u8]) -> bool {
        self.offset == 0 || before.len() as u64 == self.offset - self.check_offset() && checksum(before) == self.mark
    }

    /// Advances by `bytes`; `window` holds the last bytes before the new offset.
    fn advance(&mut self, bytes: u64, window: &[u8]) {
        self.offset += bytes;
        self.mark = checksum(window);
    }
}

/// Returns the FNV-1a hash. It detects a file that was replaced; it need not resist an attacker.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum: u32, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

// Finding the turns that a rewind took back.
//
// `/rewind` fires no hook and rewrites nothing: the next prompt has an earlier entry as its parent. Not every fork is a
// rewind: the results of parallel calls each have their own call as parent. So a turn counts as taken back only where
// the prompt that began it is not an ancestor of the newest entry.

/// The position of an entry in the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The entry's id.
    pub uuid: String,
    /// The id of the entry that it follows.
    pub parent: Option<String>,
    /// The id of its turn; its own id where it begins the turn.
    pub turn: Option<String>,
}

impl Link {
    /// Returns whether the entry begins a turn. `/rewind` lists those entries.
    pub fn begins_turn(&self) -> bool {
        self.turn.as_deref() == Some(&self.uuid)
    }
}

/// Returns whether a rewind may be among the new `links`, so that [`replaced_turns`] must be called with all links.
///
/// `tip` is the id of the last entry before them. The result is `false` in most cases: a prompt usually follows the entry
/// before it.
pub fn may_rewind(tip: Option<&str>, links: &[Link]) -> bool {
    let before = std::iter::once(tip).chain(links.iter().map(|link| Some(link.uuid.as_str())));
    links.iter().zip(before).any(|(link, before)| link.begins_turn() && link.parent.as_deref() != before)
}

/// Returns the ids of the turns that are no longer part of the conversation, in the order of the file.
///
/// `links` are all entries of the main conversation in the order of the file. Where an entry's parent is unknown (it could
/// not be read, or a compaction does not name it), the entry before it in the file is used instead. A prompt without a
/// parent starts a new conversation: everything before it was taken back. Where the parents form a cycle, the file is
/// damaged, and no turn is returned.
pub fn replaced_turns(links: &[Link]) -> Vec<&str> {
    let positions: HashMap<&str, usize> =
        links.iter().enumerate().map(|(index, link)| (link.uuid.as_str(), index)).collect();
    let mut live = HashSet::new();
    let mut next = links.len().checked_sub(1);
    while let Some(index) = next {
        let link = &links[index];
        if !live.insert(link.uuid.as_str()) {
            return Vec::new();
        }
        next = match &link.parent {
            None if link.begins_turn() => None,
            None => index.checked_sub(1),
            Some(parent) => positions.get(parent.as_str()).copied().or(index.checked_sub(1)),
        };
    }
    let mut returned = HashSet::new();
    links
        .iter()
        .filter(|link| link.begins_turn() && !live.contains(link.uuid.as_str()))
        .map(|link| link.uuid.as_str())
        .filter(|turn| returned.insert(*turn))
        .collect()
}
