//! `UserPromptSubmit`: a bookmark has arrived, or a turn begins.

use longhaul_core::event::UserPromptSubmit;
use longhaul_runtime::{Hook, bookmarks, continuation, jobs, reopen, snapshots, tracker};

fn main() {
    Hook::<UserPromptSubmit>::run_then(
        &[
            bookmarks::on_list_command,    // costs no request and is no prompt: no job below sees it
            bookmarks::on_prompt,          // a marker is not a prompt: no job below sees it
            snapshots::on_restore_command, // costs no request and does not count as work
            jobs::privacy::on_prompt,
            jobs::prompt_recall::begin_search, // it goes on while the prompt is stored
            continuation::on_prompt,
            jobs::handoff::on_baton_command, // costs no request and does not count as work
            reopen::on_prompt,
            tracker::on_prompt,
            jobs::handoff::on_prompt,
            jobs::memory::on_prompt,
            jobs::prompt_recall::on_prompt, // last, so that the prompt is stored in any case
        ],
        &[
            snapshots::on_prompt,
            bookmarks::add_git_state,
            continuation::carry_on,
            jobs::prompt_recall::start_search_process,
        ],
    );
}
