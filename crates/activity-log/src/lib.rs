#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod decision;
pub mod limits;
mod log_line;
mod window;

pub use crate::decision::{
    BookmarkVerdict, Pressure, RECEIPT_MS, Situation, SkipReason, ThresholdMet, decide, denial, meets_any_threshold,
    should_compact, starts_subagent,
};
pub use crate::log_line::LogLine;
pub use crate::window::{
    MAX_TAIL, Metrics, TailStart, bookmarks_since_prompt, chars_of_json, covers_window, may_be_of_newest_turn, measure,
};

#[cfg(test)]
mod tests;
