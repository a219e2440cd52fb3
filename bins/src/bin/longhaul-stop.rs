//! `Stop`: the turn is over. Take it in, perhaps go on in a fresh session, perhaps compact, perhaps bookmark.

use longhaul_core::event::Stop;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<Stop>::run_then(
        &[
            jobs::handoff::on_turn_end,
            jobs::memory::on_turn_end,
            jobs::continuation::on_turn_end, // when it asks, the turn is not over
            jobs::activity::on_turn_end,
            jobs::bookmarks::on_turn_end,
            jobs::tracker::on_turn_end,
            jobs::continuation::carry_on, // when it clears, a bookmark would only be in its way
            jobs::context_guard::on_turn_end, // when it compacts, a bookmark would only be in its way
            jobs::bookmarks::after_turn,
        ],
        &[jobs::model::start_worker],
    );
}
