//! `Stop`: the turn is over. Stores it; may start a continuation, compact, or set a bookmark.

use longhaul_core::event::Stop;
use longhaul_runtime::{
    Hook, activity, bookmarks, context, continuation, jobs, model, reopen, snapshots, sync, tracker,
};

fn main() {
    Hook::<Stop>::run_then(
        &[
            jobs::handoff::before_continuation,
            continuation::on_turn_end, // if it asks for a handoff, the turn is not over
            activity::on_turn_end,
            bookmarks::on_turn_end,
            tracker::on_turn_end,
            reopen::on_turn_end,
            jobs::handoff::without_continuation,
            jobs::memory::on_turn_end,
            snapshots::on_turn_end,
            tracker::show_turn_end, // before what may type for seconds
            continuation::carry_on, // if it clears, no bookmark is set
            context::on_turn_end,   // if it compacts, no bookmark is set
            bookmarks::after_turn,
        ],
        &[model::start_worker, sync::on_turn_end],
    );
}
