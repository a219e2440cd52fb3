//! The tables of the agents: events, time limits of hooks, names of fields and tools, configuration.

mod codex;
mod gemini;
mod opencode;
mod qwen;

use crate::Agent;

/// Every agent other than Claude Code.
pub const ALL: [&Agent; 4] = [&codex::AGENT, &gemini::AGENT, &qwen::AGENT, &opencode::AGENT];

/// Returns the agent of that name.
pub fn find(name: &str) -> Option<&'static Agent> {
    ALL.into_iter().find(|agent| agent.name == name)
}
