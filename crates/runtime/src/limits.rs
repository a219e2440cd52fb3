//! What a session may spend: reads what its requests have cost, adds what all sessions of the day have spent, stops the session
//! at a limit, denies subagents, and notices calls that are repeated. The decisions are in `cost/src/limits.rs` and
//! `activity-log/src/limits.rs`.

mod account;
mod day;

use longhaul_activity_log::limits::{LoopStep, agent_mark, loop_step, mark, notified, told};
use longhaul_activity_log::{LogLine, TailStart};
use longhaul_core::clock::time_of;
use longhaul_core::config::Loops;
use longhaul_core::event::predicates::{in_subagent, is_compaction, is_task_notification};
use longhaul_core::event::{
    EventName, HookEvent, PostToolUse, PostToolUseFailure, PreToolUse, SessionEnd, SessionStart, StartSource, Stop,
    StopFailure, SubagentStart, SubagentStop, UserPromptSubmit,
};
use longhaul_core::{Millis, Reply};
use longhaul_cost::Prices;
use longhaul_cost::limits::{
    Measure, Step, blind_message, denial, goes_on, limit_reached, near_message, reach, stop_reason,
};
use longhaul_handoff::{BatonTrigger, baton_command};
use longhaul_tracker::LOOPING;
use serde_json::value::RawValue;

use self::account::OpenAccount;
pub use self::account::{Account, InForce, accounts, measures_of, raise, stopped_last};
pub use self::day::{count as count_day, spent_today};
use crate::notifications::{self, News};
use crate::{Deadline, Error, Flow, Hook, bookmarks, clock_and_env, context, process, project_file};

/// Whether an account that another hook has is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// It is: the other one usually has it for a moment.
    Patient,
    /// It is not.
    Hasty,
}

/// Opens the account of a session if a limit is set. What an earlier process of the session was allowed is over.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let Some(mut open) = hook.account(Waiting::Patient)? else { return Ok(Flow::Next) };
    // A compaction happens inside a turn, which continues.
    if hook.event.source != StartSource::Compact {
        // A client that was killed has sent no SessionEnd.
        open.account.end_session();
    }
    open.account.begin_day(hook.env.now, || hook.project_key());
    hook.save(&mut open);
    Ok(Flow::Next)
}

/// Ends what the user has allowed the session, and leaves the baton that a hook was killed before.
pub fn on_session_end(hook: &mut Hook<SessionEnd>) -> Result<Flow, Error> {
    // Also without a limit: one that is set again must hold after `claude --resume`.
    let Some(mut open) = hook.open_account(Waiting::Patient, false)? else { return Ok(Flow::Next) };
    let owes = open.account.is_stopped && !open.account.has_left;
    let left = if owes { hook.leave_baton() } else { Ok(()) };
    open.account.end_session();
    // With a new database in the place of a damaged one, this job runs again.
    open.account.is_stopped = left.is_err();
    hook.save(&mut open);
    left.map(|()| Flow::Next)
}

/// Counts in the background what sessions have spent today, if a limit of the day is set. Those whose hooks were not running
/// then count too.
pub fn count_others(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let in_force = InForce::of(&hook.config.limits);
    if in_force.has_day() && day::is_due(&hook.home, hook.env.now) {
        process::spawn_own("limit", &["count".to_owned()])?;
    }
    Ok(Flow::Next)
}

/// Refuses a prompt while a limit is reached, unless the prompt says that it goes on.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) || baton_command(&hook.event.prompt).is_some() {
        return Ok(Flow::Next);
    }
    let Some(mut open) = hook.account(Waiting::Patient)? else { return Ok(Flow::Next) };
    if !is_task_notification(&hook.event.prompt) {
        // After such a turn there was no Stop. A subagent that runs on in the background counts again with its next call.
        let transcript = hook.event.common.transcript.as_deref();
        let is_cut_off = || open.account.is_stopped || transcript.is_some_and(context::ends_in_interrupt);
        if open.account.has_agents() && is_cut_off() {
            open.account.end_turn(|_| false);
        }
        open.account.begin_turn(goes_on(&hook.event.prompt));
    }
    let reached = hook.reach(&mut open);
    open.account.is_stopped = reached.is_some();
    // The last turn may have reached the limit with its end, after its last call.
    let owes = open.account.is_stopped && !open.account.has_left;
    open.account.has_left &= open.account.is_stopped;
    hook.save(&mut open);
    drop(open);
    let Some(measure) = reached else { return Ok(Flow::Next) };
    hook.answer(Reply::end(stop_reason(&measure)));
    if owes && let Err(error) = hook.leave_baton().and_then(|()| hook.note_left()) {
        hook.write_error(&error);
    }
    Ok(Flow::Done)
}

/// Stops the session after a call if a limit is reached. Without a limit, it only finds that there is no account.
pub fn on_tool_use(hook: &mut Hook<PostToolUse<'static>>) -> Result<Flow, Error> {
    if stop_circle(hook)? == Flow::Done {
        return Ok(Flow::Done);
    }
    // Of several calls at the same time, one reads.
    let Some(mut open) = hook.account(Waiting::Hasty)? else { return Ok(Flow::Next) };
    if let Some(agent) = &hook.event.common.agent_id {
        open.account.agent_works(agent);
    }
    let reached = hook.reach(&mut open);
    let is_first = reached.is_some() && !std::mem::replace(&mut open.account.is_stopped, true);
    let owes = !open.account.has_left;
    hook.save(&mut open);
    drop(open);
    let Some(measure) = reached else { return Ok(Flow::Next) };
    let reason = stop_reason(&measure);
    hook.answer(Reply::end(&*reason));
    if is_first {
        hook.log.write(&format!("session {}: stopped: {reason}", hook.event.common.session));
    }
    let cause = format!("{}: {measure}", measure.scope.key());
    // Each subagent that is stopped comes here, too. The first hook may have been killed before it had done this.
    if owes {
        hook.stopped(&cause)?;
        hook.note_left()?;
    } else if !in_subagent(&hook.event.common) {
        // For the tracker, a call that ran beside the one that was stopped is a sign of work.
        hook.show_stopped(&cause)?;
    }
    Ok(Flow::Done)
}

/// Denies a subagent if a limit is reached, or if there are too many.
pub fn on_agent_launch(hook: &mut Hook<PreToolUse<'static>>) -> Result<Flow, Error> {
    let Some(mut open) = hook.account(Waiting::Patient)? else { return Ok(Flow::Next) };
    // How to go on is for the user: Claude could run the command.
    let denied = match hook.reach(&mut open) {
        Some(measure) => Some((limit_reached(&measure), stop_reason(&measure))),
        None => denial(open.account.in_force.subagents(), open.account.subagents())
            .map(|reason| (reason.clone(), format!("longhaul: no more subagents: {reason}"))),
    };
    let Some((reason, message)) = denied else {
        open.account.launch();
        hook.save(&mut open);
        return Ok(Flow::Next);
    };
    // Once in a turn: a storm of subagents would be a storm of messages.
    let is_first = !std::mem::replace(&mut open.account.has_denied, true);
    hook.save(&mut open);
    if is_first {
        hook.notify(&message);
    }
    hook.answer(Reply::deny(reason));
    Ok(Flow::Done)
}

/// Counts a subagent, and stops it if a limit is reached.
pub fn on_subagent_start(hook: &mut Hook<SubagentStart>) -> Result<Flow, Error> {
    if is_compaction(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let Some(mut open) = hook.account(Waiting::Patient)? else { return Ok(Flow::Next) };
    open.account.agent_began(hook.event.common.agent_id.as_deref().unwrap_or_default());
    let reached = hook.reach(&mut open);
    hook.save(&mut open);
    // The version 2.1.325 starts it all the same; it ends after its first call.
    if let Some(measure) = reached {
        hook.answer(Reply::end(stop_reason(&measure)));
    }
    Ok(Flow::Next)
}

pub fn on_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    let Some(mut open) = hook.account(Waiting::Patient)? else { return Ok(Flow::Next) };
    open.account.agent_returned(hook.event.common.agent_id.as_deref().unwrap_or_default());
    hook.save(&mut open);
    Ok(Flow::Next)
}

/// Begins the count of subagents anew after a turn that has failed.
pub fn on_turn_failure(hook: &mut Hook<StopFailure>) -> Result<Flow, Error> {
    if !in_subagent(&hook.event.common)
        && let Some(mut open) = hook.account(Waiting::Patient)?
    {
        open.account.end_turn(|_| false);
        hook.save(&mut open);
    }
    Ok(Flow::Next)
}

/// Corrects the count of subagents at the end of a turn, by what Claude Code reports.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let Some(mut open) = hook.account(Waiting::Patient)? else { return Ok(Flow::Next) };
    if let Some(tasks) = &hook.event.background_tasks {
        open.account.end_turn(|agent| tasks.iter().any(|task| task.id == agent));
    }
    hook.reach(&mut open);
    hook.save(&mut open);
    Ok(Flow::Next)
}

/// Notes a failed call: to fail in the same way again and again is the most common circle.
pub fn on_tool_failure(hook: &mut Hook<PostToolUseFailure<'static>>) -> Result<Flow, Error> {
    if hook.config.limits.loops == Loops::Off || !hook.wants_activity() {
        return Ok(Flow::Next);
    }
    let event = &hook.event;
    let mark = hook.mark(&event.tool_name, event.tool_input, event.error.as_deref(), event.duration_ms);
    let line = LogLine::Call { at: hook.env.now, agent: agent_mark(event.common.agent_id.as_deref()), mark };
    let (tail, start) = hook.activity()?.append_and_read(line)?;
    let tool = hook.event.tool_name.clone();
    hook.note_repetition(&tail, start, &tool);
    stop_circle(hook)
}

/// Stops a turn that repeats itself, if it was found to and is to be stopped for that. Runs after the tracker, for which the
/// call is a sign of work.
pub fn stop_circle<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    let Some(text) = hook.done.circle.clone() else { return Ok(Flow::Next) };
    let advice = "The next prompt goes on; limits.loops is \"stop\".";
    hook.answer(Reply::end(format!("longhaul: this session turns in circles: {text}. {advice}")));
    hook.stopped(&format!("{LOOPING}: {text}"))?;
    Ok(Flow::Done)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Opens the account of the session; `None` if no limit is set, or if another hook has it and this one is in a hurry.
    fn account(&self, waiting: Waiting) -> Result<Option<OpenAccount>, Error> {
        let own = InForce::of(&self.config.limits);
        let in_project =
            || InForce::of(&project_file::in_force(&self.config, &self.home, self.project_dir().as_deref()).limits);
        // A project's own file is read where it costs nobody time; a call reads it only after the user has changed a limit.
        let new = matches!(E::NAME, EventName::SessionStart | EventName::UserPromptSubmit).then(in_project);
        let exists_for_sure = new.as_ref().unwrap_or(&own).is_any();
        let Some(mut open) = self.open_account(waiting, exists_for_sure)? else { return Ok(None) };
        if let Some(in_force) = new {
            (open.account.own, open.account.in_force) = (own, in_force);
        } else if open.account.own != own {
            (open.account.own, open.account.in_force) = (own, in_project());
        }
        if !open.account.in_force.is_any() {
            // Nothing shows a session as stopped by a limit that the user has taken away.
            (open.account.is_stopped, open.account.has_left) = (false, false);
            self.save(&mut open);
            return Ok(None);
        }
        Ok(Some(open))
    }

    fn open_account(&self, waiting: Waiting, creates: bool) -> Result<Option<OpenAccount>, Error> {
        let path = self.home.session_file(&self.event.common().session, "limits");
        OpenAccount::open(&path, (waiting == Waiting::Patient).then(|| self.half_the_time()), creates)
    }

    /// The other half is for the jobs after this one.
    fn half_the_time(&self) -> Deadline {
        Deadline::after(self.deadline.left() / 2)
    }

    /// Writes the account. An error is logged: what was spent is known, and a full disk must not let a session go on.
    fn save(&self, open: &mut OpenAccount) {
        if let Err(error) = open.save() {
            self.write_error(&error);
        }
    }

    /// Reads what was spent since the last call, and tells the user what is to be told. Returns the limit that stops the session.
    ///
    /// An error is logged, as in [`Self::save`].
    fn reach(&mut self, open: &mut OpenAccount) -> Option<Measure> {
        if !open.account.in_force.has_spend() {
            return None;
        }
        open.account.begin_day(self.env.now, || self.project_key());
        if let Some(transcript) = self.event.common().transcript.clone() {
            let prices = Prices::new(&self.config.models.prices);
            if let Err(error) = open.read(&transcript, &prices, self.half_the_time()) {
                self.write_error(&error);
            }
        }
        let account = &mut open.account;
        if let Err(error) = account.share_day(&self.home, &self.event.common().session) {
            self.write_error(&error);
        }
        let measures = account.measures(&self.home, self.env.now);
        let step = reach(&measures, account.told);
        account.told = account.told.after(&step);
        match step {
            Step::Stop(measure) if !account.passes => return Some(measure),
            Step::Nothing | Step::Stop(_) => {}
            Step::Near(measure) => {
                let message = near_message(&measure);
                self.notify(&format!("longhaul: {message}"));
                if let Err(error) = self.tell(&News { title: "is near a limit", text: &message }) {
                    self.write_error(&error);
                }
            }
            Step::Blind(measure) => self.notify(&format!("longhaul: {}", blind_message(&measure))),
        }
        None
    }

    fn project_key(&self) -> String {
        crate::handoff::Project::of(&self.env, self.event.common().cwd.as_deref()).key
    }

    /// Starts the notification about something that the session goes on after.
    fn tell(&self, news: &News<'_>) -> Result<(), Error> {
        notifications::tell(&self.env, &self.config.notify, self.event.common().session.as_str(), news)
    }

    /// Does what the end of a turn would do: after a call that stops it, Claude Code sends no Stop.
    fn stopped(&mut self, cause: &str) -> Result<(), Error> {
        let baton = self.leave_baton();
        let shown = self.show_stopped(cause);
        let bookmark = bookmarks::at_limit(self);
        baton.and(shown).and(bookmark)
    }

    /// Notes that this was done. If a hook is killed before, the next one does it.
    fn note_left(&self) -> Result<(), Error> {
        if let Some(mut open) = self.open_account(Waiting::Patient, false)? {
            open.account.has_left = true;
            self.save(&mut open);
        }
        Ok(())
    }

    /// Leaves a baton, so that the next session continues.
    fn leave_baton(&self) -> Result<(), Error> {
        if !self.config.handoff.enabled || self.is_excluded() || self.env.no_auto_handoff {
            return Ok(());
        }
        let store = self.store()?;
        crate::handoff::register(&store, &self.env, self.event.common())?;
        self.write_baton(&store, BatonTrigger::Limit)
    }

    // Calls that are repeated.

    /// Returns the mark of a call, by which it is recognised. A turn with a private prompt, and an excluded project, have none.
    pub(crate) fn mark(
        &self,
        tool: &str,
        input: Option<&RawValue>,
        result: Option<&str>,
        duration_ms: Option<u64>,
    ) -> Option<u16> {
        if self.config.limits.loops == Loops::Off || self.is_excluded() || self.hides_calls() {
            return None;
        }
        let session = self.event.common().session.as_str();
        mark(session, tool, input.map_or("", RawValue::get), result.unwrap_or_default(), duration_ms)
    }

    /// Tells Claude, and then the user, that the same calls are made again and again. `tail` is the end of the activity log, with
    /// the newest call.
    ///
    /// An error is logged: the job has written the call to the log, and must not run again.
    pub(crate) fn note_repetition(&mut self, tail: &[u8], start: TailStart, tool: &str) {
        let agent = agent_mark(self.event.common().agent_id.as_deref());
        let step = loop_step(tail, start, agent);
        let Some(stage) = step.stage() else { return };
        // First, so that it happens once.
        let line = LogLine::Loop { at: self.env.now, agent, stage };
        let noted = self.activity().and_then(|log| log.append(&[line]));
        if let Err(error) = noted.and_then(|()| self.act_on_repetition(step, tool)) {
            self.write_error(&error);
        }
    }

    fn act_on_repetition(&mut self, step: LoopStep, tool: &str) -> Result<(), Error> {
        match step {
            LoopStep::Nothing => {}
            LoopStep::Over => self.show_looping(None)?,
            LoopStep::Tell(repetition) => self.show(&told(&repetition, tool, &clock(repetition.since))),
            LoopStep::Notify(repetition) => {
                let text = notified(&repetition, tool, &clock(repetition.since));
                if self.config.limits.loops == Loops::Stop {
                    self.done.circle = Some(text);
                    return Ok(());
                }
                self.notify(&format!("longhaul: this session turns in circles: {text}"));
                self.show_looping(Some(&format!("{LOOPING}: {text}")))?;
                self.tell(&News { title: "turns in circles", text: &text })?;
            }
        }
        Ok(())
    }
}

/// Returns the local time of day, such as `14:02`.
fn clock(at: Millis) -> String {
    let mut time = time_of(at, clock_and_env::utc_offset_seconds(at));
    time.truncate("14:02".len());
    time
}
