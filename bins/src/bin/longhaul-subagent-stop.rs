//! `SubagentStop`: a subagent has returned. Count it, perhaps compact, perhaps bookmark.

use longhaul_core::event::SubagentStop;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<SubagentStop>::run(&[
        jobs::activity::on_agent_return,
        jobs::bookmarks::on_agent_return,
        jobs::tracker::on_agent_return,
        jobs::context_guard::on_agent_return, // when it compacts, a bookmark would only be in its way
        jobs::bookmarks::after_agent_return,
    ]);
}
