//! The file of a session, with its process and terminal.

use std::path::PathBuf;

use longhaul_core::SessionId;
use longhaul_core::event::{SessionStart, StartSource};
use longhaul_inject::Terminal;
use serde::{Deserialize, Serialize};

use crate::{Error, Home, Hook, bounded_read, files};

/// `sessions/<id>.json`, written at SessionStart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The id of the session.
    pub session: String,
    /// Time of the last SessionStart, in milliseconds since the Unix epoch.
    pub started_at: u64,
    /// The terminal, if text can be typed into it.
    #[serde(default)]
    pub terminal: Option<Terminal>,
    /// The reason why there is no terminal.
    #[serde(default)]
    pub no_terminal: Option<String>,
    /// The process id of the client.
    #[serde(default)]
    pub client_pid: Option<u32>,
    /// Whether it began with `/clear`.
    #[serde(default)]
    pub cleared: bool,
    /// The working directory.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The transcript.
    #[serde(default)]
    pub transcript: Option<PathBuf>,
}

impl SessionRecord {
    /// Returns the record of a session that starts.
    pub(crate) fn of(hook: &Hook<SessionStart>) -> Self {
        let common = &hook.event.common;
        let detected = match common.session.client() {
            "claude" => Terminal::detect(&hook.env).map_err(|problem| problem.to_string()),
            // A bookmark and a prompt from elsewhere are for Claude Code. Continuing has its own way to type.
            "codex" => Err("nothing is typed into Codex, except to continue near the limit".to_owned()),
            // The layout of its screen is not known.
            client => Err(format!("nothing is typed into {client}")),
        };
        Self {
            session: common.session.to_string(),
            started_at: hook.env.now.0,
            no_terminal: detected.as_ref().err().cloned(),
            terminal: detected.ok(),
            client_pid: hook.env.client_pid,
            cleared: hook.event.source == StartSource::Clear,
            cwd: common.cwd.clone(),
            transcript: common.transcript.clone(),
        }
    }

    /// Reads the record of a session; `None` if there is no readable one.
    pub fn load(home: &Home, session: &SessionId) -> Option<Self> {
        let text = bounded_read::bytes(&home.session_file(session, "json"), bounded_read::LARGE).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes the record.
    pub fn save(&self, home: &Home, session: &SessionId) -> Result<(), Error> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        files::replace(&home.session_file(session, "json"), &json)
    }

    /// Returns all readable records, the newest first.
    pub fn all(home: &Home) -> Vec<Self> {
        let entries = std::fs::read_dir(home.sessions()).into_iter().flatten().flatten();
        let mut records: Vec<Self> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .filter_map(|path| serde_json::from_slice(&bounded_read::bytes(&path, bounded_read::LARGE).ok()?).ok())
            .collect();
        records.sort_by_key(|record| std::cmp::Reverse(record.started_at));
        records
    }
}
