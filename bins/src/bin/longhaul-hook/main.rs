//! Every hook but that of PostToolUse: `longhaul-hook EVENT` of Claude Code, or `longhaul-hook AGENT EVENT`.
//!
//! One executable for all of them, because each would have its own copy of SQLite.

mod agents;
mod events;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).take(2).collect();
    let second = arguments.get(1).map(String::as_str);
    match arguments.first().map_or("", String::as_str) {
        "session-start" => events::session_start(),
        "user-prompt-submit" => events::user_prompt_submit(),
        "pre-tool-use" => events::pre_tool_use(),
        "post-tool-use-failure" => events::post_tool_use_failure(),
        "permission-request" => events::permission_request(),
        "notification" => events::notification(),
        "subagent-start" => events::subagent_start(),
        "subagent-stop" => events::subagent_stop(),
        "stop" => events::stop(),
        "stop-failure" => events::stop_failure(),
        "pre-compact" => events::pre_compact(),
        "teammate-idle" => events::teammate_idle(),
        "task-completed" => events::task_completed(),
        "session-end" => events::session_end(),
        "codex" => agents::run_codex(second),
        // One that is neither an event nor an agent is answered and logged.
        agent => agents::run(agent, second.unwrap_or_default()),
    }
}
