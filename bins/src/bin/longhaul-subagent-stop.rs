//! `SubagentStop`: a subagent has returned. Counts it; may compact or set a bookmark.

use longhaul_core::event::SubagentStop;
use longhaul_runtime::{Hook, activity, bookmarks, context, jobs, tracker};

fn main() {
    Hook::<SubagentStop>::run(&[
        jobs::compaction::on_summary, // of a compaction; the others have nothing to do with that
        activity::on_agent_return,
        bookmarks::on_agent_return,
        tracker::on_agent_return,
        context::on_agent_return, // if it compacts, no bookmark is set
        bookmarks::after_agent_return,
    ]);
}
