#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod context_guard;
mod decision;
mod json_chars;
mod log_line;
mod since_prompt;
mod window;

pub use crate::context_guard::{Pressure, denial, should_compact, should_deny_agents, starts_subagent};
pub use crate::decision::{
    BookmarkVerdict, RECEIPT_MS, Situation, SkipReason, ThresholdMet, decide, meets_any_threshold,
};
pub use crate::json_chars::chars_of_json;
pub use crate::log_line::LogLine;
pub use crate::since_prompt::{bookmarks_since_prompt, may_be_of_newest_turn};
pub use crate::window::{MAX_TAIL, Metrics, TailStart, covers_window, measure};

#[cfg(test)]
mod tests;
