//! Processes, and which of them are clients.

/// How deep a tree of processes is followed.
const MAX_DEPTH: usize = 64;

/// Names under which clients run.
const CLIENTS: [&str; 3] = ["claude", "codex", "gemini"];

/// Folders from which an interpreter runs them.
const PACKAGES: [(&str, &str); 3] =
    [("@anthropic-ai/claude-code/", "claude"), ("@openai/codex/", "codex"), ("@google/gemini-cli/", "gemini")];

/// Names of interpreters that may run a client; newer versions of node call themselves after their main thread.
const INTERPRETERS: [&str; 3] = ["node", "MainThread", "bun"];

/// A process that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its name.
    pub name: String,
    /// Its arguments, where it is an interpreter that may run a client.
    pub arguments: String,
}

/// Returns whether `pid` is the process `root` or runs below it.
pub fn is_below(pid: u32, root: u32, processes: &[Process]) -> bool {
    let parent = |pid: &u32| processes.iter().find(|process| process.pid == *pid).map(|process| process.parent);
    std::iter::successors(Some(pid), parent).take(MAX_DEPTH).any(|pid| pid == root)
}

/// Returns the client that runs below the process `root`, with its name.
pub fn agent_below(root: u32, processes: &[Process]) -> Option<(u32, &'static str)> {
    processes.iter().find_map(|process| {
        let client = client_name(process)?;
        is_below(process.pid, root, processes).then_some((process.pid, client))
    })
}

/// Returns which client a process is: by its name, or by the script that an interpreter runs.
pub fn client_name(process: &Process) -> Option<&'static str> {
    let named = |name: &str| CLIENTS.into_iter().find(|client| *client == name);
    if !INTERPRETERS.contains(&process.name.as_str()) {
        return named(&process.name);
    }
    // An argument behind the script, or a folder above it, may be called like a client too.
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
