//! `SessionEnd`: the session has ended. After `/clear` it leaves a baton for the next one.

use longhaul_core::event::SessionEnd;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<SessionEnd>::run_then(
        &[
            jobs::handoff::on_session_end,
            jobs::memory::on_session_end,
            jobs::session_place::on_session_end,
            jobs::tracker::on_session_end,
            jobs::continuation::on_session_end,
        ],
        &[jobs::model::start_worker, jobs::sync::on_session_end],
    );
}
