//! What a permission dialog asks for, in words, and the reason for which a session is blocked.

/// Returns the member of a tool's input that [`wants`] shows; `None` if it shows nothing of the input.
///
/// Only what the tool is about to do is shown, never the content that it writes.
pub fn shown_input(tool: &str) -> Option<&'static str> {
    match tool {
        "Bash" | "PowerShell" | "shell" => Some("command"),
        "Write" | "Edit" | "MultiEdit" | "Read" => Some("file_path"),
        "NotebookEdit" => Some("notebook_path"),
        "WebFetch" => Some("url"),
        "WebSearch" => Some("query"),
        _ => None,
    }
}

/// Returns what a dialog for `tool` asks for. `input` is the value of the member that [`shown_input`] names.
///
/// Of a path, only the name of the file is shown.
pub fn wants(tool: &str, input: Option<&str>) -> String {
    let input = input.map(str::trim).filter(|input| !input.is_empty());
    let verb = match tool {
        "Bash" | "PowerShell" | "shell" => "run",
        "Write" => "write",
        "Edit" | "MultiEdit" | "NotebookEdit" => "edit",
        "Read" => "read",
        "WebFetch" => "fetch",
        "WebSearch" => "search the web for",
        "ExitPlanMode" => return "wants approval for a plan".to_owned(),
        "AskUserQuestion" => return "asks a question".to_owned(),
        "" => return "wants permission".to_owned(),
        _ => return other(tool),
    };
    match input {
        Some(path) if matches!(verb, "write" | "edit" | "read") => format!("wants to {verb}: {}", file_name(path)),
        Some(input) => format!("wants to {verb}: {input}"),
        None => other(tool),
    }
}

/// Returns the reason for which a session is blocked by a dialog for `tool`, in lists and in the user's scripts.
pub fn permission_reason(tool: &str) -> String {
    if tool.is_empty() { "permission".to_owned() } else { format!("permission: {tool}") }
}

/// Returns the reason for which a session is blocked after its turn has ended in `error`.
pub fn failure_reason(error: &str) -> &str {
    if error.is_empty() { "error" } else { error }
}

/// Returns the text for a tool of which nothing else is known. A tool of an MCP server is named `mcp__SERVER__TOOL`.
fn other(tool: &str) -> String {
    match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("wants to use: {tool} of {server}"),
        None => format!("wants to use: {tool}"),
    }
}

fn file_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}
