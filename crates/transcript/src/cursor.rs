//! Where a read ended, so that the next one goes on there.

/// How far a transcript has been read, and what the next read must know of what came before.
///
/// Four plain values, to be stored beside the turns and in the same transaction. `default()` is the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The first byte not yet read: the one after the last complete line.
    pub offset: u64,
    /// A checksum of the bytes just before `offset`, by which a replaced file is known.
    pub mark: u32,
    /// The turn that was running.
    pub turn: Option<String>,
    /// The last entry of the main conversation.
    pub tip: Option<String>,
}

impl Cursor {
    /// How many bytes before `offset` the mark covers, at most.
    pub const MARK_BYTES: usize = 64;

    /// Returns where to begin reading so as to be able to ask [`Cursor::holds`].
    pub fn check_offset(&self) -> u64 {
        self.offset.saturating_sub(Self::MARK_BYTES as u64)
    }

    /// Returns whether `before`, the file's bytes from `check_offset` to `offset`, is what was read then.
    ///
    /// Where it is not, or where the file has become shorter, it is another file: start over with `default()`.
    pub fn holds(&self, before: &[u8]) -> bool {
        self.offset == 0 || before.len() as u64 == self.offset - self.check_offset() && checksum(before) == self.mark
    }

    /// Moves on by a number of bytes, of which `window` holds the last.
    pub(crate) fn advance(&mut self, bytes: u64, window: &[u8]) {
        self.offset += bytes;
        self.mark = checksum(window);
    }
}

/// FNV-1a: two files that differ must be told apart by chance only, not against an adversary.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum: u32, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
