//! `PreCompact`: stores the conversation before it is compacted, with what will be needed of it, and restarts the count of
//! work.

use longhaul_core::event::PreCompact;
use longhaul_runtime::{Hook, activity, jobs, snapshots};

fn main() {
    Hook::<PreCompact>::run(&[
        activity::on_compact,
        snapshots::on_compact,
        jobs::handoff::on_compact,
        jobs::compaction::collect,
    ]);
}
