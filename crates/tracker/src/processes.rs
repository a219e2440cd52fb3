//! Running processes, and which of them are clients.

/// The number of parents that are followed at most. A list of processes is no snapshot: it may contain a cycle.
const MAX_DEPTH: usize = 64;

/// The process names of clients.
const CLIENTS: [&str; 5] = ["claude", "codex", "gemini", "qwen", "opencode"];

/// The package folders of clients that an interpreter runs.
const PACKAGES: [(&str, &str); 5] = [
    ("@anthropic-ai/claude-code/", "claude"),
    ("@openai/codex/", "codex"),
    ("@google/gemini-cli/", "gemini"),
    ("@qwen-code/qwen-code/", "qwen"),
    ("opencode-ai/", "opencode"),
];

/// The process names of interpreters that may run a client. Newer versions of node use the name of their main thread.
const INTERPRETERS: [&str; 3] = ["node", "MainThread", "bun"];

/// A running process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The process id of the parent.
    pub parent: u32,
    /// The name of the process.
    pub name: String,
    /// The arguments, joined by spaces; only read for an interpreter that may run a client.
    pub arguments: String,
}

impl Process {
    /// Returns the process `pid`, a child of `parent`, without arguments.
    pub fn new(pid: u32, parent: u32, name: impl Into<String>) -> Self {
        Self { pid, parent, name: name.into(), arguments: String::new() }
    }
}

/// Returns whether `pid` is `root` or one of its descendants.
pub fn is_below(pid: u32, root: u32, processes: &[Process]) -> bool {
    let parent = |pid: &u32| processes.iter().find(|process| process.pid == *pid).map(|process| process.parent);
    std::iter::successors(Some(pid), parent).take(MAX_DEPTH).any(|pid| pid == root)
}

/// Returns the process id and the name of a client that is `root` or one of its descendants.
pub fn agent_below(root: u32, processes: &[Process]) -> Option<(u32, &'static str)> {
    processes.iter().find_map(|process| {
        let client = client_name(process)?;
        is_below(process.pid, root, processes).then_some((process.pid, client))
    })
}

/// Returns the name of the client that a process runs, by the process name or by the script of an interpreter.
pub fn client_name(process: &Process) -> Option<&'static str> {
    let named = |name: &str| CLIENTS.into_iter().find(|client| *client == name);
    if !INTERPRETERS.contains(&process.name.as_str()) {
        return named(&process.name);
    }
    // Only the script counts: an argument after it, or a folder above it, may have the name of a client, too.
    let script = process.arguments.split(' ').find(|word| !word.starts_with('-') && !is_interpreter(word))?;
    let package = PACKAGES.into_iter().find(|(folder, _)| script.contains(folder)).map(|(_, client)| client);
    package.or_else(|| named(file_name(script).trim_end_matches(".js")))
}

fn is_interpreter(word: &str) -> bool {
    INTERPRETERS.contains(&file_name(word))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
