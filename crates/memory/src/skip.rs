//! Tools that leave nothing worth remembering.

/// Tools that are not remembered unless the user says otherwise: they keep lists, ask, or load something.
pub const DEFAULT_SKIPPED: [&str; 14] = [
    "AskUserQuestion",
    "EnterPlanMode",
    "ListMcpResources",
    "ListMcpResourcesTool",
    "Skill",
    "SlashCommand",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WaitForMcpServers",
];

/// Our own tools, under whatever name the server was added: memory must not remember that it was read.
const OWN: &str = "mcp__*longhaul*";

/// Returns whether calls of `tool` are not remembered.
///
/// `configured` takes the place of [`DEFAULT_SKIPPED`]; a `*` in an entry stands for any characters. Our own tools are
/// always skipped, and so is a call without a tool's name.
pub fn is_skipped(tool: &str, configured: &[String]) -> bool {
    tool.is_empty() || matches(OWN, tool) || configured.iter().any(|pattern| matches(pattern, tool))
}

/// Returns whether `name` is what `pattern` says; every part between its stars is taken where it comes first.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = others.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
