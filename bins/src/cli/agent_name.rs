//! The name of an agent on the command line.

use longhaul_agents::{ALL, Agent, find};

/// Returns the table of Codex, for the option `--codex`.
pub(crate) fn codex() -> Option<&'static Agent> {
    find("codex")
}

/// Returns the help of an option that takes the name of an agent.
pub(crate) fn help(does: &str) -> String {
    let names: Vec<&str> = ALL.iter().map(|agent| agent.name).collect();
    format!("{does}: {}", names.join(", "))
}

/// Returns the agent of that name.
pub(crate) fn parse(name: &str) -> Result<&'static Agent, String> {
    let names: Vec<&str> = ALL.iter().map(|agent| agent.name).collect();
    find(name).ok_or_else(|| match name {
        "claude" => "Claude Code needs no --agent".to_owned(),
        _ => format!("no such agent; use one of {}", names.join(", ")),
    })
}
