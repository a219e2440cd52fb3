//! The events of Codex.
//!
//! Codex sends payloads like those of Claude Code. There are no bookmarks and no snapshots of its sessions.

use longhaul_core::event::{
    PermissionRequest, PostToolUse, PreCompact, SessionEnd, SessionStart, Stop, UserPromptSubmit,
};
use longhaul_runtime::memory::{self, prompt_recall};
use longhaul_runtime::{
    Hook, activity, codex, compaction, handoff, housekeeping, limits, model, native_links, private_turns, reopen, sync,
    tracker,
};

pub(crate) fn run(event: Option<&str>) {
    match event {
        Some("session-start") => session_start(),
        Some("user-prompt-submit") => Hook::<UserPromptSubmit>::run_codex(
            &[
                codex::leave_subagents,
                codex::find_window_of_prompt,
                private_turns::on_prompt,
                prompt_recall::begin_search, // it goes on while the prompt is stored
                handoff::on_baton_command,   // costs no request and does not count as work
                reopen::on_prompt,
                tracker::on_prompt,
                handoff::on_prompt,
                memory::on_prompt,
                prompt_recall::on_prompt,
            ],
            &[prompt_recall::start_search_process],
        ),
        Some("permission-request") => {
            Hook::<PermissionRequest<'static>>::run_codex(&[codex::find_window, tracker::on_permission], &[])
        }
        Some("post-tool-use") => {
            Hook::<PostToolUse<'static>>::run_codex(
                &[codex::find_window, activity::on_tool_use, tracker::on_tool_use, limits::stop_circle],
                &[],
            );
        }
        Some("pre-compact") => Hook::<PreCompact>::run_codex(
            &[
                codex::leave_subagents,
                codex::find_window,
                codex::remember_turns, // before the place moves from which the rollout is read
                handoff::on_compact,
                compaction::collect,
            ],
            &[],
        ),
        Some("session-end") => Hook::<SessionEnd>::run_codex(
            &[
                codex::leave_subagents,
                codex::find_window,
                handoff::on_session_end,
                memory::on_session_end,
                reopen::on_session_end,
                tracker::on_session_end,
            ],
            &[model::start_worker, sync::on_session_end],
        ),
        // Stop is the only hook that is required: one that was configured by hand needs no argument.
        Some(_) | None => stop(),
    }
}

fn session_start() {
    Hook::<SessionStart>::run_codex(
        &[
            codex::leave_subagents,
            codex::find_window_of_start,
            housekeeping::show_config_warnings,
            housekeeping::tell_salvaged,
            sync::on_session_start,
            activity::on_session_start,
            reopen::on_session_start,
            tracker::on_session_start,
            codex::follow_rewind, // before the new rollout is registered
            compaction::on_codex_start,
            handoff::on_session_start,
            memory::on_session_start,
            prompt_recall::on_session_start,
            housekeeping::tell_of_replaced_database,
        ],
        &[housekeeping::remove_old_files, native_links::on_session_start, prompt_recall::prepare_search],
    );
}

fn stop() {
    Hook::<Stop>::run_codex(
        &[
            codex::leave_subagents,
            codex::find_window,
            codex::remember_turns, // before the place moves from which the rollout is read
            handoff::on_turn_end,
            codex::near_limit,
            memory::on_turn_end,
            activity::on_turn_end,
            tracker::on_turn_end,
        ],
        &[tracker::show_turn_end, model::start_worker, sync::on_turn_end],
    );
}
