//! The name of an agent on the command line.

use longhaul_agents::{ALL, Agent, find};

/// Returns the agent of that name.
pub(crate) fn parse(name: &str) -> Result<&'static Agent, String> {
    let names: Vec<&str> = ALL.iter().map(|agent| agent.name).collect();
    find(name).ok_or_else(|| match name {
        "claude" => "Claude Code needs no --agent".to_owned(),
        "codex" => "use --codex for Codex".to_owned(),
        _ => format!("no such agent; use one of {}", names.join(", ")),
    })
}
