//! The context use of sessions: from the end of a transcript, and from the reports of Claude Code; and the guard that acts
//! before the context is full.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use longhaul_activity_log::{
    BookmarkVerdict, Pressure, SkipReason, ThresholdMet, denial, should_compact, starts_subagent,
};
use longhaul_core::event::predicates::{is_compaction, stopped_by_user};
use longhaul_core::event::{HookEvent, PreToolUse, Stop, SubagentStop};
use longhaul_core::{Millis, Reply, SessionId};
use longhaul_handoff::continuation::WindowUse;
use longhaul_store::{Bridge, ContextUse, Store};
use longhaul_tracker::Agent;
use longhaul_transcript::{Compacted, ContextFill, ReportedBy, ReportedContext, Usage, latest_usage, window_tokens};
use serde_json::{Value, json};

use crate::injector::When;
use crate::{Error, Flow, Home, Hook, Receipt, SessionRecord, bounded_read, bridge, files, process};

/// Number of bytes read from the end. One entry can have 100 KB, and the newest usage is in one of the last few.
const MAX_TAIL: usize = 512 * 1024;

/// The same, for a compaction of Codex: its entry repeats the user's prompts.
const MAX_COMPACTED: usize = 2 * 1024 * 1024;

/// Returns whether the transcript ends with an interrupt by the user.
pub(crate) fn ends_in_interrupt(transcript: &Path) -> bool {
    let tail = bounded_read::open(transcript).ok().and_then(|file| files::tail(&file, MAX_TAIL).ok());
    tail.is_some_and(|(tail, _)| longhaul_transcript::ends_in_interrupt(&tail))
}

/// Returns whether the newest turn in a rollout of Codex is over.
pub(crate) fn is_turn_over(rollout: &Path) -> bool {
    let tail = bounded_read::open(rollout).ok().and_then(|file| files::tail(&file, MAX_TAIL).ok());
    tail.is_some_and(|(tail, _)| longhaul_transcript::is_turn_over(&tail))
}

/// Returns what the model is shown after the newest compaction in a rollout of Codex.
pub(crate) fn compacted(rollout: &Path) -> Option<Compacted> {
    let file = bounded_read::open(rollout).ok()?;
    Compacted::newest(&files::tail(&file, MAX_COMPACTED).ok()?.0)
}

/// Returns the usage of the newest reply; `None` if the transcript is missing or contains none.
pub(crate) fn newest_usage(transcript: Option<&Path>) -> Option<Usage> {
    let file = bounded_read::open(transcript?).ok()?;
    let (tail, _) = files::tail(&file, MAX_TAIL).ok()?;
    latest_usage(&tail)
}

/// Returns the context use of a session, from the reports in `contexts` and from its transcript.
pub fn how_full<'a>(
    session: &str,
    usage: Option<&'a Usage>,
    contexts: &'a [ContextUse],
    windows: &BTreeMap<String, u64>,
) -> ContextFill<'a> {
    let own = contexts.iter().find(|context| context.session == session);
    let others = contexts.iter().filter(|context| context.session != session);
    longhaul_transcript::context_fill(usage, own.map(reported), others.map(reported), windows)
}

/// Returns the context use of a session, as the monitor shows it; `None` if it is not known.
pub(crate) fn fill(
    store: &Store,
    session: &str,
    transcript: Option<&Path>,
    windows: &BTreeMap<String, u64>,
) -> Result<Option<WindowUse>, Error> {
    let usage = newest_usage(transcript);
    let contexts = store.contexts_for(session)?;
    let filled = how_full(session, usage.as_ref(), &contexts, windows);
    Ok(filled.tokens.map(|tokens| WindowUse { tokens, window: filled.window }))
}

fn reported(context: &ContextUse) -> ReportedContext<'_> {
    // The status line always gets the model, the bridge never does.
    let by = if context.model.is_some() { ReportedBy::StatusLine } else { ReportedBy::Bridge };
    let mut reported = ReportedContext::new(context.recorded_at, by);
    reported.model = context.model.as_deref();
    reported.tokens = context.used_tokens;
    reported.window = context.window_tokens;
    reported
}

/// Returns the context use that Claude Code reported.
pub(crate) fn reported_fill(reported: &ContextUse) -> Option<WindowUse> {
    Some(WindowUse { tokens: reported.used_tokens?, window: reported.window_tokens? })
}

// All known sessions, with their context use.

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
    pub transcript: Transcript,
}

/// The state of a session's transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transcript {
    Usage(Usage),
    /// It contains no reply yet, or does not exist yet.
    Silent,
    /// Its path is not known.
    Unknown,
}

impl Observed {
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
                let usage = newest_usage(Some(path));
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

// The context guard: types `/compact` and denies new subagents. The decisions and the text are in
// `activity-log/src/decision.rs`.

/// Denies a new subagent if the context is nearly full.
pub fn on_agent_launch(hook: &mut Hook<PreToolUse<'static>>) -> Result<Flow, Error> {
    if hook.config.guard.deny_percent.is_none() || !starts_subagent(&hook.event.tool_name) {
        return Ok(Flow::Next);
    }
    let pressure = hook.pressure()?;
    if let Some(why) = denial(&hook.config.guard, pressure) {
        hook.answer(Reply::deny(why));
    }
    Ok(Flow::Next)
}

/// Compacts at the end of a turn if the context fills up.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if stopped_by_user(&hook.event) { Ok(Flow::Next) } else { hook.compact_when_full() }
}

/// Compacts after the return of a subagent if the context fills up.
pub fn on_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    if is_compaction(&hook.event.common) { Ok(Flow::Next) } else { hook.compact_when_full() }
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns the context use: as Claude Code or the newest reply reports it, or otherwise as estimated from the log.
    fn pressure(&self) -> Result<Pressure, Error> {
        let windows = &self.config.models.windows;
        let common = self.event.common();
        let fill = fill(&*self.store()?, common.session.as_str(), common.transcript.as_deref(), windows)?;
        Ok(match fill {
            Some(fill) => Pressure::of(fill.tokens, fill.window),
            None => Pressure::estimate(&self.activity()?.metrics()?, window_tokens(None, 0, windows)),
        })
    }

    fn compact_when_full(&self) -> Result<Flow, Error> {
        let Some(limit) = self.config.guard.compact_percent else { return Ok(Flow::Next) };
        let (terminal, client_pid) = self.place();
        let has_bridge = bridge::is_there(&*self.store()?, client_pid)?;
        if !has_bridge && terminal.is_none() {
            return Ok(Flow::Next);
        }
        let pressure = self.pressure()?;
        let claim = self.activity()?.claim(self.env.now, |metrics| {
            if should_compact(&self.config.guard, pressure, metrics, self.env.now) {
                let actual = (pressure.0 * 100.0) as u64;
                let what = "percent of the context";
                BookmarkVerdict::Inject(ThresholdMet { what, actual, limit: limit.0 * 100.0 })
            } else {
                BookmarkVerdict::Skip(SkipReason::BelowThresholds)
            }
        })?;
        let Ok(ticket) = claim else { return Ok(Flow::Next) };
        if let Some(client_pid) = client_pid.filter(|_| has_bridge) {
            // A second run of this job would not get the claim. The injector types if the bridge does not act.
            let left = self.store().and_then(|store| Ok(store.leave_errand(client_pid, bridge::COMPACT)?));
            if let Err(error) = left {
                self.log.write(&format!("session {}: {}", self.event.common().session, error.chain()));
            }
        }
        self.spawn_injector("/compact", Receipt::Compaction, When::Idle, ticket)?;
        Ok(Flow::Done)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use longhaul_store::ContextUse;
    use longhaul_transcript::{ReportedBy, WindowSource};

    use super::how_full;

    #[test]
    fn a_report_without_a_model_comes_from_the_bridge() {
        let bridge = ContextUse { session: "s".to_owned(), window_tokens: Some(300), ..ContextUse::default() };
        let status_line = ContextUse { model: Some("m".to_owned()), ..bridge.clone() };
        for (context, by) in [(bridge, ReportedBy::Bridge), (status_line, ReportedBy::StatusLine)] {
            let contexts = [context];
            assert_eq!(how_full("s", None, &contexts, &BTreeMap::new()).source, WindowSource::Reported(by));
        }
    }
}
