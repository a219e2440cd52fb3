//! A session as the tracker knows it, with the lengths of its texts.

use std::cmp::Reverse;

use longhaul_core::{SessionId, Status, short_session};

/// Maximum number of characters of [`Agent::prompt_summary`].
const SUMMARY_CHARS: usize = 80;

/// Maximum number of characters of [`Agent::reason`] and [`Agent::wants`].
pub const REASON_CHARS: usize = 200;

/// Returns the beginning of a prompt, in one line, by which the user recognises a session.
pub fn prompt_summary(prompt: &str) -> String {
    let words: Vec<&str> = prompt.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(SUMMARY_CHARS).collect()
}

/// A pane of a tmux server. The socket is part of it, because pane ids of two servers can be the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Pane {
    /// The path of the server's socket.
    pub socket: String,
    /// The pane's id, `%<digits>`.
    pub id: String,
}

/// The row of a session that has not ended. Times are in seconds since the Unix epoch, unless named otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Agent {
    /// The session's id, in the form that is safe as a file name.
    pub session: String,
    /// What the session does.
    pub status: Status,
    /// The reason for which it is blocked, where that is known.
    pub reason: Option<String>,
    /// What the open permission dialog asks for, such as `wants to run: cargo publish`.
    pub wants: Option<String>,
    /// The subagent that opened the dialog; `None` for the main conversation.
    pub asked_by: Option<String>,
    /// The time of the last prompt, in milliseconds, where it is known.
    pub prompt_ms: Option<u64>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The name of the working directory; in a worktree that Claude Code has made, that of the project.
    pub project: String,
    /// The git branch that is checked out there.
    pub branch: Option<String>,
    /// The beginning of the last prompt.
    pub prompt_summary: Option<String>,
    /// What distinguishes it from a session in the project's own folder: see [`agent_type`]. Sessions that work for another
    /// one are not counted.
    pub agent_type: Option<String>,
    /// The tmux pane in which it runs.
    pub pane: Option<Pane>,
    /// The pane as `session:window.pane`.
    pub target: Option<String>,
    /// The client that runs it: `claude`, or one of [`longhaul_core::OTHER_AGENTS`].
    pub client: String,
    /// The process id of the client.
    pub pid: Option<u32>,
    /// The number of running subagents.
    pub subagents: u32,
    /// The number of tasks that were completed since the last prompt.
    pub tasks: u32,
    /// The time at which it was first seen.
    pub started_at: u64,
    /// The time at which its status last changed.
    pub updated_at: u64,
    /// The time at which a hook last changed the row, in milliseconds.
    pub touched_ms: u64,
    /// Whether its turn ended in an error. The error is shown until the next prompt.
    pub failed: bool,
    /// Whether its turn has ended while something still runs in the background.
    pub stopped: bool,
}

impl Agent {
    /// Returns an idle session of Claude Code, first seen at `now`, in seconds since the Unix epoch.
    ///
    /// Nothing else is known of it: no pane, no process, no project.
    pub fn new(session: impl Into<String>, now: u64) -> Self {
        Self {
            session: session.into(),
            client: "claude".to_owned(),
            started_at: now,
            updated_at: now,
            touched_ms: now.saturating_mul(1_000),
            ..Self::default()
        }
    }

    /// Returns whether it is one of the user's own sessions, which are counted, wherever they run.
    pub fn is_counted(&self) -> bool {
        !self.agent_type.as_deref().is_some_and(works_for_another)
    }

    /// Returns what it waits for, as precisely as it is known: what the dialog asks for, or else the reason.
    pub fn waits_for(&self) -> Option<&str> {
        self.wants.as_deref().or(self.reason.as_deref())
    }

    /// Returns whether it works, but only repeats the same calls.
    pub fn is_looping(&self) -> bool {
        self.status == Status::Working && self.reason.as_deref().is_some_and(|reason| reason.starts_with(LOOPING))
    }

    /// Returns the notes for lists: the agent type, the client where it is not Claude Code, and that it repeats the same calls.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        let kind = self.agent_type.as_deref().filter(|kind| !kind.is_empty());
        let client = Some(self.client.as_str()).filter(|client| !["", "claude"].contains(client));
        kind.into_iter().chain(client).chain(self.is_looping().then_some(LOOPING))
    }
}

/// The beginning of the reason of a working session that repeats the same calls.
pub const LOOPING: &str = "looping";

/// The agent type of a session that another one has asked to work for it.
pub const TEAMMATE: &str = "teammate";

/// The beginning of the agent type of a session whose client another session has started, before that session's short id.
const CHILD: &str = "child of ";

/// Returns whether a session of this agent type works for another session, and not for the user.
fn works_for_another(agent_type: &str) -> bool {
    agent_type == TEAMMATE || agent_type.starts_with(CHILD)
}

/// Returns the name of the project in `cwd`, and that of the worktree if Claude Code has made one there
/// (`claude --worktree`): `PROJECT/.claude/worktrees/NAME`.
pub fn project_and_worktree(cwd: &str) -> (&str, Option<&str>) {
    let name = |path: &'_ str| path.rsplit('/').find(|part| !part.is_empty()).map(str::len);
    let last = |path| {
        let path = str::trim_end_matches(path, '/');
        name(path).map_or("/", |length| &path[path.len() - length..])
    };
    match cwd.split_once("/.claude/worktrees/") {
        Some((project, below)) if !below.is_empty() => (last(project), below.split('/').next()),
        Some(_) | None => (last(cwd), None),
    }
}

/// Returns the agent type of `session` in `worktree`; `launched_by` is the client's list of the sessions that started it,
/// the newest first.
pub fn agent_type(session: &str, worktree: Option<&str>, launched_by: Option<&str>) -> Option<String> {
    // In a process that the session itself has started, the list begins with that session.
    let mut parents = launched_by.unwrap_or_default().split(',').filter_map(|id| SessionId::new(id.trim()));
    match parents.find(|parent| parent.as_str() != session) {
        Some(parent) => Some(format!("{CHILD}{}", short_session(parent.as_str()))),
        None => worktree.map(|name| format!("worktree {name}")),
    }
}

/// Lets sessions count whose parent is not among `agents`: the variable that names it may be inherited from a tmux server
/// which a session has started, long after that session has ended.
pub fn free_orphans(agents: &mut [Agent]) {
    let parents: Vec<String> = agents.iter().map(|agent| format!("{CHILD}{}", short_session(&agent.session))).collect();
    for agent in agents.iter_mut() {
        let is_orphan = |kind: &mut String| kind.starts_with(CHILD) && !parents.contains(kind);
        agent.agent_type.take_if(is_orphan);
    }
}

// The order in which sessions need the user's attention.

/// Returns the sort key of `agent` in every list: blocked sessions come first, then completed, working and idle ones.
///
/// Of several blocked or completed sessions, the one that has waited longest comes first. Of the others, the one that
/// changed last comes first. Sessions that work for another one come last.
pub fn attention(agent: &Agent) -> impl Ord + use<> {
    let (status, waits) = match agent.status {
        _ if !agent.is_counted() => (4, false),
        Status::Blocked => (0, true),
        Status::Completed => (1, true),
        Status::Working => (2, false),
        Status::Idle => (3, false),
    };
    let waits_since = if waits { agent.updated_at } else { 0 };
    (status, waits_since, Reverse(agent.updated_at), agent.session.clone())
}

// An age as short text, such as `3m`, for tmux and most lists. The view's is in `bins/src/cli/view/rows.rs`.

/// Formats an age compactly: empty under a minute, then `3m`, then `2h`.
pub fn age(seconds: u64) -> String {
    match seconds / 60 {
        0 => String::new(),
        minutes @ 1..60 => format!("{minutes}m"),
        minutes => format!("{}h", minutes / 60),
    }
}
