//! `PreCompact`: the count begins afresh.

use longhaul_core::event::PreCompact;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<PreCompact>::run(&[jobs::activity::on_compact]);
}
