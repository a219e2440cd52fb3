//! Handoff: which session a new session continues, and what it is shown of it.
//!
//! A session that is cleared leaves a [`Baton`]. The next session takes it ([`choose`]), inherits the session that left it
//! ([`predecessor`]), and is shown what was said there, within a limited number of characters ([`render`]).
//!
//! `cargo run -p longhaul-handoff --example pass_on`:
//!
//! ```no_run
#![doc = include_str!("../examples/pass_on.rs")]
//! ```

mod baton;
pub mod bridge;
mod choose;
pub mod continuation;
mod layout;
mod predecessor;
mod render;
mod render_input;
mod skeleton;
mod time_query;
mod turn_text;

pub use longhaul_core::clock::{Date, date_of, time_of};

pub use crate::baton::{Baton, BatonTrigger, baton_command};
pub use crate::choose::{BatonChoice, BatonOffer, BatonTaker, ClientProcess, NoBaton, choose};
pub use crate::predecessor::{ChainError, ChainSession, MAX_MERGES, Refusal, follow, newest_unmerged, predecessor};
pub use crate::render::{Rendered, allowance, render, render_into};
pub use crate::render_input::{RenderInput, TimedText, TurnView};
pub use crate::skeleton::{ToolUse, TurnWork, skeleton};
pub use crate::time_query::{Span, TimeQuery, TimeQueryError, parse_time_query};

#[cfg(test)]
mod tests;
