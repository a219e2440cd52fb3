//! Checks of the worker and of the module inside Claude Code. Pure.

use super::Finding;
use super::facts::{BridgeFacts, Facts, Worker};
use crate::claude_command::BRIDGE_SINCE;

/// Checks that a worker that runs answers.
pub(super) fn worker(facts: &Facts) -> Vec<Finding> {
    let check = "worker";
    match facts.worker {
        Worker::Off => vec![Finding::ok(
            check,
            "not running; it is only needed for the viewer, a model and an embeddings endpoint",
        )],
        Worker::Answers(port) => vec![Finding::ok(check, format!("answers on port {port}"))],
        Worker::Silent(pid) => {
            vec![Finding::warning(
                check,
                format!("process {pid} runs but does not answer"),
                "run `longhaul worker stop`",
            )]
        }
    }
}

/// Checks that running Claude Code processes have loaded the module.
pub(super) fn bridge(facts: &Facts) -> Vec<Finding> {
    let check = "bridge";
    let BridgeFacts { is_wanted, clients, loaded } = &facts.bridge;
    if !is_wanted {
        return vec![Finding::ok(check, "disabled by bridge.enabled: Longhaul types into the terminal instead")];
    }
    if let Some((pid, trouble)) = loaded.iter().find_map(|(pid, trouble)| Some((pid, trouble.as_ref()?))) {
        let what = format!("Claude Code process {pid} could not do what it was asked: {trouble}");
        return vec![Finding::warning(
            check,
            what,
            "Longhaul types instead where it can; restart that Claude Code to try again",
        )];
    }
    match (*clients, loaded.len()) {
        (0, _) => vec![Finding::ok(check, "no Claude Code runs now, so the module cannot be checked")],
        (clients, 0) => vec![Finding {
            fix: Some(format!("restart the sessions, or update Claude Code to {BRIDGE_SINCE} or later")),
            ..Finding::note(
                check,
                format!(
                    "none of {clients} running Claude Code processes has loaded the module: Longhaul types into the terminal instead"
                ),
            )
        }],
        (clients, loaded) => {
            vec![Finding::ok(check, format!("the module runs in {loaded} of {clients} Claude Code processes"))]
        }
    }
}
