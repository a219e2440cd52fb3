#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod format;
mod model;
mod normalize;
mod vector;
mod vocabulary;

pub use crate::format::{FormatError, MAX_BYTES, Shape};
pub use crate::model::Model;
pub use crate::vector::{Mean, Vector, dot, similarity};
pub use crate::vocabulary::{MAX_TOKENS, Vocabulary};

#[cfg(test)]
mod tests;
