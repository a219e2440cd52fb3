//! The events of Gemini CLI, Qwen Code and opencode.
//!
//! The payload is translated by the agent's table (`longhaul-agents`). Nothing is typed into these agents.

use longhaul_core::event::{
    EventName, PermissionRequest, PostCompact, PostToolUse, PostToolUseFailure, PreCompact, SessionEnd, SessionStart,
    Stop, StopFailure, SubagentStart, SubagentStop, UserPromptSubmit,
};
use longhaul_runtime::memory::{self, prompt_recall};
use longhaul_runtime::{
    AgentCall, activity, compaction, handoff, housekeeping, limits, model, native_links, private_turns, reopen, sync,
    tracker,
};

pub(crate) fn run(agent: &str, event: &str) {
    let Some(call) = AgentCall::receive(agent, event) else { return };
    match call.event() {
        EventName::SessionStart => start(call),
        EventName::UserPromptSubmit => call.run::<UserPromptSubmit>(
            &[
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
        EventName::Stop => stop(call),
        EventName::StopFailure => call.run::<StopFailure>(&[tracker::on_failure], &[]),
        EventName::SessionEnd => end(call),
        _ => call.ignore(),
    }
}

fn start(call: AgentCall) {
    call.run::<SessionStart>(
        &[
            housekeeping::show_config_warnings,
            housekeeping::tell_salvaged,
            sync::on_session_start,
            activity::on_session_start,
            reopen::on_session_start,
            tracker::on_session_start,
            compaction::on_session_start,
            handoff::on_session_start,
            memory::on_session_start,
            prompt_recall::on_session_start,
        ],
        &[
            housekeeping::remove_old_files,
            native_links::on_session_start,
            memory::drop_old_text,
            prompt_recall::prepare_search,
        ],
    );
}

fn stop(call: AgentCall) {
    call.run::<Stop>(
        &[reopen::on_turn_end, handoff::on_turn_end, memory::on_turn_end, activity::on_turn_end, tracker::on_turn_end],
        &[tracker::show_turn_end, model::start_worker, sync::on_turn_end],
    );
}

fn end(call: AgentCall) {
    call.run::<SessionEnd>(
        &[handoff::on_session_end, memory::on_session_end, reopen::on_session_end, tracker::on_session_end],
        &[model::start_worker, sync::on_session_end],
    );
}
