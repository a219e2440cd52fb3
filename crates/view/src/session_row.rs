//! One session, as the view shows it. `bins/src/cli/view/collector.rs` reads its values.

use longhaul_core::Status;

/// The identity of a row: the host, and the id of the session there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId {
    /// The name of another host; `None` for this machine.
    pub host: Option<String>,
    /// The id of the session.
    pub session: String,
}

/// A pane of a tmux server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneAddress {
    /// The path of the server's socket.
    pub socket: String,
    /// The pane's id, `%<digits>`.
    pub id: String,
}

/// One session, of this machine or of another host.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionRow {
    /// The host and the id of the session.
    pub id: RowId,
    /// The number by which it can be named on its machine.
    pub number: Option<u32>,
    /// What the session does.
    pub status: Status,
    /// What it waits for, if it is blocked and that is known.
    pub waits_for: Option<String>,
    /// The name of its folder.
    pub project: String,
    /// The git branch that is checked out there.
    pub branch: Option<String>,
    /// Remarks such as `teammate` or `codex`.
    pub notes: Vec<String>,
    /// The beginning of the last prompt.
    pub prompt: Option<String>,
    /// How full the context is, in percent.
    pub context_percent: Option<f64>,
    /// Cost and tokens, as text.
    pub cost: Option<String>,
    /// Whether it works for another session, and so does not wait for the user.
    pub works_for_another: bool,
    /// When its status last changed, in seconds since the Unix epoch.
    pub changed_at: u64,
    /// Its tmux pane.
    pub pane: Option<PaneAddress>,
    /// Where it runs, for a person: `work:1.0`.
    pub place: Option<String>,
}

impl SessionRow {
    /// Returns the row of a session of which nothing else is known.
    pub fn new(id: RowId, status: Status, project: impl Into<String>, changed_at: u64) -> Self {
        Self {
            id,
            number: None,
            status,
            waits_for: None,
            project: project.into(),
            branch: None,
            notes: Vec::new(),
            prompt: None,
            context_percent: None,
            cost: None,
            works_for_another: false,
            changed_at,
            pane: None,
            place: None,
        }
    }

    /// Returns whether the session waits for the user: it asks something, or its turn has ended.
    pub fn waits(&self) -> bool {
        match self.status {
            Status::Blocked | Status::Completed => !self.works_for_another,
            Status::Working | Status::Idle => false,
        }
    }

    /// Returns what the last column shows: what the session waits for, or else its last prompt.
    pub fn about(&self) -> &str {
        let reason = self.waits_for.as_deref().filter(|_| self.status == Status::Blocked);
        reason.or(self.prompt.as_deref()).unwrap_or_default()
    }

    /// Formats the time since the status changed: `42s`, `3m`, `2h`, `5d`.
    pub fn age(&self, now: u64) -> String {
        match now.saturating_sub(self.changed_at) {
            seconds @ 0..60 => format!("{seconds}s"),
            seconds @ 60..3_600 => format!("{}m", seconds / 60),
            seconds @ 3_600..172_800 => format!("{}h", seconds / 3_600),
            seconds => format!("{}d", seconds / 86_400),
        }
    }
}
