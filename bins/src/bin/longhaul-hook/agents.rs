//! The events of other agents. Nothing is typed into them, and there are no bookmarks and no snapshots of their sessions.
//!
//! Codex sends payloads like those of Claude Code; which window a session runs in is found out first. The payloads of Gemini CLI,
//! Qwen Code and opencode are translated by the agent's table (`longhaul-agents`).

use longhaul_core::event::{
    EventName, PermissionRequest, PostCompact, PostToolUse, PostToolUseFailure, PreCompact, SessionEnd, SessionStart,
    Stop, StopFailure, SubagentStart, SubagentStop, UserPromptSubmit,
};
use longhaul_runtime::memory::{self, prompt_recall};
use longhaul_runtime::{
    AgentCall, Hook, JobFn, activity, codex, compaction, handoff, housekeeping, limits, model, native_links,
    private_turns, reopen, sync, tracker,
};

const START: &[JobFn<SessionStart>] = &[
    housekeeping::show_config_warnings,
    housekeeping::tell_salvaged,
    sync::on_session_start,
    activity::on_session_start,
    reopen::on_session_start,
    tracker::on_session_start,
];

const CONTEXT_AT_START: &[JobFn<SessionStart>] =
    &[handoff::on_session_start, memory::on_session_start, prompt_recall::on_session_start];

const PROMPT: &[JobFn<UserPromptSubmit>] = &[
    private_turns::on_prompt,
    prompt_recall::begin_search, // it goes on while the prompt is stored
    handoff::on_baton_command,   // costs no request and does not count as work
    reopen::note_mode,
    tracker::on_prompt,
    handoff::on_prompt,
    memory::on_prompt,
    prompt_recall::on_prompt,
];

const TURN_SHOWN: &[JobFn<Stop>] = &[tracker::show_turn_end, model::start_worker, sync::on_turn_end];

const END: &[JobFn<SessionEnd>] =
    &[handoff::on_session_end, memory::on_session_end, reopen::on_session_end, tracker::on_session_end];

const ENDED: &[JobFn<SessionEnd>] = &[model::start_worker, sync::on_session_end];

pub(crate) fn run(agent: &str, event: &str) {
    let Some(call) = AgentCall::receive(agent, event) else { return };
    match call.event() {
        EventName::SessionStart => call.run::<SessionStart>(
            &[START, &[compaction::on_session_start], CONTEXT_AT_START].concat(),
            &[
                housekeeping::remove_old_files,
                native_links::on_session_start,
                memory::drop_old_text,
                prompt_recall::prepare_search,
            ],
        ),
        EventName::UserPromptSubmit => {
            call.run::<UserPromptSubmit>(PROMPT, &[prompt_recall::start_search_process]);
        }
        EventName::PermissionRequest => call.run::<PermissionRequest<'static>>(&[tracker::on_permission], &[]),
        EventName::PostToolUse => call.run::<PostToolUse<'static>>(
            &[activity::on_tool_use, tracker::on_tool_use, memory::on_tool_use, limits::stop_circle],
            &[],
        ),
        EventName::PostToolUseFailure => {
            call.run::<PostToolUseFailure<'static>>(&[tracker::on_tool_failure, memory::on_tool_failure], &[])
        }
        EventName::SubagentStart => {
            call.run::<SubagentStart>(&[private_turns::on_subagent_start, tracker::on_subagent_start], &[]);
        }
        EventName::SubagentStop => call.run::<SubagentStop>(&[tracker::on_agent_return], &[]),
        EventName::PreCompact => call.run::<PreCompact>(&[compaction::collect], &[]),
        EventName::PostCompact => call.run::<PostCompact>(&[compaction::on_compacted], &[]),
        EventName::Stop => call.run::<Stop>(
            &[
                reopen::note_mode,
                handoff::on_turn_end,
                memory::on_turn_end,
                activity::on_turn_end,
                tracker::on_turn_end,
            ],
            TURN_SHOWN,
        ),
        EventName::StopFailure => call.run::<StopFailure>(&[tracker::on_failure], &[]),
        EventName::SessionEnd => call.run::<SessionEnd>(END, ENDED),
        _ => call.ignore(),
    }
}

pub(crate) fn run_codex(event: Option<&str>) {
    match event {
        Some("session-start") => Hook::<SessionStart>::run_codex(
            &[
                &[codex::leave_subagents, codex::find_window_of_start],
                START,
                // The rewind first, before the new rollout is registered.
                &[codex::follow_rewind, compaction::on_codex_start],
                CONTEXT_AT_START,
                &[housekeeping::tell_of_replaced_database],
            ]
            .concat(),
            &[housekeeping::remove_old_files, native_links::on_session_start, prompt_recall::prepare_search],
        ),
        Some("user-prompt-submit") => Hook::<UserPromptSubmit>::run_codex(
            &[&[codex::leave_subagents, codex::find_window_of_prompt], PROMPT].concat(),
            &[prompt_recall::start_search_process],
        ),
        Some("permission-request") => {
            Hook::<PermissionRequest<'static>>::run_codex(&[codex::find_window, tracker::on_permission], &[])
        }
        Some("post-tool-use") => Hook::<PostToolUse<'static>>::run_codex(
            &[codex::find_window, activity::on_tool_use, tracker::on_tool_use, limits::stop_circle],
            &[],
        ),
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
        Some("session-end") => {
            Hook::<SessionEnd>::run_codex(&[&[codex::leave_subagents, codex::find_window], END].concat(), ENDED)
        }
        // Stop is the only hook that is required: one that was configured by hand needs no argument.
        Some(_) | None => Hook::<Stop>::run_codex(
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
            TURN_SHOWN,
        ),
    }
}
