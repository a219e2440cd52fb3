//! What a session is shown about another agent whose session it continues.

use longhaul_core::record::defuse;

use crate::baton::agent_of;

/// The name of an agent for readers, and what its tools are called.
struct AgentWords {
    id: &'static str,
    name: &'static str,
    tools: &'static str,
}

/// The agents whose tools are known. A tool that is recorded under another name has that name in parentheses.
const AGENTS: [AgentWords; 5] = [
    AgentWords { id: "claude", name: "Claude Code", tools: "Bash, Read, Edit, Write, Grep, Glob, TodoWrite, Agent" },
    AgentWords {
        id: "codex",
        name: "Codex",
        tools: "exec_command (recorded as Bash), apply_patch, view_image (recorded as Read), \
                update_plan (recorded as TodoWrite)",
    },
    AgentWords {
        id: "gemini",
        name: "Gemini CLI",
        tools: "run_shell_command (recorded as Bash), read_file (as Read), replace (as Edit), write_file (as Write)",
    },
    AgentWords {
        id: "qwen",
        name: "Qwen Code",
        tools: "run_shell_command (recorded as Bash), read_file (as Read), edit (as Edit), write_file (as Write)",
    },
    AgentWords { id: "opencode", name: "opencode", tools: "bash, read, edit, write, grep, glob, task" },
];

/// Returns the line about the agent of `session`; empty where `reader`, the session that is shown it, has the same agent.
pub(crate) fn about(session: &str, reader: &str) -> String {
    let agent = agent_of(session);
    if reader.is_empty() || agent == agent_of(reader) {
        return String::new();
    }
    match AGENTS.iter().find(|known| known.id == agent) {
        Some(AgentWords { name, tools, .. }) => {
            format!("That session ran in {name}, another agent. Its tools are called {tools}.\n")
        }
        None => format!("That session ran in {}, another agent.\n", defuse(agent)),
    }
}
