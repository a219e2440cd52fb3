//! Memory: what every session did, told by rule, kept without what is private, and found again.

mod observation;

pub use crate::observation::{Kind, MadeBy, Observation, Summary};
