#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod baton;
mod baton_choice;
pub mod bridge;
mod compaction;
pub mod continuation;
mod other_agent;
mod predecessor;
mod render;
mod render_input;
mod skeleton;
mod time_query;
mod turn_layout;
mod turn_text;

pub use longhaul_core::clock::{Date, date_of, time_of};

pub use crate::baton::{BATON_WRITTEN, Baton, BatonTrigger, baton_command};
pub use crate::baton_choice::{BatonChoice, BatonOffer, BatonTaker, ClientProcess, NoBaton, choose};
pub use crate::compaction::{CompactionCall, CompactionFacts, CompactionInput, GivenBack, is_correction};
pub use crate::predecessor::{
    ChainError, ChainSession, FallbackSession, MAX_MERGES, Refusal, fall_back, follow, predecessor,
};
pub use crate::render::{LOADED_TURNS, Rendered, allowance, render, render_into};
pub use crate::render_input::{RenderInput, TimedText, TurnView};
pub use crate::skeleton::{ToolUse, TurnWork, file_of, patched_files, skeleton};
pub use crate::time_query::{Span, TimeQuery, TimeQueryError, parse_time_query};

#[cfg(test)]
mod tests;
