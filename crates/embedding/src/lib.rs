//! Sentence vectors from a static model: a table of token vectors, averaged.
//!
//! Two texts that mean the same in different words get similar vectors. The model is a file of about 4 MB that
//! `cargo xtask model` makes; a text takes microseconds. This crate reads the file's bytes and computes. It opens no
//! file itself.
//!
//! ```no_run
#![doc = include_str!("../examples/compare.rs")]
//! ```

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
