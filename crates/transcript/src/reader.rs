//! A transcript in whatever pieces it comes.

use std::collections::HashMap;

use crate::branch::Link;
use crate::cursor::Cursor;
use crate::entry::{Entry, EntryKind, trim};
use crate::rollout;
use crate::turn::Turn;

/// The longest line that is read; a longer one is passed over without being held in memory.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// What a read brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// Where the next read begins: after the last complete line.
    pub cursor: Cursor,
    /// Turns in the order of the file. The first one may continue a turn of an earlier read (`begins` is false).
    pub turns: Vec<Turn>,
    /// Every entry of the main conversation, in the order of the file, for [`crate::replaced_turns`].
    pub links: Vec<Link>,
    /// The entries of subagents' conversations, which are in no turn.
    pub sidechains: Vec<Entry>,
    /// Complete lines that are no JSON or too long. Lines without a uuid are not among them: there are many.
    pub broken_lines: u64,
}

/// Reads a transcript, from its beginning (`default()`) or from where an earlier read ended (`resume`).
///
/// Feed it bytes in pieces of any size and take what they amount to; taking in between keeps memory small on a large
/// file. Linear in what it is fed.
#[derive(Debug, Default)]
pub struct Reader {
    batch: Batch,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    /// Bytes of that line that were thrown away because it is too long.
    dropped: u64,
    /// Where the running turn's calls are.
    calls: HashMap<String, usize>,
    /// The last bytes before the cursor.
    window: Vec<u8>,
}

impl Reader {
    /// Goes on at `cursor`, given the bytes just before it (see [`Cursor::check_offset`]).
    ///
    /// `None` where they are not what was read then: the file was replaced. Start over with `Reader::default()` and the
    /// file's first byte.
    pub fn resume(cursor: Cursor, before: &[u8]) -> Option<Self> {
        cursor.holds(before).then(|| Self {
            window: before.to_vec(),
            batch: Batch { cursor, ..Batch::default() },
            ..Self::default()
        })
    }

    /// Takes in the next bytes of the file.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = line_end(bytes) {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if self.partial.is_empty() && self.dropped == 0 {
                self.line(line);
            } else {
                self.hold(line);
                let whole = std::mem::take(&mut self.partial);
                self.line(&whole);
            }
        }
        self.hold(bytes);
    }

    /// Returns what has been read since the last time. A line whose end is missing stays for later.
    pub fn take(&mut self) -> Batch {
        self.calls.clear();
        let cursor = self.batch.cursor.clone();
        std::mem::replace(&mut self.batch, Batch { cursor, ..Batch::default() })
    }

    /// Takes in a last line that has no newline yet, where it is a whole JSON object; call it at the end of the file.
    ///
    /// A client that was killed may have written the object and not what follows it. The newline, should it come later, is
    /// an empty line of its own.
    pub fn finish(&mut self) {
        if self.dropped == 0 && is_object(&self.partial) {
            let line = std::mem::take(&mut self.partial);
            self.line(&line);
        }
    }

    /// Returns whether the line that is being read is longer than any that is taken in.
    pub fn is_in_long_line(&self) -> bool {
        self.dropped > 0 || self.partial.len() >= MAX_LINE
    }

    /// Gives up the line that is being read, so that the next read does not begin with it again; returns its length so far.
    ///
    /// What comes of it later is a line of its own, and a broken one.
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
            // The end is kept: it tells a replaced file, and whether the line is over.
            let excess = self.partial.len() - Cursor::MARK_BYTES;
            self.partial.drain(..excess);
            self.dropped += excess as u64;
        }
    }

    /// Takes in a complete line, newline included.
    fn line(&mut self, line: &[u8]) {
        let dropped = std::mem::take(&mut self.dropped);
        self.advance(dropped + line.len() as u64, line);
        if dropped > 0 || line.len() > MAX_LINE {
            self.batch.broken_lines += 1;
            return;
        }
        // A crash can leave a hole before the next line.
        let hole = line.iter().take_while(|byte| **byte == 0).count();
        match Entry::parse(&line[hole..]) {
            Some(entry) if entry.sidechain => self.batch.sidechains.push(entry),
            Some(entry) => self.entry(entry),
            // Lines without a uuid are many, and a rollout's are among them.
            None if self.rollout_line(&line[hole..]) => {}
            None if line.trim_ascii().is_empty() || is_json(line) => {}
            None => self.batch.broken_lines += 1,
        }
    }

    /// Takes in a line of a rollout; returns whether it is one.
    fn rollout_line(&mut self, line: &[u8]) -> bool {
        match rollout::parse(line) {
            Some(rollout::RolloutLine::Entry(entry)) => {
                // A rollout has no branches: every entry follows the one before it.
                let parent = self.batch.cursor.tip.clone();
                self.entry(Entry { parent, ..*entry });
                true
            }
            Some(rollout::RolloutLine::Other) => true,
            None => false,
        }
    }

    /// Moves the cursor on by `bytes`, of which `end` holds the last.
    fn advance(&mut self, bytes: u64, end: &[u8]) {
        let kept = end.len().min(Cursor::MARK_BYTES);
        self.window.extend_from_slice(&end[end.len() - kept..]);
        self.window.drain(..self.window.len().saturating_sub(Cursor::MARK_BYTES));
        self.batch.cursor.advance(bytes, &self.window);
    }

    fn entry(&mut self, entry: Entry) {
        let begins = match entry.kind {
            EntryKind::Prompt { .. } => true,
            // A reply without a prompt is kept under its own name.
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
            self.batch.turns.push(Turn::resume(turn, entry.at));
        }
        if let Some(open) = self.batch.turns.last_mut() {
            open.add(entry, &mut self.calls);
        }
    }
}

fn line_end(bytes: &[u8]) -> Option<usize> {
    // Asked first because it is many times faster, which a hole of gigabytes needs.
    if bytes.contains(&b'\n') { bytes.iter().position(|byte| *byte == b'\n') } else { None }
}

/// Returns whether a line without an end is whole all the same: nothing can be added to an object.
fn is_object(line: &[u8]) -> bool {
    let line = trim(line);
    line.first() == Some(&b'{') && line.last() == Some(&b'}') && is_json(line)
}

/// Returns whether a line is an object that merely has no uuid.
fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}
