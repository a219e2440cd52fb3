//! `StopFailure`: the turn ended in an error.

use longhaul_core::event::StopFailure;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<StopFailure>::run(&[
        jobs::tracker::on_failure,
        jobs::continuation::on_failure,
        jobs::continuation::carry_on,
    ]);
}
