//! `StopFailure`: the turn ended in an error.

use longhaul_core::event::StopFailure;
use longhaul_runtime::{Hook, continuation, tracker};

fn main() {
    Hook::<StopFailure>::run(&[tracker::on_failure, continuation::on_failure, continuation::carry_on]);
}
