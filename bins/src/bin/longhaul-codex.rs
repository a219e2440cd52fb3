//! Every hook of Codex. The argument names the event, so that Codex starts the same file for all events.
//!
//! Codex sends payloads like those of Claude Code. Nothing is typed into Codex and no baton is passed to it: its sessions are
//! tracked, recorded and measured.

use longhaul_core::event::{PermissionRequest, PostToolUse, SessionEnd, SessionStart, Stop, UserPromptSubmit};
use longhaul_runtime::{Hook, jobs};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("session-start") => Hook::<SessionStart>::run_codex(
            &[
                jobs::codex::leave_subagents,
                jobs::housekeeping::show_config_warnings,
                jobs::sync::on_session_start,
                jobs::activity::on_session_start,
                jobs::session_place::on_session_start,
                jobs::tracker::on_session_start,
                jobs::memory::on_session_start,
                jobs::prompt_recall::on_session_start,
            ],
            &[jobs::housekeeping::remove_old_files, jobs::native_links::on_session_start],
        ),
        Some("user-prompt-submit") => Hook::<UserPromptSubmit>::run_codex(
            &[
                jobs::codex::leave_subagents,
                jobs::privacy::on_prompt,
                jobs::session_place::on_prompt,
                jobs::tracker::on_prompt,
                jobs::handoff::on_prompt,
                jobs::memory::on_prompt,
                jobs::prompt_recall::on_prompt,
            ],
            &[],
        ),
        Some("permission-request") => {
            Hook::<PermissionRequest<'static>>::run_codex(&[jobs::tracker::on_permission], &[])
        }
        Some("post-tool-use") => {
            Hook::<PostToolUse<'static>>::run_codex(&[jobs::activity::on_tool_use, jobs::tracker::on_tool_use], &[]);
        }
        Some("session-end") => Hook::<SessionEnd>::run_codex(
            &[
                jobs::codex::leave_subagents,
                jobs::handoff::on_session_end,
                jobs::memory::on_session_end,
                jobs::session_place::on_session_end,
                jobs::tracker::on_session_end,
            ],
            &[jobs::model::start_worker, jobs::sync::on_session_end],
        ),
        // Stop is the only hook that is required: one that was configured by hand needs no argument.
        Some(_) | None => Hook::<Stop>::run_codex(
            &[
                jobs::codex::leave_subagents,
                jobs::codex::remember_turns, // before the place moves from which the rollout is read
                jobs::handoff::on_turn_end,
                jobs::memory::on_turn_end,
                jobs::activity::on_turn_end,
                jobs::tracker::on_turn_end,
            ],
            &[jobs::tracker::finish_display, jobs::model::start_worker, jobs::sync::on_turn_end],
        ),
    }
}
