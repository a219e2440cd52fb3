//! `SessionEnd`: the session has ended. After `/clear` it leaves a baton for the next one.

use longhaul_core::event::SessionEnd;
use longhaul_runtime::{Hook, continuation, jobs, model, reopen, sync, tracker};

fn main() {
    Hook::<SessionEnd>::run_then(
        &[
            jobs::handoff::on_session_end,
            jobs::memory::on_session_end,
            reopen::on_session_end,
            tracker::on_session_end,
            continuation::on_session_end,
        ],
        &[model::start_worker, sync::on_session_end],
    );
}
