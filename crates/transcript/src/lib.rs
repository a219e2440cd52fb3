//! The client's transcript: one JSON object a line, internal and unstable. Bytes in, facts out; what is not understood
//! is skipped.

mod interrupt;
mod usage;

pub use crate::interrupt::ends_in_interrupt;
pub use crate::usage::{Usage, latest_usage, window_tokens};

#[cfg(test)]
mod tests;
