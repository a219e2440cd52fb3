//! Where a session runs, as it was recorded while the session was alive.

use longhaul_core::Status;

/// A tmux server. A later server can have the same socket, so its process is part of the identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerId {
    /// The path of its socket.
    pub socket: String,
    /// The id of its process.
    pub pid: Option<u32>,
    /// The start time of the process as the system reports it, which tells two processes with the same id apart.
    pub started: Option<String>,
}

/// The tmux window of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Window {
    /// The name of the tmux session.
    pub session: String,
    /// The index of the window.
    pub index: u32,
    /// The index of the pane in the window.
    pub pane: u32,
    /// The name of the window.
    pub name: String,
    /// Whether tmux names the window after the running program (`automatic-rename`).
    pub names_itself: bool,
}

impl Window {
    /// Returns a window with one pane, and with a name that was set by hand.
    pub fn new(session: impl Into<String>, index: u32, name: impl Into<String>) -> Self {
        Self { session: session.into(), index, pane: 0, name: name.into(), names_itself: false }
    }
}

/// Everything that is needed to reopen a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionPlace {
    /// The id of the session.
    pub session: String,
    /// The client that ran it: `claude` or `codex`.
    pub client: String,
    /// The id of the client's process.
    pub pid: Option<u32>,
    /// The start time of that process as the system reports it.
    pub pid_started: Option<String>,
    /// The folder in which the session was started, without links.
    pub folder: Option<String>,
    /// The user id of the folder's owner.
    pub folder_owner: Option<u32>,
    /// `CLAUDE_CONFIG_DIR`, where it was set.
    pub config_dir: Option<String>,
    /// The path of the transcript.
    pub transcript: Option<String>,
    /// The permission mode of its last prompt or turn.
    pub permission_mode: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The tmux server; `None` outside tmux.
    pub server: Option<ServerId>,
    /// The tmux window, if it is known.
    pub window: Option<Window>,
    /// When a hook last reported the session, in milliseconds since the Unix epoch.
    pub seen_ms: u64,
    /// The name of the project.
    pub project: String,
    /// The git branch that was checked out.
    pub branch: Option<String>,
    /// The beginning of its last prompt.
    pub prompt_summary: Option<String>,
    /// `teammate` or `worktree` for a session that worked for another one.
    pub agent_type: Option<String>,
    /// Its last status.
    pub status: Option<Status>,
}

impl SessionPlace {
    /// Returns the place of a session of which nothing else is known.
    pub fn new(session: impl Into<String>, client: impl Into<String>, seen_ms: u64) -> Self {
        Self {
            session: session.into(),
            client: client.into(),
            pid: None,
            pid_started: None,
            folder: None,
            folder_owner: None,
            config_dir: None,
            transcript: None,
            permission_mode: None,
            model: None,
            server: None,
            window: None,
            seen_ms,
            project: String::new(),
            branch: None,
            prompt_summary: None,
            agent_type: None,
            status: None,
        }
    }
}
