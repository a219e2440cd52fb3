//! Memory: what every session did, told by rule, kept without what is private, and found again.

mod json;
mod key_block;
mod observation;
mod redact;
mod strip;

pub use crate::observation::{Kind, MadeBy, Observation, Summary};
pub use crate::redact::redact;
pub use crate::strip::strip_json;

#[cfg(test)]
mod tests;
