//! `UserPromptSubmit`: a bookmark has arrived, or a turn begins.

use longhaul_core::event::UserPromptSubmit;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<UserPromptSubmit>::run_then(
        &[
            jobs::bookmarks::on_list_command, // costs no request and is no prompt: no job below sees it
            jobs::bookmarks::on_prompt,       // a marker is not a prompt: no job below sees it
            jobs::snapshots::on_restore_command, // costs no request and does not count as work
            jobs::privacy::on_prompt,
            jobs::prompt_recall::begin_search, // it goes on while the prompt is stored
            jobs::continuation::on_prompt,
            jobs::handoff::on_baton_command, // costs no request and does not count as work
            jobs::session_place::on_prompt,
            jobs::tracker::on_prompt,
            jobs::handoff::on_prompt,
            jobs::memory::on_prompt,
            jobs::prompt_recall::on_prompt, // last, so that the prompt is stored in any case
        ],
        &[
            jobs::snapshots::on_prompt,
            jobs::bookmarks::add_git_state,
            jobs::continuation::carry_on,
            jobs::prompt_recall::start_search_process,
        ],
    );
}
