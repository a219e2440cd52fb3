//! What memory, handoff and compaction do at each event.

pub mod compaction;
pub mod handoff;
pub mod memory;
pub mod privacy;
pub mod prompt_recall;
