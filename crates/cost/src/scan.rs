//! Finds the lines with usage in the bytes of a transcript, which are most of the time less than half of it.

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

/// What every line with usage contains. Inside of a JSON string the quotes are escaped, so text cannot contain it.
const NEEDLE: &[u8] = b"\"usage\":";

/// What every line of a rollout contains.
const ROLLOUT_NEEDLE: &[u8] = b"\"type\":";

/// The maximum length of a line. A longer one is skipped.
const MAX_LINE: usize = 64 << 20;

/// Splits pieces of a transcript into lines, and passes on those with usage.
///
/// Holds at most one line. A line that is longer than 64 MiB is skipped.
#[derive(Debug)]
pub struct UsageScanner {
    finder: Finder<'static>,
    /// The beginning of a line whose end was not seen yet.
    rest: Vec<u8>,
    /// The line is too long, and its end was not seen yet.
    is_skipping: bool,
    /// The number of lines that were too long.
    skipped: u64,
}

impl Default for UsageScanner {
    fn default() -> Self {
        Self::new(NEEDLE)
    }
}

impl UsageScanner {
    /// Returns a scanner for a rollout of Codex. It passes on every line: what one with usage means depends on those before it.
    pub fn for_rollouts() -> Self {
        Self::new(ROLLOUT_NEEDLE)
    }

    fn new(needle: &'static [u8]) -> Self {
        Self { finder: Finder::new(needle), rest: Vec::new(), is_skipping: false, skipped: 0 }
    }

    /// Takes the next piece of a transcript. Calls `found` with every complete line that contains usage.
    pub fn feed(&mut self, piece: &[u8], mut found: impl FnMut(&[u8])) {
        let Some(first_end) = memchr(b'\n', piece) else { return self.keep(piece) };
        let mut from = 0;
        if !self.rest.is_empty() || self.is_skipping {
            self.keep(&piece[..first_end]);
            self.finish(&mut found);
            from = first_end + 1;
        }
        let last_end = memrchr(b'\n', piece).unwrap_or(first_end);
        while from <= last_end
            && let Some(at) = self.finder.find(&piece[from..=last_end])
        {
            let at = from + at;
            let start = memrchr(b'\n', &piece[from..at]).map_or(from, |end| from + end + 1);
            let end = memchr(b'\n', &piece[at..]).map_or(piece.len(), |end| at + end);
            found(&piece[start..end]);
            from = end + 1;
        }
        self.keep(&piece[last_end + 1..]);
    }

    /// Ends the transcript: the last line may have no line break. Calls `found` with it if it contains usage.
    pub fn finish(&mut self, mut found: impl FnMut(&[u8])) {
        if !self.is_skipping && self.finder.find(&self.rest).is_some() {
            found(&self.rest);
        }
        self.is_skipping = false;
        self.rest.clear();
    }

    /// Returns the number of lines that were too long, and skipped.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn keep(&mut self, part: &[u8]) {
        if self.is_skipping {
            return;
        }
        if self.rest.len() + part.len() > MAX_LINE {
            self.is_skipping = true;
            self.skipped += 1;
            self.rest = Vec::new();
            return;
        }
        self.rest.extend_from_slice(part);
    }
}
