//! `PostToolUse`: the hot path. Counts and records the call; sometimes sets a bookmark in the running turn.

use longhaul_core::event::PostToolUse;
use longhaul_runtime::{Hook, activity, bookmarks, limits, memory, tracker};

fn main() {
    Hook::<PostToolUse<'static>>::run(&[
        activity::on_tool_use,
        tracker::on_tool_use,
        memory::on_tool_use,
        limits::on_tool_use, // if it stops the turn, no bookmark is typed into it
        bookmarks::on_tool_use,
    ]);
}
