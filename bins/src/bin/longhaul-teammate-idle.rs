//! `TeammateIdle`: a teammate has nothing to do.

use longhaul_core::event::TeammateIdle;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<TeammateIdle>::run(&[jobs::tracker::on_teammate_idle]);
}
