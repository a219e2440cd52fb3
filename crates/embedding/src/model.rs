//! A whole model in memory.

use crate::format::FormatError;
use crate::vector::{Mean, Vector};
use crate::vocabulary::Vocabulary;

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
        Ok(Self { vocabulary })
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
            let scale =
                bytes[shape.scale_offset(token)..].first_chunk().map_or(0.0, |bytes| f32::from_le_bytes(*bytes));
            mean.add(&bytes[shape.row_offset(token)..shape.row_offset(token + 1)], scale);
        }
        mean.finish()
    }
}
