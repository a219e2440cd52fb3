//! What no hook reports: Esc, a denied or granted permission, sessions without a row, and those that are gone.

use longhaul_core::{Millis, Status};

use crate::{Agent, Pane, Trigger};

/// The record that a running Claude Code writes about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientRecord {
    /// The process id of Claude Code.
    pub pid: u32,
    /// The session that it shows now.
    pub session: String,
    /// The working directory.
    pub cwd: Option<String>,
    /// The tmux pane (`%<digits>`) in which it runs, if any.
    pub pane: Option<String>,
    /// What it does.
    pub status: ClientStatus,
    /// What it waits for, if it waits.
    pub waiting_for: Option<String>,
    /// The time since which the status holds.
    pub since: Millis,
}

impl ClientRecord {
    /// Returns the record of the client `pid`, which shows `session` and has had `status` since `since`.
    ///
    /// Its working directory and its pane are unknown.
    pub fn new(pid: u32, session: impl Into<String>, status: ClientStatus, since: Millis) -> Self {
        Self { pid, session: session.into(), cwd: None, pane: None, status, waiting_for: None, since }
    }
}

/// The status in a client's own record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientStatus {
    /// No turn is running.
    Idle,
    /// A turn is running.
    Busy,
    /// A dialog is open.
    Waiting,
}

/// How long after a hook an older record is ignored. After this time, a record that has not changed is up to date.
const SETTLED_MS: u64 = 3_000;

/// Time without a hook after which the transcript of a session without a record is searched for an interrupt.
const SILENT_MS: u64 = 10_000;

/// Returns whether a session without a record may have been interrupted: it should work, and no hook has reported anything
/// for some time. Its transcript then shows whether it was.
pub fn may_be_interrupted(agent: &Agent, last_hook: Millis, now: Millis) -> bool {
    agent.status.is_running() && now.since(last_hook) >= SILENT_MS
}

/// Returns the change that the record shows and the row does not have yet, or `None` where there is none.
///
/// `last_hook` is the time of the last hook that reported the session's status. A record that is older than a hook of the
/// last seconds is ignored. A failed turn stays shown while the client is idle. If the last hook seems to be in the future,
/// the clock was set back, and the times say nothing: the record is believed.
pub fn reconcile(agent: &Agent, last_hook: Millis, record: &ClientRecord, now: Millis) -> Option<Trigger> {
    let is_set_back = last_hook.since(now) > SETTLED_MS;
    let is_outdated = record.since < last_hook && now.since(last_hook) < SETTLED_MS && !is_set_back;
    let is_shown_failure = agent.failed && record.status == ClientStatus::Idle;
    if record.session != agent.session || is_outdated || is_shown_failure {
        return None;
    }
    let trigger = match record.status {
        ClientStatus::Idle if agent.stopped => Trigger::ClientIdleAfterStop,
        ClientStatus::Idle => Trigger::ClientIdle,
        ClientStatus::Busy => Trigger::ClientBusy,
        // The user opened this dialog, such as the model picker: the session does not wait for an answer.
        ClientStatus::Waiting if record.waiting_for.as_deref() == Some("dialog open") => Trigger::ClientInDialog,
        ClientStatus::Waiting => Trigger::ClientWaiting,
    };
    crate::next(agent.status, trigger).map(|_| trigger)
}

/// A client that is attached to a tmux server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// The id of the pane that is active in it, such as `%3`.
    pub pane: String,
    /// Whether its terminal has the focus; `None` where that is not reported.
    pub focused: Option<bool>,
    /// The time since the last key, in seconds.
    pub idle_seconds: u64,
}

/// Returns whether the user has seen the end of a completed session's turn, `seconds` or more ago.
///
/// That its pane is on a screen is not enough: nobody may sit in front of it. The terminal must have the focus, or else a
/// key must have been pressed since.
pub fn has_been_seen(agent: &Agent, viewers: &[Viewer], now: u64, seconds: u64) -> bool {
    let Some(pane) = &agent.pane else { return false };
    let age = now.saturating_sub(agent.updated_at);
    let looks = |viewer: &Viewer| viewer.focused.unwrap_or(viewer.idle_seconds < age);
    age >= seconds && viewers.iter().any(|viewer| viewer.pane == pane.id && looks(viewer))
}

// Which of several windows of Codex shows a session.
//
// All windows of Codex share one server process, which starts the hooks, so that no hook can ask for its window. What
// the windows show tells them apart.

/// A window of Codex.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CodexWindow {
    /// The process id.
    pub pid: u32,
    /// The id of the session that it was started to resume, by its command line.
    pub resumed: Option<String>,
    /// Whether its screen shows the prompt of the event as the newest one.
    pub shows_prompt: bool,
}

impl CodexWindow {
    /// Returns a window of which only the process is known.
    pub fn new(pid: u32) -> Self {
        Self { pid, ..Self::default() }
    }
}

/// Returns the process id of the window that shows the session `own`, Codex's id of it; `None` where that is not certain.
///
/// `recorded` is the window in which the session was found last. The screen is newer: a session can be resumed in another
/// window. If two windows show the same prompt, the record decides.
pub fn codex_window(windows: &[CodexWindow], own: &str, recorded: Option<u32>) -> Option<u32> {
    if let [only] = windows {
        return Some(only.pid);
    }
    let showing: Vec<u32> = windows.iter().filter(|window| window.shows_prompt).map(|window| window.pid).collect();
    let recorded = recorded.filter(|pid| windows.iter().any(|window| window.pid == *pid));
    match (showing.as_slice(), recorded) {
        ([only], _) => Some(*only),
        ([], Some(recorded)) => Some(recorded),
        (_, Some(recorded)) if showing.contains(&recorded) => Some(recorded),
        _ => {
            let mut resuming = windows.iter().filter(|window| window.resumed.as_deref() == Some(own));
            let first = resuming.next().map(|window| window.pid);
            first.filter(|_| resuming.next().is_none())
        }
    }
}

// Running sessions that have no row: those started before the plugin was installed, and those whose row was removed.

/// Returns the running sessions that have no row.
///
/// Session id and status come from the client's own record. For a pane in which a client without a record runs, a
/// placeholder is returned, with the id `scan-<pane>`, which the session's first hook replaces.
pub fn scan(agents: &[Agent], panes: &[LivePane], processes: &[Process], records: &[ClientRecord]) -> Vec<Agent> {
    let has_row = |pane: &Pane| agents.iter().any(|agent| agent.pane.as_ref() == Some(pane));
    let known = |record: &ClientRecord| agents.iter().any(|agent| agent.session == record.session);
    let pane_of = |pid: u32| panes.iter().find(|live| is_below(pid, live.pid, processes));
    let mut found: Vec<Agent> = Vec::new();
    for record in records.iter().filter(|record| !known(record)) {
        let live = pane_of(record.pid);
        let status = match record.status {
            ClientStatus::Idle => Status::Idle,
            ClientStatus::Busy => Status::Working,
            ClientStatus::Waiting => Status::Blocked,
        };
        found.push(Agent {
            session: record.session.clone(),
            status,
            reason: record.waiting_for.clone(),
            cwd: record.cwd.clone(),
            pane: live.map(|live| live.pane.clone()),
            target: live.map(|live| live.target.clone()),
            client: "claude".to_owned(),
            pid: Some(record.pid),
            ..Agent::default()
        });
    }
    for live in panes.iter().filter(|live| !has_row(&live.pane)) {
        let is_found = found.iter().any(|found| found.pane.as_ref() == Some(&live.pane));
        let recorded = |pid: u32| records.iter().any(|record| record.pid == pid);
        if let Some((pid, client)) = agent_below(live.pid, processes).filter(|(pid, _)| !is_found && !recorded(*pid)) {
            found.push(Agent {
                session: format!("scan-{}", live.pane.id.trim_start_matches('%')),
                cwd: Some(live.cwd.clone()),
                pane: Some(live.pane.clone()),
                target: Some(live.target.clone()),
                client: client.to_owned(),
                pid: Some(pid),
                ..Agent::default()
            });
        }
    }
    found
}

// Running processes, and which of them are clients.

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

// Which rows are removed, and after how long: those whose pane or client is gone, or that are a day old.

/// How long a row may stay unchanged while neither its pane nor its client is known.
const NO_PANE_SECONDS: u64 = 10 * 60;

/// The age after which `cleanup` removes a row that has not changed.
const OLD_SECONDS: u64 = 24 * 60 * 60;

/// A pane in tmux's list of panes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LivePane {
    /// The pane.
    pub pane: Pane,
    /// The process id of the pane's first process.
    pub pid: u32,
    /// The pane as `session:window.pane`.
    pub target: String,
    /// The pane's working directory.
    pub cwd: String,
    /// The name of the pane's window.
    pub window_name: String,
    /// Whether tmux names the window after the running program.
    pub window_names_itself: bool,
}

impl LivePane {
    /// Returns the pane whose first process is `pid`. Its target, working directory and window name are empty.
    pub fn new(pane: Pane, pid: u32) -> Self {
        Self { pane, pid, ..Self::default() }
    }
}

/// Why a row is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalReason {
    /// Its pane is gone.
    PaneGone,
    /// Its client is gone, while its pane may still exist.
    ClientGone,
    /// Neither its pane nor its client is known, and it has not changed for ten minutes.
    Silent,
    /// It has not changed for a day.
    Old,
}

/// Returns the agents whose rows are to be removed, with the reason.
///
/// `sockets` are the servers whose panes are all in `panes`. The panes of other servers are unknown; for their sessions
/// only the client process is checked: a client dies with its server. A completed session in an existing pane is kept after its client is gone, until
/// the user has seen it.
pub fn dead_agents<'a>(
    agents: &'a [Agent],
    sockets: &[&str],
    panes: &[LivePane],
    processes: &[Process],
    now: u64,
) -> Vec<(&'a Agent, RemovalReason)> {
    let lives = |pid: u32| processes.iter().any(|process| process.pid == pid);
    let is_silent = |agent: &Agent| now.saturating_sub(agent.updated_at) > NO_PANE_SECONDS;
    let verdict = |agent: &Agent| match &agent.pane {
        // The server may be gone, or only unreachable: remove the row only if the client is known to be dead.
        Some(pane) if !sockets.contains(&pane.socket.as_str()) => {
            agent.pid.is_some_and(|pid| !lives(pid)).then_some(RemovalReason::ClientGone)
        }
        Some(pane) => match panes.iter().find(|live| live.pane == *pane) {
            None => Some(RemovalReason::PaneGone),
            Some(live) if agent.status == Status::Completed || runs_in(agent, live, processes) => None,
            Some(_) => Some(RemovalReason::ClientGone),
        },
        // There is no pane to inspect: remove the row once the client process is dead.
        None if agent.pid.is_some_and(|pid| !lives(pid)) => Some(RemovalReason::ClientGone),
        None => (agent.pid.is_none() && is_silent(agent)).then_some(RemovalReason::Silent),
    };
    agents.iter().filter_map(|agent| Some((agent, verdict(agent)?))).collect()
}

/// Returns whether the session's client runs in the pane: the process with its pid, or any process named like a client.
fn runs_in(agent: &Agent, live: &LivePane, processes: &[Process]) -> bool {
    let is_there = |pid: u32| processes.iter().any(|process| process.pid == pid) && is_below(pid, live.pid, processes);
    agent.pid.is_some_and(is_there) || agent_below(live.pid, processes).is_some()
}

/// Returns the agents that have not changed for a day.
pub fn stale_agents(agents: &[Agent], now: u64) -> Vec<(&Agent, RemovalReason)> {
    let is_old = |agent: &&Agent| now.saturating_sub(agent.updated_at) > OLD_SECONDS;
    agents.iter().filter(is_old).map(|agent| (agent, RemovalReason::Old)).collect()
}
