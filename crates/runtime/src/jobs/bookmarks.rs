//! Rewind points that appear by themselves.

mod confirm;
mod mid_turn;

use longhaul_activity_log::{Line, Metrics, Situation, Verdict, chars_of_json, decide};
use longhaul_core::Status;
use longhaul_core::event::{HookEvent, PostToolUse, PreCompact, SessionStart, Stop, SubagentStart, SubagentStop};
use longhaul_core::guard::{in_subagent, is_compaction};
use longhaul_inject::Terminal;

pub use self::confirm::{add_git_state, on_prompt};
use crate::{ActivityLog, Error, Flow, Hook, Receipt, SessionRecord, agents, process};

/// Remembers where the session runs, and begins its log.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if !hook.wants_activity() {
        return Ok(Flow::Next);
    }
    let common = &hook.event.common;
    let detected = Terminal::detect(&hook.env);
    let record = SessionRecord {
        session: common.session.to_string(),
        started_at: hook.env.now.0,
        no_terminal: detected.as_ref().err().map(ToString::to_string),
        terminal: detected.ok(),
        client_pid: hook.env.client_pid,
        cwd: common.cwd.clone(),
        transcript: common.transcript.clone(),
    };
    record.save(&hook.home, &common.session)?;
    // A compaction happens inside a turn, which goes on.
    if hook.event.source != "compact" {
        hook.activity()?.append(&[Line::Status { at: hook.env.now, status: Status::Idle }])?;
    }
    Ok(Flow::Next)
}

/// Counts a tool call; when enough work has passed, types a bookmark into the running turn.
pub fn on_tool_use(hook: &mut Hook<PostToolUse<'static>>) -> Result<Flow, Error> {
    if !hook.wants_activity() || in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let log = hook.activity()?;
    let chars = hook.event.tool_response.map_or(0, |response| chars_of_json(response.get()));
    log.append(&[Line::Tool { at: hook.env.now, chars }])?;
    let metrics = log.metrics()?;
    if let Verdict::Inject(_) = hook.decide(Situation::ToolCall, true, &metrics) {
        mid_turn::bookmark(hook, &log)?;
    }
    Ok(Flow::Next)
}

/// Notes that a subagent runs.
pub fn on_subagent_start(hook: &mut Hook<SubagentStart>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    if let Some(id) = common.agent_id.as_deref().filter(|_| hook.wants_activity() && !is_compaction(common)) {
        agents::began(&hook.home, &common.session, id)?;
    }
    Ok(Flow::Next)
}

/// Counts what a subagent brought back.
pub fn on_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    if !hook.wants_activity() || is_compaction(common) {
        return Ok(Flow::Next);
    }
    let id = common.agent_id.as_deref().unwrap_or_default();
    agents::returned(&hook.home, &common.session, id, hook.event.background_tasks.as_deref())?;
    let chars = hook.event.last_assistant_message.as_ref().map_or(0, |message| message.chars().count() as u64);
    hook.activity()?.append(&[Line::Agent { at: hook.env.now, chars }])?;
    Ok(Flow::Next)
}

/// Bookmarks after a subagent's return, if enough work has passed: in a cascade of agents Stop never fires.
pub fn after_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    if is_compaction(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.bookmark_when_idle(Situation::AgentReturn)
}

/// Notes that the turn is over.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if hook.wants_activity() {
        if let Some(tasks) = &hook.event.background_tasks {
            agents::still_running(&hook.home, &hook.event.common.session, tasks)?;
        }
        hook.activity()?.append(&[Line::Status { at: hook.env.now, status: Status::Completed }])?;
    }
    Ok(Flow::Next)
}

/// Bookmarks after the turn, if enough work has passed.
pub fn after_turn(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    let stop = hook.event.clone();
    hook.bookmark_when_idle(Situation::Stop(&stop))
}

/// Begins the count afresh: a compaction leaves nothing to go back to.
pub fn on_compact(hook: &mut Hook<PreCompact>) -> Result<Flow, Error> {
    if hook.wants_activity() {
        let at = hook.env.now;
        hook.activity()?.append(&[Line::Compaction { at }, Line::Bookmark { at }])?;
    }
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns whether anything that is switched on reads the activity log.
    fn wants_activity(&self) -> bool {
        self.config.bookmarks.enabled || self.config.guard.enabled
    }

    pub(super) fn activity(&self) -> Result<ActivityLog, Error> {
        ActivityLog::open(&self.home, &self.event.common().session)
    }

    /// Returns the session's terminal and client as SessionStart saw them, else as this hook does.
    pub(super) fn place(&self) -> (Option<Terminal>, Option<u32>) {
        match SessionRecord::load(&self.home, &self.event.common().session) {
            Some(record) => (record.terminal, self.env.client_pid.or(record.client_pid)),
            None => (Terminal::detect(&self.env).ok(), self.env.client_pid),
        }
    }

    fn decide(&self, situation: Situation<'_>, has_terminal: bool, metrics: &Metrics) -> Verdict {
        decide(situation, &self.config.bookmarks, has_terminal, metrics, self.env.now)
    }

    /// Leaves it to the injector to type a bookmark as soon as the client is idle.
    fn bookmark_when_idle(&self, situation: Situation<'_>) -> Result<Flow, Error> {
        if !self.config.bookmarks.enabled {
            return Ok(Flow::Next);
        }
        let log = self.activity()?;
        if let Verdict::Skip(_) = self.decide(situation, true, &log.metrics()?) {
            return Ok(Flow::Next);
        }
        let (terminal, _) = self.place();
        let claim = log.claim(self.env.now, |metrics| self.decide(situation, terminal.is_some(), metrics))?;
        if let Ok(ticket) = claim {
            self.spawn_injector(self.config.bookmarks.marker.as_str(), Receipt::Bookmark, ticket)?;
        }
        Ok(Flow::Next)
    }

    /// Starts `longhaul-injector`, detached.
    pub(super) fn spawn_injector(&self, text: &str, receipt: Receipt, ticket: crate::Ticket) -> Result<(), Error> {
        let session = self.event.common().session.to_string();
        let args = [session, receipt.name().to_owned(), ticket.0.to_string(), text.to_owned()];
        process::spawn_sibling("longhaul-injector", &args)
    }
}
