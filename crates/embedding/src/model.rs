//! A whole model in memory.

use crate::format::FormatError;
use crate::vector::{Mean, Vector};
use crate::vocabulary::Vocabulary;

/// The largest scale of a token's vector. With it, the sum over the most tokens that a text can have is still finite.
const MAX_SCALE: f32 = 1e30;

/// A model file, for many texts.
#[derive(Debug, Clone)]
pub struct Model {
    vocabulary: Vocabulary,
}

impl Model {
    /// Takes the bytes of a model file.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, FormatError> {
        let vocabulary = Vocabulary::parse(bytes)?;
        if vocabulary.bytes().len() != vocabulary.shape().total_bytes() {
            return Err(FormatError::Damaged("the vectors end early, or something follows them"));
        }
        let model = Self { vocabulary };
        // Such a scale gives no vector, and the records of the token would count as processed.
        let are_usable = (0..model.vocabulary.shape().tokens).all(|token| model.scale(token).abs() <= MAX_SCALE);
        if !are_usable {
            return Err(FormatError::Damaged("the scale of a vector is not a number, or is too large"));
        }
        Ok(model)
    }

    /// Returns the model's id.
    pub fn id(&self) -> &str {
        self.vocabulary.id()
    }

    /// Returns the dimensions of its vectors.
    pub fn dims(&self) -> usize {
        self.vocabulary.shape().dims
    }

    /// Returns the vector of a text; `None` where it has no known token.
    pub fn embed(&self, text: &str) -> Option<Vector> {
        let (shape, bytes) = (self.vocabulary.shape(), self.vocabulary.bytes());
        let mut mean = Mean::new(shape.dims);
        for token in self.vocabulary.tokens(text) {
            mean.add(&bytes[shape.row_offset(token)..shape.row_offset(token + 1)], self.scale(token));
        }
        mean.finish()
    }

    fn scale(&self, token: usize) -> f32 {
        let offset = self.vocabulary.shape().scale_offset(token);
        self.vocabulary.bytes()[offset..].first_chunk().map_or(0.0, |bytes| f32::from_le_bytes(*bytes))
    }
}
