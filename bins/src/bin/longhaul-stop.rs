//! `Stop`: the turn is over. Mark that, perhaps compact, perhaps bookmark.

use longhaul_core::event::Stop;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<Stop>::run(&[
        jobs::activity::on_turn_end,
        jobs::handoff::on_turn_end,
        jobs::bookmarks::on_turn_end,
        jobs::tracker::on_turn_end,
        jobs::guard::on_turn_end, // when it compacts, a bookmark would only be in its way
        jobs::bookmarks::after_turn,
    ]);
}
