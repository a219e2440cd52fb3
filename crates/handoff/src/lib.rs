#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod baton;
pub mod bridge;
mod compaction;
pub mod continuation;
mod predecessor;
mod render;
mod skeleton;
mod time_query;

pub use longhaul_core::clock::{Date, date_of, time_of};

pub use crate::baton::{
    BATON_WRITTEN, Baton, BatonChoice, BatonOffer, BatonTaker, BatonTrigger, ClientProcess, NoBaton, baton_command,
    choose,
};
pub use crate::compaction::{CompactionCall, CompactionFacts, CompactionInput, GivenBack, is_correction};
pub use crate::predecessor::{
    ChainError, ChainSession, FallbackSession, MAX_MERGES, Refusal, fall_back, follow, predecessor,
};
pub use crate::render::{LOADED_TURNS, RenderInput, Rendered, TimedText, TurnView, allowance, render, render_into};
pub use crate::skeleton::{ToolUse, TurnWork, file_of, patched_files, skeleton};
pub use crate::time_query::{Span, TimeQuery, TimeQueryError, parse_time_query};

#[cfg(test)]
mod tests;
