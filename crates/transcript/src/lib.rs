#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod context;
mod entry;
mod reader;
mod rollout;
mod turn;

pub use crate::context::{
    ContextFill, ReportedBy, ReportedContext, Usage, WindowSource, context_fill, latest_usage, window_tokens,
};
pub use crate::entry::{Block, Entry, EntryKind, HOOK_RECORDS, PromptOrigin, ends_in_interrupt, is_hook_record};
pub use crate::reader::{Batch, Cursor, Link, Reader, Rollback, may_rewind, replaced_turns};
pub use crate::rollout::{Compacted, HistoryBase, RolloutName, SessionMeta, is_turn_over, line_number};
pub use crate::turn::{Attachment, COMPACTED, Detail, DetailKind, SourcedText, ToolCall, Turn, merge_turns};
pub use longhaul_core::parse_timestamp;

#[cfg(test)]
mod tests;
