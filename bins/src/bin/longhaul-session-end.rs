//! `SessionEnd`: the session is gone.

use longhaul_core::event::SessionEnd;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<SessionEnd>::run(&[jobs::tracker::on_session_end]);
}
