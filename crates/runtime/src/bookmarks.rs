//! Automatic bookmarks: at which events one may be set. The decision is in `activity-log/src/decision.rs`.

use std::path::Path;
use std::time::Duration;

use longhaul_activity_log::{BookmarkVerdict, LogLine, Metrics, Situation, decide};
use longhaul_core::catalog::Job;
use longhaul_core::event::predicates::{
    asks_nothing, bookmark_note, in_subagent, is_bookmark_command, is_compaction, is_list_command, is_task_notification,
};
use longhaul_core::event::{HookEvent, PostToolUse, Stop, SubagentStart, SubagentStop, UserPromptSubmit};
use longhaul_core::{Reply, Status};
use longhaul_inject::{Terminal, TypeWhen, TypingDecision};
use longhaul_store::NewBookmark;

use crate::hook::ANSWER_AFTER_COMMAND;
use crate::injector::When;
use crate::memory::{Spool, noted_bookmark};
use crate::typing::{Typist, is_received, shows_another_session};
use crate::{
    ActivityLog, Error, Flow, Hook, Order, Receipt, SessionRecord, Ticket, client_records, context, git, process,
    tracker,
};

/// During a turn, no bookmark is typed if the hook has less time left than this.
const MID_TURN_NEEDED: Duration = Duration::from_millis(1_500);

/// How long to wait for the receipt of a bookmark during a turn. The hook waits for it so that the next tool call finds
/// the bookmark in the log.
const MID_TURN_RECEIPT: Duration = Duration::from_millis(800);

/// The answer to the slash command if the list takes longer than a prompt may.
const LIST_IN_TERMINAL: &str = "That takes longer than a prompt may: run `longhaul bookmarks` in a terminal.";

/// Lists the bookmarks of the session for `/longhaul:bookmarks`, without a request to the model.
pub fn on_list_command(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let is_asked = hook.serves(Job::Bookmarks) && is_list_command(&hook.event.prompt);
    if !is_asked || in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let args = ["--session", hook.event.common.session.as_str()].map(str::to_owned);
    let limit = hook.deadline.left().saturating_sub(ANSWER_AFTER_COMMAND);
    let listed = process::ask_own("bookmarks", &args, Path::new("/"), limit)?;
    hook.answer(Reply::end(listed.as_deref().unwrap_or(LIST_IN_TERMINAL).trim()));
    Ok(Flow::Done)
}

/// Types a bookmark into the running turn if there was enough work.
pub fn on_tool_use(hook: &mut Hook<PostToolUse<'static>>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) || hook.ends_turn() {
        return Ok(Flow::Next);
    }
    if let BookmarkVerdict::Inject(_) = hook.decide(Situation::ToolCall, true, &hook.after) {
        let log = hook.activity()?;
        bookmark(hook, &log)?;
    }
    Ok(Flow::Next)
}

pub fn on_subagent_start(hook: &mut Hook<SubagentStart>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    if let Some(id) = common.agent_id.as_deref().filter(|_| hook.config.bookmarks.is_on() && !is_compaction(common)) {
        tracker::note_subagents(&hook.home, &common.session, '+', [id])?;
    }
    Ok(Flow::Next)
}

pub fn on_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    if !hook.config.bookmarks.is_on() || is_compaction(common) {
        return Ok(Flow::Next);
    }
    let id = common.agent_id.as_deref().unwrap_or_default();
    tracker::note_subagents(&hook.home, &common.session, '-', [id])?;
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
    if let Some(tasks) = hook.event.background_tasks.as_ref().filter(|_| hook.config.bookmarks.is_on()) {
        tracker::note_running_subagents(&hook.home, &hook.event.common.session, tasks)?;
    }
    Ok(Flow::Next)
}

/// Sets a bookmark after the turn if there was enough work.
pub fn after_turn(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    let stop = hook.event.clone();
    hook.leave_bookmark(Situation::Stop(&stop), When::Idle)
}

/// Sets a bookmark after a limit has stopped the turn, if there was enough work. There is no Stop then.
pub(crate) fn at_limit<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<(), Error> {
    // Other agents have no bookmarks.
    if hook.event.common().session.client() != "claude" {
        return Ok(());
    }
    hook.leave_bookmark(Situation::AgentReturn, When::Idle).map(drop)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns the terminal and the client of the session as of SessionStart, or otherwise as of this hook.
    pub(crate) fn place(&self) -> (Option<Terminal>, Option<u32>) {
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
        let order = order(self);
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
        if !may_be_unreadable(&order.terminal) || self.deadline.left() < MID_TURN_NEEDED {
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
            self.start_snapshot("bookmark", "-")?;
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

    /// Starts `longhaul run-injector` in the background.
    pub(crate) fn spawn_injector(
        &self,
        text: &str,
        receipt: Receipt,
        when: When,
        ticket: crate::Ticket,
    ) -> Result<(), Error> {
        let session = self.event.common().session.to_string();
        let (kind, when) = (receipt.as_str().to_owned(), when.as_str().to_owned());
        let args = [session, kind, when, ticket.0.to_string(), text.to_owned()];
        process::spawn_own("run-injector", &args).map(drop)
    }
}

// A bookmark during a turn: typed from inside the PostToolUse hook, with a note for the model.
//
// Claude Code waits for its hooks, so a dialog of the turn can rarely open between the inspection and Enter. Parallel
// calls can still open one, so the screen and Claude Code's record are checked again before Enter. Subagents open
// dialogs at any time: while one runs, only a chord that no dialog reacts to is pressed.

/// The note for the model when the marker is received during its turn.
const NOTE: &str = "This message is an automatic bookmark set by the user's tooling as a rewind point. It asks \
                               for nothing and needs no reply; the work in progress goes on unchanged.";

/// Types a bookmark if the pane allows it now. Otherwise the next call tries again. Where nothing can be typed, the files get a
/// snapshot without a bookmark.
pub(crate) fn bookmark(hook: &mut Hook<PostToolUse<'static>>, log: &ActivityLog) -> Result<(), Error> {
    if hook.deadline.left() < MID_TURN_NEEDED {
        return Ok(());
    }
    let Some(order) = order(hook) else { return hook.snapshot_instead(Situation::ToolCall, log, None) };
    let typist = Typist::new(&hook.env, &hook.home, &order);
    if !may_submit(&order, &typist) {
        return Ok(());
    }
    let Some(_lock) = typist.lock()? else { return Ok(()) };
    let decision = match typist.decide() {
        Ok(decision @ (TypingDecision::Type | TypingDecision::TypedAlready)) => decision,
        Ok(TypingDecision::Stash { .. } | TypingDecision::Wait(_)) => return Ok(()),
        Err(problem) => {
            if may_be_unreadable(&order.terminal) {
                return hook.snapshot_instead(Situation::ToolCall, log, Some(&problem));
            }
            // The terminal is gone or does not answer. The cooldown prevents the next calls from trying it again.
            if log.claim(hook.env.now, |metrics| hook.decide(Situation::ToolCall, true, metrics))?.is_ok() {
                log.append(&[LogLine::GivenUp { at: hook.env.now }])?;
                hook.log.write(&format!("session {}: no bookmark: {problem}", order.session));
            }
            return Ok(());
        }
    };
    // The turn may have begun before the part of the log that is read.
    if let Some(id) = &hook.event.common().prompt_id {
        log.append(&[LogLine::turn(hook.env.now, id)])?;
    }
    let claim = log.claim(hook.env.now, |metrics| hook.decide(Situation::ToolCall, true, metrics))?;
    let Ok(ticket) = claim else { return Ok(()) };
    if let Err(problem) = submit(&order, &typist, &decision, log, ticket)? {
        if !typist.has_typed() {
            log.append(&[LogLine::GivenUp { at: hook.env.now }])?;
        }
        hook.log.write(&format!("session {}: no bookmark: {problem}", order.session));
    } else if is_received(&order, Receipt::Bookmark, log, ticket, MID_TURN_RECEIPT)? {
        typist.note_received();
    } else {
        typist.note_not_received();
        hook.log.write(&format!("session {}: bookmark typed, not yet confirmed", order.session));
    }
    Ok(())
}

/// Returns whether a problem with the terminal may mean that its screen cannot be read, now or later.
fn may_be_unreadable(terminal: &Terminal) -> bool {
    terminal.pane().is_none() || terminal.may_be_blind()
}

/// Returns what is to be typed, and where; `None` without a terminal.
pub(crate) fn order<E: HookEvent<'static>>(hook: &Hook<E>) -> Option<Order> {
    let common = hook.event.common();
    let (terminal, client_pid) = hook.place();
    let agents_may_ask = !asks_nothing(common.permission_mode.as_deref());
    Some(Order {
        session: common.session.clone(),
        terminal: terminal?,
        client_pid,
        text: hook.config.bookmarks.marker.as_str().to_owned(),
        want: TypeWhen::MidTurn,
        want_by_chord: None,
        agents_may_ask,
        agents_run: agents_may_ask && tracker::any_subagent_runs(&hook.home, &common.session),
        patience: Duration::ZERO,
        deadline: Some(hook.deadline),
    })
}

/// Returns whether the text may be submitted: not with a key that a dialog of a running subagent would react to.
fn may_submit(order: &Order, typist: &Typist<'_>) -> bool {
    !(order.agents_run && typist.could_answer_a_dialog())
}

/// Types the bookmark and submits it: with the chord, or with Enter if the client has ignored the chord.
///
/// The inner error says why it was not submitted.
fn submit(
    order: &Order,
    typist: &Typist<'_>,
    decision: &TypingDecision,
    log: &ActivityLog,
    ticket: Ticket,
) -> Result<Result<(), String>, Error> {
    let by_chord = !typist.could_answer_a_dialog();
    let is_over = || Ok(shows_another_session(typist.env, typist.home, order));
    let submitted = typist.submit(decision, &is_over);
    if submitted.is_err()
        && typist.has_pressed_chord()
        && is_received(order, Receipt::Bookmark, log, ticket, Duration::ZERO)?
    {
        // A slow client has accepted the chord after all.
        return Ok(Ok(()));
    }
    if submitted.is_err()
        && by_chord
        && typist.could_answer_a_dialog()
        && may_submit(order, typist)
        && let Ok(decision @ TypingDecision::Type) = typist.decide()
    {
        // The client has ignored the chord, so Enter is used.
        return Ok(typist.submit(&decision, &is_over));
    }
    Ok(submitted)
}

// A submitted prompt: the confirmation of a bookmark, or the start of a turn. How long a confirmation may take is in
// `activity-log/src/decision.rs`.

/// The message to the user when a marker is received between turns. The model reads the marker with the next prompt.
const SET: &str = "bookmark set";

/// Confirms a bookmark, or records the start of a turn.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    if !hook.wants_activity() || in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let log = hook.activity()?;
    let at = hook.env.now;
    let marker = hook.config.bookmarks.marker.as_str();
    let Some(note) = bookmark_note(&hook.event.prompt, marker).filter(|_| hook.config.bookmarks.is_on()) else {
        // Claude Code's notification that a subagent is done starts a turn as well, but is not a prompt of the user.
        let line = if is_task_notification(&hook.event.prompt) {
            LogLine::Status { at, status: Status::Working }
        } else {
            LogLine::Prompt { at }
        };
        let turn = hook.event.common.prompt_id.as_deref().map(|id| LogLine::turn(at, id));
        let lines: Vec<LogLine> = [Some(line), turn].into_iter().flatten().collect();
        log.append(&lines)?;
        return Ok(Flow::Next);
    };
    let note = note.map(|note| hook.sanitizer().capped(note)).filter(|note| !note.trim().is_empty());
    let common = &hook.event.common;
    // No hook reports the end of a turn by Esc, but a prompt outside of that turn has another id.
    let is_running = log.metrics()?.is_turn_running() && log.may_be_of_newest_turn(common.prompt_id.as_deref())?;
    hook.append_once(&log, &[LogLine::Bookmark { at }])?;
    if is_running && !is_bookmark_command(&hook.event.prompt) {
        hook.show(NOTE);
    } else {
        hook.answer(Reply::end(SET));
    }
    store(hook, note.as_deref())?;
    Ok(Flow::Done)
}

/// Adds to a new bookmark, after the answer, whether the work tree has uncommitted changes.
pub fn add_git_state(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let marker = hook.config.bookmarks.marker.as_str();
    let (Some(cwd), Some(_)) = (&hook.event.common.cwd, bookmark_note(&hook.event.prompt, marker)) else {
        return Ok(Flow::Next);
    };
    if hook.config.bookmarks.is_on()
        && let Some(dirty) = git::is_dirty(&hook.home, cwd)
    {
        hook.store()?.set_dirty(hook.event.common.session.as_str(), hook.env.now.0, dirty)?;
    }
    Ok(Flow::Next)
}

fn store(hook: &Hook<UserPromptSubmit>, note: Option<&str>) -> Result<(), Error> {
    let common = &hook.event.common;
    let cwd = common.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
    let commit = common.cwd.as_deref().and_then(git::commit);
    let usage = context::newest_usage(common.transcript.as_deref());
    let bookmark = NewBookmark {
        session: common.session.as_str(),
        created_at: hook.env.now.0,
        prompt_id: common.prompt_id.as_deref(),
        note,
        cwd: cwd.as_deref(),
        git_commit: commit.as_deref(),
        context_tokens: usage.map(|usage| usage.tokens),
    };
    let stored = hook.store().and_then(|store| Ok(store.add_bookmark(&bookmark)?));
    match stored {
        // It is stored when the database is available again, with the tool calls if these are recorded.
        Err(error) if error.is_busy() => Spool::of(&hook.home, &common.session).append(&noted_bookmark(&bookmark)),
        stored => stored,
    }
}
