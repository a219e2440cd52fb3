//! The layout of a model file.
//!
//! All numbers are little-endian.
//!
//! | Part | Bytes |
//! |---|---|
//! | `LHVEC`, then the format's version, 1, as three bytes `0 0 1` | 8 |
//! | dimensions of a vector | u32 |
//! | number of tokens | u32 |
//! | length of the model's id | u32 |
//! | length of all tokens together | u32 |
//! | the model's id, UTF-8 | as given above |
//! | where each token begins in the text of all tokens, and where the last one ends | u32 × (tokens + 1) |
//! | the text of all tokens, sorted by their bytes; a piece inside a word begins with `##` | as given above |
//! | the scale of each token's vector, a finite number | f32 × tokens |
//! | the vectors, in the order of the tokens; times its scale, a row is the token's vector | i8 × dimensions × tokens |
//!
//! Everything before the scales is the head. A process that needs one vector reads the head and a few rows.

/// The first bytes of every model file.
const MAGIC: [u8; 8] = *b"LHVEC\0\0\x01";

/// The longest file that is read.
pub const MAX_BYTES: u64 = 64 << 20;

const MAX_DIMS: usize = 4096;
const MAX_TOKENS: usize = 1 << 20;

/// Why bytes are no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// It begins with something else.
    #[error("this is not a Longhaul model file of version 1")]
    NotAModel,
    /// Its parts do not fit together.
    #[error("the model file is damaged: {0}")]
    Damaged(&'static str),
}

/// How large the parts of a model file are, read from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Dimensions of a vector.
    pub dims: usize,
    /// Number of tokens.
    pub tokens: usize,
    pub(crate) id_bytes: usize,
    pub(crate) text_bytes: usize,
}

impl Shape {
    /// How many bytes [`Shape::parse`] needs.
    pub const BYTES: usize = 24;

    /// Reads the beginning of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        let Some((magic, rest)) = bytes.split_at_checked(MAGIC.len()) else { return Err(FormatError::NotAModel) };
        if magic != MAGIC {
            return Err(FormatError::NotAModel);
        }
        let number = |at: usize| read_u32(rest, at).ok_or(FormatError::Damaged("the first bytes are missing"));
        let shape = Self { dims: number(0)?, tokens: number(4)?, id_bytes: number(8)?, text_bytes: number(12)? };
        let is_sound = (1..=MAX_DIMS).contains(&shape.dims)
            && (1..=MAX_TOKENS).contains(&shape.tokens)
            && (1..=200).contains(&shape.id_bytes)
            && shape.total_bytes() as u64 <= MAX_BYTES;
        if is_sound { Ok(shape) } else { Err(FormatError::Damaged("impossible sizes")) }
    }

    /// Returns the bytes of everything before the scales.
    pub fn head_bytes(&self) -> usize {
        self.text_start() + self.text_bytes
    }

    /// Returns the bytes of the whole file.
    pub fn total_bytes(&self) -> usize {
        self.row_offset(self.tokens)
    }

    /// Returns where the scale of a token's vector stands in the file.
    pub fn scale_offset(&self, token: usize) -> usize {
        self.head_bytes() + 4 * token
    }

    /// Returns where a token's vector stands in the file.
    pub fn row_offset(&self, token: usize) -> usize {
        self.scale_offset(self.tokens) + self.dims * token
    }

    pub(crate) fn id_start(&self) -> usize {
        Self::BYTES
    }

    pub(crate) fn offsets_start(&self) -> usize {
        self.id_start() + self.id_bytes
    }

    pub(crate) fn text_start(&self) -> usize {
        self.offsets_start() + 4 * (self.tokens + 1)
    }
}

/// Reads a number; `None` where the bytes end before.
pub(crate) fn read_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*four)).ok()
}
