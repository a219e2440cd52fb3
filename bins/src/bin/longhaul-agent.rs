//! Every hook of Gemini CLI, Qwen Code and opencode. The arguments name the agent and its event.
//!
//! The payload is translated by the agent's table (`longhaul-agents`). Nothing is typed into these agents.

use longhaul_core::event::{
    EventName, PermissionRequest, PostCompact, PostToolUse, PostToolUseFailure, PreCompact, SessionEnd, SessionStart,
    Stop, StopFailure, SubagentStart, SubagentStop, UserPromptSubmit,
};
use longhaul_runtime::{AgentCall, jobs};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (agent, event) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    let Some(call) = AgentCall::receive(&agent, &event) else { return };
    match call.event() {
        EventName::SessionStart => start(call),
        EventName::UserPromptSubmit => call.run::<UserPromptSubmit>(
            &[
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
        EventName::PermissionRequest => call.run::<PermissionRequest<'static>>(&[jobs::tracker::on_permission], &[]),
        EventName::PostToolUse => call.run::<PostToolUse<'static>>(
            &[jobs::activity::on_tool_use, jobs::tracker::on_tool_use, jobs::memory::on_tool_use],
            &[],
        ),
        EventName::PostToolUseFailure => call
            .run::<PostToolUseFailure<'static>>(&[jobs::tracker::on_tool_failure, jobs::memory::on_tool_failure], &[]),
        EventName::SubagentStart => {
            call.run::<SubagentStart>(&[jobs::privacy::on_subagent_start, jobs::tracker::on_subagent_start], &[]);
        }
        EventName::SubagentStop => call.run::<SubagentStop>(&[jobs::tracker::on_agent_return], &[]),
        EventName::PreCompact => call.run::<PreCompact>(&[jobs::compaction::collect], &[]),
        EventName::PostCompact => call.run::<PostCompact>(&[jobs::compaction::on_compacted], &[]),
        EventName::Stop => stop(call),
        EventName::StopFailure => call.run::<StopFailure>(&[jobs::tracker::on_failure], &[]),
        EventName::SessionEnd => end(call),
        _ => call.ignore(),
    }
}

fn start(call: AgentCall) {
    call.run::<SessionStart>(
        &[
            jobs::housekeeping::show_config_warnings,
            jobs::housekeeping::tell_salvaged,
            jobs::sync::on_session_start,
            jobs::activity::on_session_start,
            jobs::session_place::on_session_start,
            jobs::tracker::on_session_start,
            jobs::compaction::on_session_start,
            jobs::handoff::on_session_start,
            jobs::memory::on_session_start,
            jobs::prompt_recall::on_session_start,
        ],
        &[
            jobs::housekeeping::remove_old_files,
            jobs::native_links::on_session_start,
            jobs::memory::drop_old_text,
            jobs::prompt_recall::prepare_search,
        ],
    );
}

fn stop(call: AgentCall) {
    call.run::<Stop>(
        &[
            jobs::session_place::on_turn_end,
            jobs::handoff::on_turn_end,
            jobs::memory::on_turn_end,
            jobs::activity::on_turn_end,
            jobs::tracker::on_turn_end,
        ],
        &[jobs::tracker::show_turn_end, jobs::model::start_worker, jobs::sync::on_turn_end],
    );
}

fn end(call: AgentCall) {
    call.run::<SessionEnd>(
        &[
            jobs::handoff::on_session_end,
            jobs::memory::on_session_end,
            jobs::session_place::on_session_end,
            jobs::tracker::on_session_end,
        ],
        &[jobs::model::start_worker, jobs::sync::on_session_end],
    );
}
