//! Handoff: who passes what on to whom, and how much of it fits.
//!
//! A session that is cleared leaves a [`Baton`]; the next one takes it ([`choose`]), inherits the session behind it
//! ([`predecessor`]) and is shown what was said there, curated into a budget ([`render`]).
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
mod middle;
mod predecessor;
mod render;
mod render_input;
mod skeleton;
mod time_query;
mod turn_text;

pub use longhaul_core::clock::{Date, date_of, time_of};

pub use crate::baton::{Baton, Trigger, baton_command};
pub use crate::choose::{Client, NoBaton, Offer, Pick, Taker, choose};
pub use crate::middle::cut_middle;
pub use crate::predecessor::{ChainError, MAX_MERGES, Refusal, Session, follow, newest_unmerged, predecessor};
pub use crate::render::{Rendered, allowance, render, render_into};
pub use crate::render_input::{Context, Said, TurnView};
pub use crate::skeleton::{Action, Work, skeleton};
pub use crate::time_query::{Moment, MomentError, Span, parse_moment};

#[cfg(test)]
mod tests;
