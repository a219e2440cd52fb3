//! `SessionStart`: a session begins or is resumed. Records where it runs, shows it what came before, removes old files.

use longhaul_core::event::SessionStart;
use longhaul_runtime::{
    Hook, activity, continuation, housekeeping, jobs, native_links, project_file, reopen, snapshots, sync, tracker,
};

fn main() {
    Hook::<SessionStart>::run_then(
        &[
            housekeeping::show_config_warnings,
            housekeeping::tell_salvaged,
            housekeeping::welcome,
            project_file::on_session_start,
            sync::on_session_start, // detached: it runs while the page is made
            activity::on_session_start,
            reopen::on_session_start, // before the tracker, which adds the window
            tracker::on_session_start,
            continuation::on_session_start,
            snapshots::on_resume,
            jobs::compaction::on_session_start,
            jobs::handoff::on_session_start, // the transcript of the old session comes after its handoff
            jobs::memory::on_session_start,  // the page gets the space that is left
            jobs::prompt_recall::on_session_start, // records what was shown, so that it is not shown again
            housekeeping::tell_of_replaced_database,
        ],
        &[
            snapshots::on_session_start,
            housekeeping::remove_old_files,
            native_links::on_session_start,
            continuation::carry_on,
            jobs::memory::drop_old_text,
            jobs::prompt_recall::prepare_search,
        ],
    );
}
