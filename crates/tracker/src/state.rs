//! The state machine of a session's status: what an event or a notification changes, the reason that is shown for it, and
//! the user's script that is told of it.

use longhaul_core::Status;

/// For how many seconds after a question for permission the client's late notification of it is ignored.
pub const NOTIFICATION_LAG_SECONDS: u64 = 45;

/// An event that can change a session's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trigger {
    /// A prompt was submitted.
    Prompt,
    /// The main conversation used a tool.
    ToolUsed,
    /// A subagent used a tool; if it had opened a dialog, the dialog has been answered.
    SubagentToolUsed,
    /// A dialog asks for permission.
    PermissionRequested,
    /// Claude Code notified the user that it waits for an answer.
    Notified,
    /// The turn ended.
    Stopped,
    /// The turn ended in an error.
    Failed,
    /// A subagent has returned.
    SubagentReturned,
    /// A teammate has nothing to do.
    TeammateIdle,
    /// The user looked at the pane.
    Seen,
    /// Claude Code's own record says that no turn is running.
    ClientIdle,
    /// Claude Code's own record says that no turn is running, and Stop had fired for the last one.
    ClientIdleAfterStop,
    /// Claude Code's own record says that a turn is running.
    ClientBusy,
    /// Claude Code's own record says that the turn waits for an answer.
    ClientWaiting,
    /// Claude Code's own record says that the user has opened a dialog.
    ClientInDialog,
}

impl Trigger {
    /// Every trigger.
    pub const ALL: [Self; 15] = [
        Self::Prompt,
        Self::ToolUsed,
        Self::SubagentToolUsed,
        Self::PermissionRequested,
        Self::Notified,
        Self::Stopped,
        Self::Failed,
        Self::SubagentReturned,
        Self::TeammateIdle,
        Self::Seen,
        Self::ClientIdle,
        Self::ClientIdleAfterStop,
        Self::ClientBusy,
        Self::ClientWaiting,
        Self::ClientInDialog,
    ];
}

/// Returns the trigger for a turn that ended for `reason`, as the module inside Claude Code receives it.
///
/// Returns `None` for an end that a hook reports, too.
pub fn turn_ended(reason: &str) -> Option<Trigger> {
    // The user pressed Esc, which no hook reports.
    (reason == "aborted").then_some(Trigger::ClientIdle)
}

/// What a notification of Claude Code asks the user for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifiedDialog {
    /// Permission. A hook has usually reported it before, at once.
    Permission,
    /// Something else, which no other hook reports.
    Other,
}

/// Returns what a notification of the type `kind` asks for, so that the session is blocked; `None` if it asks for nothing.
///
/// A notification without a type comes from a version that has no types.
pub fn notified_dialog(kind: Option<&str>) -> Option<NotifiedDialog> {
    match kind {
        Some("permission_prompt") | None => Some(NotifiedDialog::Permission),
        Some("elicitation_dialog") => Some(NotifiedDialog::Other),
        Some(_) => None,
    }
}

/// The statuses that a trigger changes, and the status that they become.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transition {
    /// The statuses that the trigger changes.
    pub from: Vec<Status>,
    /// The status that they become.
    pub to: Status,
}

/// Returns the transition of `trigger`. The condition of the database statement is made from it.
pub fn transition(trigger: Trigger) -> Transition {
    let (from, to) = rule(trigger);
    Transition { from: from.iter().copied().filter(|status| *status != to).collect(), to }
}

/// Returns the status that `trigger` changes `status` to, or `None` where it changes nothing.
///
/// `None` for a tool call while working is the hot path: the caller must then use neither the database nor tmux.
pub fn next(status: Status, trigger: Trigger) -> Option<Status> {
    let (from, to) = rule(trigger);
    (status != to && from.contains(&status)).then_some(to)
}

/// Returns the statuses in which a trigger counts, and the status that it leads to.
fn rule(trigger: Trigger) -> (&'static [Status], Status) {
    use Status::{Blocked, Completed, Idle, Working};
    match trigger {
        Trigger::Prompt | Trigger::ToolUsed | Trigger::ClientBusy => (&Status::ALL, Working),
        Trigger::SubagentToolUsed | Trigger::SubagentReturned => (&[Blocked], Working),
        Trigger::PermissionRequested | Trigger::Notified | Trigger::Failed | Trigger::ClientInDialog => {
            (&[Working], Blocked)
        }
        Trigger::ClientWaiting => (&Status::ALL, Blocked),
        Trigger::Stopped | Trigger::ClientIdleAfterStop => (&[Working, Blocked], Completed),
        Trigger::ClientIdle => (&[Working, Blocked], Idle),
        Trigger::TeammateIdle => (&Status::ALL, Idle),
        Trigger::Seen => (&[Completed], Idle),
    }
}

// What a permission dialog asks for, in words, and the reason for which a session is blocked.

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

// The script that the user has set to run when a session changes: a program, or text for a shell, and the text that it
// gets.

/// Characters with a special meaning in a shell, except quotes and the backslash.
const ACTIVE: &[char] = &['$', '`', ';', '|', '&', '<', '>', '(', ')', '#', '\n'];

/// How to run the value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Script {
    /// A program, by its path; the values of the change are its arguments.
    Program(String),
    /// Text for a shell, in which the values of the change are `$1` to `$5`.
    Shell(String),
}

impl Script {
    /// Parses an option's value. `home` replaces `~`, and `is_file` returns whether a path is an existing file.
    ///
    /// A path alone is a program, even with spaces in it. For a path with arguments, the values are appended to the
    /// arguments, unless the text uses other features of the shell.
    pub fn parse(text: &str, home: Option<&str>, is_file: impl Fn(&str) -> bool) -> Self {
        let text = text.trim();
        let path = |text: &str| expand(text, home).filter(|path| is_file(path));
        if let Some(program) = path(text) {
            return Self::Program(program);
        }
        match first_word(text) {
            Some((word, rest)) if path(&word).is_some() && !rest.contains(ACTIVE) => {
                if rest.trim().is_empty() {
                    return Self::Program(path(&word).unwrap_or(word));
                }
                Self::Shell(format!("{text} \"$@\""))
            }
            _ => Self::Shell(text.to_owned()),
        }
    }
}

/// Returns `text` as an absolute path, with `~` replaced; `None` where it is not an absolute path.
fn expand(text: &str, home: Option<&str>) -> Option<String> {
    match text.strip_prefix("~/") {
        Some(rest) => Some(format!("{}/{rest}", home?.trim_end_matches('/'))),
        None => text.starts_with('/').then(|| text.to_owned()),
    }
}

/// Returns the first word, as a shell reads it, and the rest of the text; `None` where a quote is not closed.
fn first_word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => return Some((word, &text[at..])),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '\\') => word.push(chars.next()?.1),
            (_, c) => word.push(c),
        }
    }
    quote.is_none().then_some((word, ""))
}

/// Returns the last value that a script gets: the reason why the session is blocked, or else its last prompt.
pub fn script_text<'t>(to: Status, reason: Option<&'t str>, last_prompt: Option<&'t str>) -> &'t str {
    reason.filter(|_| to == Status::Blocked).or(last_prompt).unwrap_or_default()
}

/// Returns `value` without control characters, which a terminal would interpret.
pub fn without_control_chars(value: &str) -> String {
    value.chars().filter(|c| !c.is_control()).collect()
}
