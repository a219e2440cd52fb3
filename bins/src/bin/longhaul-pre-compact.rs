//! `PreCompact`: stores the conversation before it is compacted, and restarts the count of work.

use longhaul_core::event::PreCompact;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<PreCompact>::run(&[jobs::activity::on_compact, jobs::handoff::on_compact]);
}
