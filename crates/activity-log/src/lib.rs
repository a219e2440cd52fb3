//! The activity log of a session: its lines, the metrics since the last bookmark, and the decision to set a bookmark.
//!
//! The log is the only state of the bookmarks. Every metric is computed from the end of the log, so no counter can become
//! wrong.
//!
//! `cargo run -p longhaul-activity-log --example worth_a_bookmark`:
//!
//! ```no_run
#![doc = include_str!("../examples/worth_a_bookmark.rs")]
//! ```

mod context_guard;
mod decision;
mod json_chars;
mod log_line;
mod since_prompt;
mod window;

pub use crate::context_guard::{Pressure, should_compact, should_deny_agents};
pub use crate::decision::{
    BookmarkVerdict, RECEIPT_MS, Situation, SkipReason, ThresholdMet, decide, meets_any_threshold,
};
pub use crate::json_chars::chars_of_json;
pub use crate::log_line::LogLine;
pub use crate::since_prompt::bookmarks_since_prompt;
pub use crate::window::{MAX_TAIL, Metrics, TailStart, covers_window, measure};

#[cfg(test)]
mod tests;
