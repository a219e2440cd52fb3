//! Every hook of Codex. The argument names the event, so that Codex starts the same file for all events.
//!
//! Codex sends payloads like those of Claude Code. There are no bookmarks and no snapshots of its sessions.

use longhaul_core::event::{
    PermissionRequest, PostToolUse, PreCompact, SessionEnd, SessionStart, Stop, UserPromptSubmit,
};
use longhaul_runtime::{Hook, jobs};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("session-start") => session_start(),
        Some("user-prompt-submit") => Hook::<UserPromptSubmit>::run_codex(
            &[
                jobs::codex::leave_subagents,
                jobs::codex::find_window_of_prompt,
                jobs::privacy::on_prompt,
                jobs::prompt_recall::begin_search, // it goes on while the prompt is stored
                jobs::handoff::on_baton_command,   // costs no request and does not count as work
                jobs::session_place::on_prompt,
                jobs::tracker::on_prompt,
                jobs::handoff::on_prompt,
                jobs::memory::on_prompt,
                jobs::prompt_recall::on_prompt,
            ],
            &[jobs::prompt_recall::start_search_process],
        ),
        Some("permission-request") => Hook::<PermissionRequest<'static>>::run_codex(
            &[jobs::codex::find_window, jobs::tracker::on_permission],
            &[],
        ),
        Some("post-tool-use") => {
            Hook::<PostToolUse<'static>>::run_codex(
                &[jobs::codex::find_window, jobs::activity::on_tool_use, jobs::tracker::on_tool_use],
                &[],
            );
        }
        Some("pre-compact") => Hook::<PreCompact>::run_codex(
            &[
                jobs::codex::leave_subagents,
                jobs::codex::find_window,
                jobs::codex::remember_turns, // before the place moves from which the rollout is read
                jobs::handoff::on_compact,
                jobs::compaction::collect,
            ],
            &[],
        ),
        Some("session-end") => Hook::<SessionEnd>::run_codex(
            &[
                jobs::codex::leave_subagents,
                jobs::codex::find_window,
                jobs::handoff::on_session_end,
                jobs::memory::on_session_end,
                jobs::session_place::on_session_end,
                jobs::tracker::on_session_end,
            ],
            &[jobs::model::start_worker, jobs::sync::on_session_end],
        ),
        // Stop is the only hook that is required: one that was configured by hand needs no argument.
        Some(_) | None => stop(),
    }
}

fn session_start() {
    Hook::<SessionStart>::run_codex(
        &[
            jobs::codex::leave_subagents,
            jobs::codex::find_window_of_start,
            jobs::housekeeping::show_config_warnings,
            jobs::housekeeping::tell_salvaged,
            jobs::sync::on_session_start,
            jobs::activity::on_session_start,
            jobs::session_place::on_session_start,
            jobs::tracker::on_session_start,
            jobs::codex::follow_rewind, // before the new rollout is registered
            jobs::compaction::on_codex_start,
            jobs::handoff::on_session_start,
            jobs::memory::on_session_start,
            jobs::prompt_recall::on_session_start,
            jobs::housekeeping::tell_of_replaced_database,
        ],
        &[
            jobs::housekeeping::remove_old_files,
            jobs::native_links::on_session_start,
            jobs::prompt_recall::prepare_search,
        ],
    );
}

fn stop() {
    Hook::<Stop>::run_codex(
        &[
            jobs::codex::leave_subagents,
            jobs::codex::find_window,
            jobs::codex::remember_turns, // before the place moves from which the rollout is read
            jobs::handoff::on_turn_end,
            jobs::codex::near_limit,
            jobs::memory::on_turn_end,
            jobs::activity::on_turn_end,
            jobs::tracker::on_turn_end,
        ],
        &[jobs::tracker::show_turn_end, jobs::model::start_worker, jobs::sync::on_turn_end],
    );
}
