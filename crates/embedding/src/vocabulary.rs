//! WordPiece: a text becomes tokens of a fixed vocabulary.

use crate::format::{FormatError, Shape, read_u32};
use crate::normalize::words;

/// The most tokens of a text that count. A longer text says what it is about at its beginning.
pub const MAX_TOKENS: usize = 512;

/// A word with more characters is no word of a language, and has no meaning here.
const MAX_WORD_CHARS: usize = 100;

/// What a piece inside a word begins with.
const INSIDE: &[u8] = b"##";

/// The head of a model file: its id, its sizes and its tokens.
///
/// Tokens are found by binary search in the file's own bytes: nothing is built when it is loaded.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    bytes: Vec<u8>,
    shape: Shape,
}

impl Vocabulary {
    /// Takes the head of a model file, or the whole of it.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, FormatError> {
        let shape = Shape::parse(&bytes)?;
        if bytes.len() < shape.head_bytes() {
            return Err(FormatError::Damaged("the vocabulary ends early"));
        }
        let vocabulary = Self { bytes, shape };
        if vocabulary.offset(shape.tokens) != shape.text_bytes {
            return Err(FormatError::Damaged("the vocabulary's text has another length"));
        }
        if std::str::from_utf8(vocabulary.id_bytes()).is_err() {
            return Err(FormatError::Damaged("the id is not UTF-8"));
        }
        Ok(vocabulary)
    }

    /// Returns the model's id: two models with the same id compute the same vectors.
    pub fn id(&self) -> &str {
        std::str::from_utf8(self.id_bytes()).unwrap_or_default()
    }

    /// Returns the sizes of the file's parts.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the numbers of a text's tokens, in order, at most [`MAX_TOKENS`]. Words that are not in the vocabulary
    /// are left out.
    pub fn tokens(&self, text: &str) -> Vec<usize> {
        let mut tokens = Vec::new();
        let mut piece = Vec::new();
        for word in words(text) {
            if tokens.len() >= MAX_TOKENS {
                break;
            }
            self.split(&word, &mut piece, &mut tokens);
        }
        tokens.truncate(MAX_TOKENS);
        tokens
    }

    /// Returns whether any word of a text is a token as a whole. A single character or sign says nothing and does not count,
    /// except in Chinese, where it is a word.
    ///
    /// A text of which only pieces of words are known still has a vector, but one of letters, which means nothing.
    pub fn knows_any_word(&self, text: &str) -> bool {
        words(text).any(|word| {
            let is_word = word.chars().nth(1).is_some() || word.chars().all(|c| c.is_alphabetic() && !c.is_ascii());
            is_word && self.find(word.as_bytes()).is_some()
        })
    }

    /// Splits a word into the longest pieces there are, from its beginning; one that cannot be split so has none.
    fn split(&self, word: &str, piece: &mut Vec<u8>, tokens: &mut Vec<usize>) {
        if word.chars().count() > MAX_WORD_CHARS {
            return;
        }
        let before = tokens.len();
        let mut rest = word;
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let longest = ends.into_iter().find_map(|end| {
                piece.clear();
                if rest.len() < word.len() {
                    piece.extend_from_slice(INSIDE);
                }
                piece.extend_from_slice(&rest.as_bytes()[..end]);
                self.find(piece).map(|token| (token, end))
            });
            let Some((token, end)) = longest else {
                tokens.truncate(before);
                return;
            };
            tokens.push(token);
            rest = &rest[end..];
        }
    }

    fn find(&self, piece: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.shape.tokens);
        while low < high {
            let middle = low.midpoint(high);
            match self.token(middle).cmp(piece) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn token(&self, number: usize) -> &[u8] {
        let text = &self.bytes[self.shape.text_start()..self.shape.head_bytes()];
        text.get(self.offset(number)..self.offset(number + 1)).unwrap_or_default()
    }

    fn offset(&self, number: usize) -> usize {
        read_u32(&self.bytes, self.shape.offsets_start() + 4 * number).unwrap_or_default()
    }

    fn id_bytes(&self) -> &[u8] {
        &self.bytes[self.shape.id_start()..self.shape.offsets_start()]
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
