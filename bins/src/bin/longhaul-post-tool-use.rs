//! `PostToolUse`: the hot path. Counts and records the call; sometimes sets a bookmark in the running turn.

use longhaul_core::event::PostToolUse;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<PostToolUse<'static>>::run(&[
        jobs::activity::on_tool_use,
        jobs::tracker::on_tool_use,
        jobs::memory::on_tool_use,
        jobs::bookmarks::on_tool_use,
    ]);
}
