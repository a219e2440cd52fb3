//! `SessionStart`: a session begins or is resumed. Records where it runs, shows it what came before, removes old files.

use longhaul_core::event::SessionStart;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<SessionStart>::run_then(
        &[
            jobs::housekeeping::show_config_warnings,
            jobs::housekeeping::tell_salvaged,
            jobs::housekeeping::welcome,
            jobs::project_file::on_session_start,
            jobs::sync::on_session_start, // detached: it runs while the page is made
            jobs::activity::on_session_start,
            jobs::session_place::on_session_start, // before the tracker, which adds the window
            jobs::tracker::on_session_start,
            jobs::continuation::on_session_start,
            jobs::snapshots::on_resume,
            jobs::compaction::on_session_start,
            jobs::handoff::on_session_start, // the transcript of the old session comes after its handoff
            jobs::memory::on_session_start,  // the page gets the space that is left
            jobs::prompt_recall::on_session_start, // records what was shown, so that it is not shown again
            jobs::housekeeping::tell_of_replaced_database,
        ],
        &[
            jobs::snapshots::on_session_start,
            jobs::housekeeping::remove_old_files,
            jobs::native_links::on_session_start,
            jobs::continuation::carry_on,
            jobs::memory::drop_old_text,
            jobs::prompt_recall::prepare_search,
        ],
    );
}
