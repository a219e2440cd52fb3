//! The client's transcript: one JSON object a line, internal and unstable. Bytes in, facts out; what is not understood
//! is skipped.

mod usage;

pub use crate::usage::{Usage, latest_usage, window_tokens};

#[cfg(test)]
mod tests;
