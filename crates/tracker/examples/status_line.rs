//! Follows a session through a turn, and prints what the tmux status line shows.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use longhaul_core::Status;
use longhaul_tracker::{Agent, Options, Trigger, next, render};

fn main() {
    let options = Options::default();
    let mut agent = Agent {
        session: "s".to_owned(),
        status: Status::Idle,
        reason: None,
        cwd: Some("/work/parser".to_owned()),
        project: "parser".to_owned(),
        branch: None,
        prompt_summary: None,
        agent_type: None,
        pane: None,
        target: None,
        client: "claude".to_owned(),
        pid: None,
        subagents: 0,
        tasks: 0,
        started_at: 0,
        updated_at: 0,
        touched_ms: 0,
        failed: false,
        stopped: false,
    };
    let turn = [Trigger::Prompt, Trigger::ToolUsed, Trigger::PermissionRequested, Trigger::ToolUsed, Trigger::Stopped];
    for (second, trigger) in (1..).zip(turn) {
        // `None` is the usual case: nothing needs to be stored or shown.
        if let Some(status) = next(agent.status, trigger) {
            agent = Agent { status, updated_at: second, ..agent };
        }
        println!("{trigger:?}: {}", render(std::slice::from_ref(&agent), &options, second));
    }
}
