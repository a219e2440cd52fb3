//! `UserPromptSubmit`: a bookmark has arrived, or a turn begins.

use longhaul_core::event::UserPromptSubmit;
use longhaul_runtime::{Hook, jobs};

fn main() {
    Hook::<UserPromptSubmit>::run_then(
        &[
            jobs::bookmarks::on_prompt, // a marker is nobody's prompt: nothing below hears of it
            jobs::tracker::on_prompt,
        ],
        &[jobs::bookmarks::add_git_state],
    );
}
