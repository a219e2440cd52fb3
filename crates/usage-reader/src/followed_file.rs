//! A transcript that is read as it grows.

use std::io::{self, Read};
use std::path::Path;

use longhaul_cost::UsageScanner;
use longhaul_runtime::TranscriptFile;

/// How far a transcript was read.
#[derive(Debug, Default)]
pub(crate) struct FollowedFile {
    offset: u64,
    scanner: UsageScanner,
}

impl FollowedFile {
    /// Returns whether a file of this length is shorter than what was read, so that it is another file.
    pub(crate) fn has_shrunk_to(&self, length: u64) -> bool {
        length < self.offset
    }

    /// Returns whether a file of this length was read completely.
    pub(crate) fn is_read_to(&self, length: u64) -> bool {
        length <= self.offset
    }

    /// Reads what was added since the last call, up to this length. Calls `found` with every complete line with usage.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        length: u64,
        piece: &mut [u8],
        mut found: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        if self.is_read_to(length) {
            return Ok(());
        }
        let mut content = TranscriptFile::open(path)?;
        content.go_to(self.offset)?;
        let mut content = content.take(length - self.offset);
        loop {
            match content.read(piece) {
                Ok(0) => return Ok(()),
                Ok(read) => {
                    self.offset += read as u64;
                    self.scanner.feed(&piece[..read], &mut found);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends the file: calls `found` with the last line if it has no line break. Nothing can be read after that.
    pub(crate) fn finish(&mut self, found: impl FnMut(&[u8])) {
        self.scanner.finish(found);
    }

    /// Returns the number of lines that were too long.
    pub(crate) fn skipped(&self) -> u64 {
        self.scanner.skipped()
    }
}
