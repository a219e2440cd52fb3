//! The work of each job on each event: functions that join stored values with pure decisions.

pub mod activity;
pub mod bookmarks;
pub mod codex;
pub mod compaction;
pub mod context_guard;
pub mod continuation;
pub mod handoff;
pub mod housekeeping;
pub mod memory;
pub mod model;
pub mod native_links;
pub mod privacy;
pub mod project_file;
pub mod prompt_recall;
pub mod session_place;
pub mod snapshots;
pub mod sync;
pub mod tracker;
