//! `SubagentStart`: a subagent runs, so that a dialog may open at any time.

use longhaul_core::event::SubagentStart;
use longhaul_runtime::{Hook, bookmarks, jobs, tracker};

fn main() {
    Hook::<SubagentStart>::run(&[
        jobs::privacy::on_subagent_start,
        bookmarks::on_subagent_start,
        tracker::on_subagent_start,
    ]);
}
