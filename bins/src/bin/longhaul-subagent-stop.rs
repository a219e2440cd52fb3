//! `SubagentStop`: a subagent has returned. Counts it; may compact or set a bookmark.

use longhaul_core::event::SubagentStop;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<SubagentStop>::run(&[
        jobs::compaction::on_summary, // of a compaction; the others have nothing to do with that
        jobs::activity::on_agent_return,
        jobs::bookmarks::on_agent_return,
        jobs::tracker::on_agent_return,
        jobs::context_guard::on_agent_return, // if it compacts, no bookmark is set
        jobs::bookmarks::after_agent_return,
    ]);
}
