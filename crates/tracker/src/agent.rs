//! A session that is alive.

use longhaul_core::Status;

/// A pane of a tmux server. Two servers number their panes alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pane {
    /// The path of the server's socket.
    pub socket: String,
    /// The pane's id, `%<digits>`.
    pub id: String,
}

/// A session that is alive, as its row says. Times are seconds since the epoch, unless named otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The session, in the form that names files.
    pub session: String,
    /// What it does.
    pub status: Status,
    /// Why it is blocked, where that is known.
    pub reason: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// That directory's name.
    pub project: String,
    /// The branch that is checked out there.
    pub branch: Option<String>,
    /// The beginning of the last prompt.
    pub prompt_summary: Option<String>,
    /// `teammate` or `worktree` for one that works for another; such are not counted.
    pub agent_type: Option<String>,
    /// The pane it runs in.
    pub pane: Option<Pane>,
    /// That pane as `session:window.pane`.
    pub target: Option<String>,
    /// The client: `claude`, `codex`, `gemini`.
    pub client: String,
    /// The client's process.
    pub pid: Option<u32>,
    /// How many subagents run.
    pub subagents: u32,
    /// How many tasks were completed since the last prompt.
    pub tasks: u32,
    /// When it was first seen.
    pub started_at: u64,
    /// When its status last changed.
    pub updated_at: u64,
    /// When a hook last changed the row, in milliseconds.
    pub touched_ms: u64,
    /// Whether its turn ended in an error, which stays shown until the next prompt.
    pub failed: bool,
    /// Whether its turn has ended although something still runs in the background.
    pub stopped: bool,
}

impl Agent {
    /// Returns whether the agent is one of the user's own sessions.
    pub fn is_counted(&self) -> bool {
        self.agent_type.as_deref().is_none_or(str::is_empty)
    }

    /// Returns what sets the session apart: that it works for another, and a client other than Claude Code.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        let kind = self.agent_type.as_deref().filter(|kind| !kind.is_empty());
        let client = Some(self.client.as_str()).filter(|client| !["", "claude"].contains(client));
        kind.into_iter().chain(client)
    }
}
