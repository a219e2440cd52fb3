//! `TeammateIdle`: a teammate has nothing to do.

use longhaul_core::event::TeammateIdle;
use longhaul_runtime::{Hook, tracker};

fn main() {
    Hook::<TeammateIdle>::run(&[tracker::on_teammate_idle]);
}
