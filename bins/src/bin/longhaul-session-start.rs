//! `SessionStart`: a session begins or goes on. Remember where it runs; afterwards, clear away what is old.

use longhaul_core::event::SessionStart;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<SessionStart>::run_then(
        &[
            jobs::housekeeping::show_config_warnings,
            jobs::project_file::on_session_start,
            jobs::activity::on_session_start,
            jobs::tracker::on_session_start,
            jobs::continuation::on_session_start,
            jobs::handoff::on_session_start, // what was said comes after what was handed over on purpose
            jobs::memory::on_session_start,  // and the project's past gets the room that is left
            jobs::prompt_recall::on_session_start, // what all of them show is not shown again
        ],
        &[jobs::housekeeping::remove_old_files, jobs::continuation::carry_on, jobs::memory::drop_old_text],
    );
}
