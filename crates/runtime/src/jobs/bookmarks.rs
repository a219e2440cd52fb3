//! Automatic bookmarks: at which events one may be set. The decision is in `activity-log/src/decision.rs`.

mod confirm;
mod mid_turn;

use std::path::Path;

use longhaul_activity_log::{BookmarkVerdict, LogLine, Metrics, Situation, decide};
use longhaul_core::Reply;
use longhaul_core::catalog::Job;
use longhaul_core::event::predicates::{in_subagent, is_compaction, is_list_command};
use longhaul_core::event::{HookEvent, PostToolUse, Stop, SubagentStart, SubagentStop, UserPromptSubmit};
use longhaul_inject::Terminal;

pub use self::confirm::{add_git_state, on_prompt};
use crate::injector::When;
use crate::typing::Typist;
use crate::{
    ActivityLog, Error, Flow, Hook, Order, Receipt, SessionRecord, client_records, process, running_subagents,
    waiting_times,
};

/// The answer to the slash command if the list takes longer than a prompt may.
const LIST_IN_TERMINAL: &str = "That takes longer than a prompt may: run `longhaul bookmarks` in a terminal.";

/// Lists the bookmarks of the session for `/longhaul:bookmarks`, without a request to the model.
pub fn on_list_command(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let is_asked = hook.serves(Job::Bookmarks) && is_list_command(&hook.event.prompt);
    if !is_asked || in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let args = ["bookmarks", "--session", hook.event.common.session.as_str()].map(str::to_owned);
    let limit = hook.deadline.left().saturating_sub(waiting_times::ANSWER_AFTER_COMMAND);
    let listed = process::ask_sibling("longhaul", &args, Path::new("/"), limit)?;
    hook.answer(Reply::end(listed.as_deref().unwrap_or(LIST_IN_TERMINAL).trim()));
    Ok(Flow::Done)
}

/// Types a bookmark into the running turn if there was enough work.
pub fn on_tool_use(hook: &mut Hook<PostToolUse<'static>>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    if let BookmarkVerdict::Inject(_) = hook.decide(Situation::ToolCall, true, &hook.after) {
        let log = hook.activity()?;
        mid_turn::bookmark(hook, &log)?;
    }
    Ok(Flow::Next)
}

/// Records that a subagent started.
pub fn on_subagent_start(hook: &mut Hook<SubagentStart>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    if let Some(id) = common.agent_id.as_deref().filter(|_| hook.config.bookmarks.enabled && !is_compaction(common)) {
        running_subagents::began(&hook.home, &common.session, id)?;
    }
    Ok(Flow::Next)
}

/// Records that a subagent returned.
pub fn on_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    if !hook.config.bookmarks.enabled || is_compaction(common) {
        return Ok(Flow::Next);
    }
    let id = common.agent_id.as_deref().unwrap_or_default();
    running_subagents::returned(&hook.home, &common.session, id)?;
    Ok(Flow::Next)
}

/// Sets a bookmark after the return of a subagent if there was enough work. While agents start further agents, there is
/// no Stop.
pub fn after_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    if is_compaction(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.leave_bookmark(Situation::AgentReturn, When::Soon)
}

/// Records which subagents are still running.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if let Some(tasks) = hook.event.background_tasks.as_ref().filter(|_| hook.config.bookmarks.enabled) {
        running_subagents::still_running(&hook.home, &hook.event.common.session, tasks)?;
    }
    Ok(Flow::Next)
}

/// Sets a bookmark after the turn if there was enough work.
pub fn after_turn(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    let stop = hook.event.clone();
    hook.leave_bookmark(Situation::Stop(&stop), When::Idle)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns the terminal and the client of the session as of SessionStart, or otherwise as of this hook.
    pub(super) fn place(&self) -> (Option<Terminal>, Option<u32>) {
        match SessionRecord::load(&self.home, &self.event.common().session) {
            Some(record) => (record.terminal, self.env.client_pid.or(record.client_pid)),
            None => (Terminal::detect(&self.env).ok(), self.env.client_pid),
        }
    }

    fn decide(&self, situation: Situation<'_>, has_terminal: bool, metrics: &Metrics) -> BookmarkVerdict {
        decide(situation, &self.config.bookmarks, has_terminal, metrics, self.env.now)
    }

    /// Leaves a bookmark to the injector, which types it when the client can receive it.
    fn leave_bookmark(&mut self, situation: Situation<'_>, when: When) -> Result<Flow, Error> {
        if let BookmarkVerdict::Skip(_) = self.decide(situation, true, &self.after) {
            return Ok(Flow::Next);
        }
        let log = self.activity()?;
        let order = mid_turn::order(self);
        let why = order.as_ref().and_then(|order| self.why_unreadable(order));
        if order.is_none() || why.is_some() {
            self.snapshot_instead(situation, &log, why.as_deref())?;
            return Ok(Flow::Next);
        }
        let claim = log.claim(self.env.now, |metrics| self.decide(situation, true, metrics))?;
        if let Ok(ticket) = claim {
            self.spawn_injector(self.config.bookmarks.marker.as_str(), Receipt::Bookmark, when, ticket)?;
        }
        Ok(Flow::Next)
    }

    /// Returns why nothing can be typed into a terminal whose screen cannot be read. The injector could neither take the
    /// snapshot nor tell the user.
    fn why_unreadable(&self, order: &Order) -> Option<String> {
        if !mid_turn::may_be_unreadable(&order.terminal) || self.deadline.left() < waiting_times::MID_TURN_NEEDED {
            return None;
        }
        Typist::new(&self.env, &self.home, order).decide().err()
    }

    /// Takes the snapshot of a bookmark that cannot be typed, for the reason `why` or because there is no terminal. The user
    /// is told so once in a session.
    fn snapshot_instead(
        &mut self,
        situation: Situation<'_>,
        log: &ActivityLog,
        why: Option<&str>,
    ) -> Result<(), Error> {
        let at = self.env.now;
        if log.claim(at, |metrics| self.decide(situation, true, metrics))?.is_err() {
            return Ok(());
        }
        // As after a compaction, the count of work begins again.
        log.append(&[LogLine::GivenUp { at }, LogLine::Bookmark { at }])?;
        if self.is_in_repository() {
            self.start_snapshot("bookmark", false)?;
        }
        let why = why.map_or_else(|| self.why_no_terminal(), str::to_owned);
        let is_headless = || self.env.client_pid.is_some_and(|pid| client_records::is_headless(&self.env, pid));
        if self.after.last_injection.is_none() && self.after.last_bookmark.is_none() && !is_headless() {
            self.log.write(&format!("session {}: no bookmarks: {why}", self.event.common().session));
            let snapshots =
                if self.config.snapshots.enabled { "; snapshots of the files are taken all the same" } else { "" };
            self.notify(&format!("longhaul: no bookmarks in this session: {why}{snapshots}"));
        }
        Ok(())
    }

    fn why_no_terminal(&self) -> String {
        let record = SessionRecord::load(&self.home, &self.event.common().session);
        let now = || Terminal::detect(&self.env).err().map(|problem| problem.to_string());
        record.and_then(|record| record.no_terminal).or_else(now).unwrap_or_default()
    }

    /// Starts `longhaul-injector` in the background.
    pub(super) fn spawn_injector(
        &self,
        text: &str,
        receipt: Receipt,
        when: When,
        ticket: crate::Ticket,
    ) -> Result<(), Error> {
        let session = self.event.common().session.to_string();
        let (kind, when) = (receipt.name().to_owned(), when.name().to_owned());
        let args = [session, kind, when, ticket.0.to_string(), text.to_owned()];
        process::spawn_sibling("longhaul-injector", &args).map(drop)
    }
}
