//! The activity log, which other jobs read: one line per event, written before those jobs run.

use longhaul_activity_log::{LogLine, chars_of_json};
use longhaul_core::event::predicates::{in_subagent, is_compaction};
use longhaul_core::event::{HookEvent, PostToolUse, PreCompact, SessionStart, StartSource, Stop, SubagentStop};
use longhaul_core::{Config, Status};

use crate::{ActivityLog, Error, Flow, Hook, SessionRecord};

/// Records where the session runs, and starts its log.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if !hook.wants_activity() {
        return Ok(Flow::Next);
    }
    SessionRecord::of(hook).save(&hook.home, &hook.event.common.session)?;
    // A compaction happens inside a turn, which continues.
    if hook.event.source != StartSource::Compact {
        hook.activity()?.append(&[LogLine::Status { at: hook.env.now, status: Status::Idle }])?;
    }
    Ok(Flow::Next)
}

/// Counts a tool call of the main loop. For a call of a subagent, only the metrics are read.
pub fn on_tool_use(hook: &mut Hook<PostToolUse<'static>>) -> Result<Flow, Error> {
    if !hook.wants_activity() {
        return Ok(Flow::Next);
    }
    let log = hook.activity()?;
    if in_subagent(&hook.event.common) {
        hook.before = log.metrics()?;
        return Ok(Flow::Next);
    }
    let chars = hook.event.tool_response.map_or(0, |response| chars_of_json(response.get()));
    (hook.before, hook.after) = log.append_and_measure(LogLine::Tool { at: hook.env.now, chars })?;
    Ok(Flow::Next)
}

/// Counts the result of a subagent.
pub fn on_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    if !hook.wants_activity() || is_compaction(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let chars = hook.event.last_assistant_message.as_ref().map_or(0, |message| message.chars().count() as u64);
    let log = hook.activity()?;
    (hook.before, hook.after) = log.append_and_measure(LogLine::Agent { at: hook.env.now, chars })?;
    Ok(Flow::Next)
}

/// Records that the turn is over.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if hook.wants_activity() && !in_subagent(&hook.event.common) {
        let line = LogLine::Status { at: hook.env.now, status: Status::Completed };
        (hook.before, hook.after) = hook.activity()?.append_and_measure(line)?;
    }
    Ok(Flow::Next)
}

/// Restarts the count, because there is nothing to rewind to after a compaction.
pub fn on_compact(hook: &mut Hook<PreCompact>) -> Result<Flow, Error> {
    if hook.wants_activity() {
        let at = hook.env.now;
        hook.activity()?.append(&[LogLine::Compaction { at }, LogLine::Bookmark { at }])?;
    }
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns whether a job that is switched on needs the activity log.
    pub(super) fn wants_activity(&self) -> bool {
        let Config { bookmarks, guard, tracker, continuation, .. } = &self.config;
        bookmarks.enabled || guard.enabled || tracker.enabled || continuation.enabled
    }

    pub(super) fn activity(&self) -> Result<ActivityLog, Error> {
        ActivityLog::open(&self.home, &self.event.common().session)
    }
}
