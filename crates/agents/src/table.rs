//! The tables of the agents.

mod gemini;
mod opencode;
mod qwen;

use crate::Agent;

/// Every agent with a table. Codex has an executable of its own.
pub const ALL: [&Agent; 3] = [&gemini::AGENT, &qwen::AGENT, &opencode::AGENT];

/// Returns the agent of that name.
pub fn find(name: &str) -> Option<&'static Agent> {
    ALL.into_iter().find(|agent| agent.name == name)
}
