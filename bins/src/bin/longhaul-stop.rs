//! `Stop`: the turn is over. Stores it; may start a continuation, compact, or set a bookmark.

use longhaul_core::event::Stop;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<Stop>::run_then(
        &[
            jobs::handoff::before_continuation,
            jobs::continuation::on_turn_end, // if it asks for a handoff, the turn is not over
            jobs::activity::on_turn_end,
            jobs::bookmarks::on_turn_end,
            jobs::tracker::on_turn_end,
            jobs::session_place::on_turn_end,
            jobs::handoff::without_continuation,
            jobs::memory::on_turn_end,
            jobs::snapshots::on_turn_end,
            jobs::tracker::show_turn_end,     // before what may type for seconds
            jobs::continuation::carry_on,     // if it clears, no bookmark is set
            jobs::context_guard::on_turn_end, // if it compacts, no bookmark is set
            jobs::bookmarks::after_turn,
        ],
        &[jobs::model::start_worker, jobs::sync::on_turn_end],
    );
}
