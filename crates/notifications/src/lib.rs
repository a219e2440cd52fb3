//! Notifications: whether a change of a session is reported (`decision.rs`), what is said (`message.rs`), and how it is sent
//! (`ways.rs`). The log of what was sent or not is kept by `detached.rs`.
//!
//! No hook links this crate: hooks start `longhaul run-notify`.

mod decision;
mod detached;
mod message;
mod outgoing;
mod trial;
mod ways;

pub use crate::detached::{KEPT_DAYS, run as run_detached};
pub use crate::trial::{Missing, has_desktop, missing, run as run_trial};

#[cfg(test)]
mod tests;
