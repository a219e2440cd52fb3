//! All known sessions, with their context use.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use longhaul_core::{Millis, SessionId};
use longhaul_store::{Bridge, ContextUse};
use longhaul_tracker::Agent;
use longhaul_transcript::Usage;
use serde_json::{Value, json};

use crate::{Error, Home, SessionRecord, files, process, usage};

/// A session, from its tracker row, its record, or both.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The id of the session, in the form that is used in file names.
    pub session: String,
    /// The row in the tracker; `None` for a session that has ended.
    pub agent: Option<Agent>,
    /// The record that was written at its start.
    pub record: Option<SessionRecord>,
    /// Whether the client process is running; `None` if that is not known.
    pub client_runs: Option<bool>,
    /// Time of the last activity: in the tracker, in the log, or in the transcript.
    pub last_heard: Millis,
    /// The state of the transcript.
    pub transcript: Transcript,
}

/// The state of a session's transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transcript {
    /// The usage of the newest reply.
    Usage(Usage),
    /// It contains no reply yet, or does not exist yet.
    Silent,
    /// Its path is not known.
    Unknown,
}

impl Observed {
    /// Returns the usage of the newest reply.
    pub fn usage(&self) -> Option<&Usage> {
        match &self.transcript {
            Transcript::Usage(usage) => Some(usage),
            Transcript::Silent | Transcript::Unknown => None,
        }
    }
}

/// All sessions at one time.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    /// The sessions, in no particular order.
    pub sessions: Vec<Observed>,
    /// The reports of Claude Code to its status line or to the bridge, the newest first.
    pub contexts: Vec<ContextUse>,
}

/// Takes snapshots repeatedly. Reads a transcript only if it has changed.
#[derive(Debug, Default)]
pub struct Observer {
    transcripts: HashMap<PathBuf, Reading>,
}

#[derive(Debug)]
struct Reading {
    length: u64,
    modified: Option<SystemTime>,
    usage: Option<Usage>,
}

impl Observer {
    /// Returns all sessions as they are now.
    pub fn look(&mut self, home: &Home) -> Result<Observation, Error> {
        let (agents, contexts) = match home.existing_store()? {
            Some(store) => (store.agents()?, store.contexts()?),
            None => (Vec::new(), Vec::new()),
        };
        let mut records: HashMap<String, SessionRecord> =
            SessionRecord::all(home).into_iter().map(|record| (record.session.clone(), record)).collect();
        let mut sessions: Vec<Observed> = Vec::new();
        for agent in agents {
            let record = records.remove(&agent.session);
            sessions.push(self.observe(home, agent.session.clone(), Some(agent), record));
        }
        for (session, record) in records {
            sessions.push(self.observe(home, session, None, Some(record)));
        }
        Ok(Observation { sessions, contexts })
    }

    fn observe(
        &mut self,
        home: &Home,
        session: String,
        agent: Option<Agent>,
        record: Option<SessionRecord>,
    ) -> Observed {
        let path = record.as_ref().and_then(|record| record.transcript.as_deref());
        let log = SessionId::new(&session).map(|session| home.session_file(&session, "log"));
        let touched = agent.as_ref().map(|agent| Millis(agent.touched_ms));
        let started = record.as_ref().map(|record| Millis(record.started_at));
        let heard = [touched, started, log.as_deref().and_then(files::modified), path.and_then(files::modified)];
        let pid = agent.as_ref().and_then(|agent| agent.pid).or(record.as_ref().and_then(|record| record.client_pid));
        Observed {
            client_runs: pid.map(process::is_alive),
            last_heard: heard.into_iter().flatten().max().unwrap_or_default(),
            transcript: path.map_or(Transcript::Unknown, |path| self.read(path)),
            session,
            agent,
            record,
        }
    }

    fn read(&mut self, path: &Path) -> Transcript {
        let Ok(metadata) = std::fs::metadata(path) else { return Transcript::Silent };
        let (length, modified) = (metadata.len(), metadata.modified().ok());
        let is_current = |reading: &&Reading| reading.length == length && reading.modified == modified;
        let usage = match self.transcripts.get(path).filter(is_current) {
            Some(reading) => reading.usage.clone(),
            None if metadata.is_file() => {
                let usage = usage::newest(Some(path));
                self.transcripts.insert(path.to_owned(), Reading { length, modified, usage: usage.clone() });
                usage
            }
            None => None,
        };
        usage.map_or(Transcript::Silent, Transcript::Usage)
    }
}

/// Returns a running session as JSON, in the same form for the command line and for HTTP.
///
/// `bridges` lists the clients that run the bridge.
pub fn agent_json(agent: &Agent, used: Option<f64>, bridges: &[Bridge], now: u64) -> Value {
    let time = |seconds: u64| i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let text = |seconds: u64| time(seconds).unwrap_or_default().to_string();
    json!({
        "session": agent.session,
        "status": agent.status.as_str(),
        "reason": agent.waits_for(),
        "age_seconds": now.saturating_sub(agent.updated_at),
        "project": agent.project,
        "branch": agent.branch,
        "cwd": agent.cwd,
        "prompt": agent.prompt_summary,
        "agent_type": agent.agent_type,
        "works_for_another": !agent.is_counted(),
        "client": agent.client,
        "pid": agent.pid,
        "pane": agent.pane.as_ref().map(|pane| pane.id.as_str()),
        "tmux_socket": agent.pane.as_ref().map(|pane| pane.socket.as_str()),
        "target": agent.target,
        "bridge": bridges.iter().any(|bridge| agent.pid == Some(bridge.client_pid)),
        "context_percent": used,
        "subagents": agent.subagents,
        "tasks": agent.tasks,
        "started_at": text(agent.started_at),
        "updated_at": text(agent.updated_at),
    })
}
