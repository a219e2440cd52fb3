//! Processes, and which of them are clients.

/// How deep a tree of processes is followed.
const MAX_DEPTH: usize = 64;

/// Names under which clients run.
const CLIENTS: [&str; 3] = ["claude", "codex", "gemini"];

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
        let client = client(process)?;
        is_below(process.pid, root, processes).then_some((process.pid, client))
    })
}

/// Returns which client a process is: by its name, or by the script that node runs.
fn client(process: &Process) -> Option<&'static str> {
    let runs = |client: &&&str| {
        let script = |word: &str| word.rsplit('/').any(|part| part.trim_end_matches(".js") == **client);
        process.name == **client || (process.name == "node" && process.arguments.split(' ').any(script))
    };
    CLIENTS.iter().find(runs).copied()
}
