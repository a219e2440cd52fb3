//! The position at which a read ended and the next one continues.

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
    pub(crate) fn advance(&mut self, bytes: u64, window: &[u8]) {
        self.offset += bytes;
        self.mark = checksum(window);
    }
}

/// Returns the FNV-1a hash. It detects a file that was replaced; it need not resist an attacker.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum: u32, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
