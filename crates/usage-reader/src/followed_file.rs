//! A transcript that is read as it grows.

use std::io::{self, Read};
use std::path::Path;

use longhaul_cost::{RolloutUsage, UsageLine, UsageScanner};
use longhaul_runtime::TranscriptFile;

use crate::usage_files::{is_packed, is_rollout};

/// How far a transcript was read.
#[derive(Debug)]
pub(crate) struct FollowedFile {
    offset: u64,
    scanner: UsageScanner,
    /// What is known from the lines of a rollout; `None` for a transcript of Claude Code.
    rollout: Option<RolloutUsage>,
    is_packed: bool,
}

impl FollowedFile {
    /// Returns a file of which nothing was read.
    pub(crate) fn new(path: &Path) -> Self {
        let rollout = is_rollout(path).then(RolloutUsage::default);
        let scanner = if rollout.is_some() { UsageScanner::for_rollouts() } else { UsageScanner::default() };
        Self { offset: 0, scanner, rollout, is_packed: is_packed(path) }
    }

    /// Returns whether it is a rollout of Codex.
    pub(crate) fn is_rollout(&self) -> bool {
        self.rollout.is_some()
    }

    /// Returns whether a file of this length is shorter than what was read, so that it is another file.
    pub(crate) fn has_shrunk_to(&self, length: u64) -> bool {
        length < self.offset
    }

    /// Returns whether a file of this length was read completely.
    pub(crate) fn is_read_to(&self, length: u64) -> bool {
        length <= self.offset
    }

    /// Reads what was added since the last call, up to this length. Calls `found` with every complete line with usage.
    ///
    /// A compressed file that has changed is read from its beginning: its requests are recognised.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        length: u64,
        piece: &mut [u8],
        mut found: impl FnMut(UsageLine<'_>),
    ) -> io::Result<()> {
        if self.is_read_to(length) {
            return Ok(());
        }
        let mut content = TranscriptFile::open(path)?;
        let most = if self.is_packed {
            *self = Self::new(path);
            u64::MAX
        } else {
            content.go_to(self.offset)?;
            length - self.offset
        };
        let mut content = content.take(most);
        loop {
            match content.read(piece) {
                Ok(0) => break,
                Ok(read) => {
                    self.offset += if self.is_packed { 0 } else { read as u64 };
                    let Self { scanner, rollout, .. } = self;
                    scanner.feed(&piece[..read], |line| take(rollout, line, &mut found));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.is_packed {
            self.offset = length;
        }
        Ok(())
    }

    /// Ends the file: calls `found` with the last line if it has no line break. Nothing can be read after that.
    pub(crate) fn finish(&mut self, mut found: impl FnMut(UsageLine<'_>)) {
        let Self { scanner, rollout, .. } = self;
        scanner.finish(|line| take(rollout, line, &mut found));
    }

    /// Returns the number of lines that were too long.
    pub(crate) fn skipped(&self) -> u64 {
        self.scanner.skipped()
    }
}

/// Parses a line, and passes on what it reports.
fn take(rollout: &mut Option<RolloutUsage>, line: &[u8], found: &mut impl FnMut(UsageLine<'_>)) {
    match rollout {
        Some(rollout) => rollout.line(line).into_iter().for_each(found),
        None => UsageLine::parse(line).into_iter().for_each(found),
    }
}
