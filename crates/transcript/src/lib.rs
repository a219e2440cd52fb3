#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod branch;
mod classify;
mod content;
mod context_fill;
mod context_window;
mod cursor;
mod detail;
mod entry;
mod hook_record;
mod interrupt;
mod reader;
mod rollout;
mod turn;
mod usage;
mod wire;

pub use crate::branch::{Link, may_rewind, replaced_turns};
pub use crate::classify::PromptOrigin;
pub use crate::context_fill::{ContextFill, ReportedBy, ReportedContext, WindowSource, context_fill};
pub use crate::context_window::window_tokens;
pub use crate::cursor::Cursor;
pub use crate::detail::{Detail, DetailKind};
pub use crate::entry::{Block, Entry, EntryKind};
pub use crate::hook_record::{HOOK_RECORDS, is_hook_record};
pub use crate::interrupt::ends_in_interrupt;
pub use crate::reader::{Batch, Reader, Rollback};
pub use crate::rollout::{Compacted, HistoryBase, RolloutName, SessionMeta, is_turn_over, line_number};
pub use crate::turn::{Attachment, COMPACTED, SourcedText, ToolCall, Turn, merge_turns};
pub use crate::usage::{Usage, latest_usage};
pub use longhaul_core::parse_timestamp;

#[cfg(test)]
mod tests;
