//! Tools whose calls are not remembered.

/// Tools that are skipped by default: they keep lists, ask the user, or load something.
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

/// Longhaul's own tools, under any name of the server: reading the memory must not be remembered.
const OWN: &str = "mcp__*longhaul*";

/// Returns whether calls of `tool` are skipped.
///
/// These are the `configured` tools, or the default ones if none are configured. A `*` in an entry matches any
/// characters. Longhaul's own tools, and calls without a tool name, are always skipped.
pub fn is_skipped(tool: &str, configured: &[String]) -> bool {
    let listed = match configured {
        [] => DEFAULT_SKIPPED.contains(&tool),
        patterns => patterns.iter().any(|pattern| matches(pattern, tool)),
    };
    tool.is_empty() || listed || matches(OWN, tool)
}

/// Returns whether `name` matches `pattern`, in which a `*` matches any characters.
///
/// Each part between two stars is matched at its first occurrence.
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
