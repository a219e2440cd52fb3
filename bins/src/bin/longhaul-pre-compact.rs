//! `PreCompact`: keep the conversation before it is compacted; the count begins afresh.

use longhaul_core::event::PreCompact;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<PreCompact>::run(&[jobs::activity::on_compact, jobs::handoff::on_compact]);
}
