//! Sends notifications: reads what the decision needs, sends by each way, and keeps the log.
//!
//! No hook links this crate: hooks start `longhaul-notify`.

mod detached;
mod facts;
mod outgoing;
mod parallel;
mod question;
mod readiness;
mod trial;

mod command;
mod desktop;
mod http;
mod terminal;

pub use crate::detached::{KEPT_DAYS, run as run_detached};
pub use crate::outgoing::SendError;
pub use crate::readiness::{Missing, has_desktop, missing};
pub use crate::trial::run as run_trial;
