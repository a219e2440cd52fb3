#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod checksums;
mod launcher;
mod links;
mod location;
mod machine;

pub use crate::checksums::{CHECKSUMS, Checksums, ParseError};
pub use crate::launcher::{is_launcher, launcher};
pub use crate::links::{Link, links};
pub use crate::location::Location;
pub use crate::machine::{Machine, choose};

#[cfg(test)]
mod tests;
