#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod baton;
pub mod bridge;
mod choose;
pub mod continuation;
mod layout;
mod other_agent;
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
