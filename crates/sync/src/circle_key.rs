//! The key of a circle, and its form as words.

use std::fmt;

use bip39::{Language, Mnemonic};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The secret key of a circle. Whoever has it can read every record.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct CircleKey([u8; 32]);

/// Why words are not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// The number of words is wrong.
    #[error("a key has 24 words, not {0}")]
    Count(usize),
    /// A word is not in the list.
    #[error("word {0} is not a word of the list")]
    Unknown(usize),
    /// The words are of the list, but the checksum does not match.
    #[error("the words are not a key: one is wrong, or two are swapped")]
    Checksum,
}

impl CircleKey {
    /// Makes a key of random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Returns its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns it as 24 English words (BIP 39).
    pub fn words(&self) -> String {
        let words = Mnemonic::from_entropy_in(Language::English, &self.0).expect("32 bytes are a valid length");
        words.words().collect::<Vec<_>>().join(" ")
    }

    /// Reads the words of a key. Case and white space do not matter.
    pub fn from_words(text: &str) -> Result<Self, WordsError> {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        if words.len() != 24 {
            return Err(WordsError::Count(words.len()));
        }
        let words =
            Mnemonic::parse_in_normalized(Language::English, &words.join(" ")).map_err(|error| match error {
                bip39::Error::UnknownWord(at) => WordsError::Unknown(at + 1),
                _ => WordsError::Checksum,
            })?;
        let (bytes, _) = words.to_entropy_array();
        let mut key = [0; 32];
        key.copy_from_slice(&bytes[..32]);
        Ok(Self(key))
    }
}

impl fmt::Debug for CircleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CircleKey(…)")
    }
}
