//! Checks whether tmux shows the sessions, now and after its next start. Pure.

use super::Finding;
use super::facts::Facts;

const CHECK: &str = "tmux";

/// The command that adds the line to tmux.conf and sets up the server in which it runs.
const ADD: &str = "run `longhaul install --tmux`";

/// Checks the server in which the doctor runs, and tmux.conf.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let tmux = &facts.tmux;
    if !tmux.is_there {
        return vec![Finding::note(
            CHECK,
            "not installed: the sessions are not shown, and bookmarks are typed only in other terminals",
        )];
    }
    let mut found = vec![server(facts)];
    found.extend(tmux.missing_program.as_ref().map(|program| {
        let what = format!("tmux.conf runs {}, which does not exist", program.display());
        Finding::broken(CHECK, what, "run `longhaul install`")
    }));
    found
}

fn server(facts: &Facts) -> Finding {
    let tmux = &facts.tmux;
    match &tmux.server {
        Some(Err(why)) => {
            Finding::broken(CHECK, format!("the server does not answer: {why}"), "exit tmux and start it again")
        }
        Some(Ok(state)) if !state.problem.is_empty() => {
            let what = format!("the server could not be set up: {}", state.problem);
            Finding::broken(CHECK, what, "fix the cause, then run `longhaul tmux setup`")
        }
        Some(Ok(state)) if state.command.is_empty() && tmux.has_line => Finding::broken(
            CHECK,
            "tmux.conf has the line, but this server is not set up: it was started before, or the line failed",
            "run `longhaul tmux setup`",
        ),
        Some(Ok(state)) if state.command.is_empty() => {
            Finding::note(CHECK, format!("the server does not show the sessions: {ADD}"))
        }
        Some(Ok(state)) if tmux.is_command_gone => {
            let what = format!("the server calls an executable that does not exist: {}", state.command);
            Finding::broken(CHECK, what, "run `longhaul tmux setup`")
        }
        Some(Ok(_)) if tmux.has_line => Finding::ok(CHECK, "the server shows the sessions"),
        Some(Ok(_)) => Finding::warning(
            CHECK,
            "the server shows the sessions, but the next one will not: tmux.conf does not have the line",
            ADD,
        ),
        None if tmux.has_line => Finding::ok(CHECK, "tmux.conf has the line; the doctor was started outside tmux"),
        None => Finding::note(CHECK, format!("tmux.conf does not show the sessions: {ADD}")),
    }
}
