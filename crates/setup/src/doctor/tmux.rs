//! Whether tmux shows the sessions, now and after its next start. Pure.

use super::Finding;
use super::facts::Facts;

const CHECK: &str = "tmux";

/// What puts the line into tmux.conf, and sets up the server that it runs in.
const ADD: &str = "longhaul install --tmux";

/// Checks the server that the doctor runs in, and what tmux.conf says.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let tmux = &facts.tmux;
    if !tmux.is_there {
        return vec![Finding::note(
            CHECK,
            "not installed: no counts are shown; bookmarks are typed in other terminals only",
        )];
    }
    let mut found = vec![server(facts)];
    found.extend(tmux.missing_program.as_ref().map(|program| {
        let what = format!("tmux.conf runs {}, which is missing: no server is set up", program.display());
        Finding::broken(CHECK, what, "longhaul install")
    }));
    found
}

fn server(facts: &Facts) -> Finding {
    let tmux = &facts.tmux;
    match &tmux.server {
        Some(Err(why)) => {
            Finding::broken(CHECK, format!("its server does not answer: {why}"), "leave tmux and start it anew")
        }
        Some(Ok(state)) if !state.problem.is_empty() => {
            let what = format!("the server could not be set up: {}", state.problem);
            Finding::broken(CHECK, what, "fix the cause, then run longhaul tmux setup")
        }
        Some(Ok(state)) if state.command.is_empty() && tmux.has_line => Finding::broken(
            CHECK,
            "tmux.conf has the line, and this server is not set up: it is older than the line, or the line failed",
            "longhaul tmux setup",
        ),
        Some(Ok(state)) if state.command.is_empty() => {
            Finding::note(CHECK, format!("the server does not show the sessions: {ADD}"))
        }
        Some(Ok(state)) if tmux.is_command_gone => {
            let what = format!("the server calls an executable that is gone: {}", state.command);
            Finding::broken(CHECK, what, "longhaul tmux setup")
        }
        Some(Ok(_)) if tmux.has_line => Finding::ok(CHECK, "the server shows the sessions"),
        Some(Ok(_)) => Finding::warning(
            CHECK,
            "the server shows the sessions, and the next one will not: tmux.conf does not say so",
            ADD,
        ),
        None if tmux.has_line => Finding::ok(CHECK, "tmux.conf has the line; this runs outside tmux"),
        None => Finding::note(CHECK, format!("tmux.conf does not show the sessions: {ADD}")),
    }
}
