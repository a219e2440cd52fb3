//! `PreCompact`: stores the conversation before it is compacted, with what will be needed of it, and restarts the count of
//! work.

use longhaul_core::event::PreCompact;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<PreCompact>::run(&[
        jobs::activity::on_compact,
        jobs::snapshots::on_compact,
        jobs::handoff::on_compact,
        jobs::compaction::collect,
    ]);
}
