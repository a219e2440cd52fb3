//! `SubagentStart`: a subagent runs, so that a dialog may open at any time.

use longhaul_core::event::SubagentStart;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<SubagentStart>::run(&[
        jobs::privacy::on_subagent_start,
        jobs::bookmarks::on_subagent_start,
        jobs::tracker::on_subagent_start,
    ]);
}
