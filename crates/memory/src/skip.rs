//! Tools that leave nothing worth remembering.

/// Tools that are not remembered unless the user says otherwise: they keep lists, ask, or load something.
pub(crate) const DEFAULT_SKIPPED: [&str; 14] = [
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
/// Those that are `configured`, or, where none are, those that keep lists, ask, or load something; a `*` in an entry stands
/// for any characters. Our own tools are always skipped, and so is a call without a tool's name.
pub fn is_skipped(tool: &str, configured: &[String]) -> bool {
    let listed = match configured {
        [] => DEFAULT_SKIPPED.contains(&tool),
        patterns => patterns.iter().any(|pattern| matches(pattern, tool)),
    };
    tool.is_empty() || listed || matches(OWN, tool)
}

/// Returns whether `name` is what `pattern` says; a `*` in it stands for any characters.
///
/// Every part between its stars is taken where it comes first.
pub fn matches(pattern: &str, name: &str) -> bool {
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
