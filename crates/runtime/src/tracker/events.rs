//! Which events change the row of a session. The state machine, and which notifications ask the user, are in
//! `tracker/src/state.rs`; what is shown of a prompt and of a dialog, in `agent.rs` and `state.rs` there.

use std::borrow::Cow;
use std::collections::BTreeMap;

use longhaul_activity_log::LogLine;
use longhaul_core::Status;
use longhaul_core::event::predicates::{bookmark_note, in_subagent, is_compaction, is_task_notification};
use longhaul_core::event::{
    EventName, HookEvent, Notification, PermissionRequest, PostToolUse, PostToolUseFailure, SessionEnd, SessionStart,
    Stop, StopFailure, SubagentStart, SubagentStop, TaskCompleted, TeammateIdle, UserPromptSubmit,
};
use longhaul_store::PromptOrigin;
use longhaul_tracker::{
    NotifiedDialog, REASON_CHARS, Trigger, failure_reason, next, notified_dialog, permission_reason, prompt_summary,
    shown_input, wants,
};
use serde_json::value::RawValue;

use crate::tracker::{Logged, Tracker, start_turn_end};
use crate::{Error, Flow, Hook};

pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    hook.track(|hook, tracker| tracker.begin(&hook.event.common, Status::Idle, None))
}

/// Records that the session works.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.track(|hook, tracker| {
        let prompt = &hook.event.prompt;
        let summary = (!is_task_notification(prompt) && !hook.is_private() && !hook.is_excluded())
            .then(|| prompt_summary(&hook.sanitizer().capped(prompt)))
            .filter(|summary| !summary.is_empty());
        let marker = hook.config.bookmarks.marker.as_str();
        let origin = if is_task_notification(prompt) {
            PromptOrigin::Task
        } else if bookmark_note(prompt, marker).is_some() {
            PromptOrigin::Bookmark
        } else {
            PromptOrigin::User
        };
        tracker.prompt(&hook.event.common, origin, summary.as_deref())
    })
}

/// Records that the session works. Does nothing if that is already recorded.
pub fn on_tool_use(hook: &mut Hook<PostToolUse<'static>>) -> Result<Flow, Error> {
    hook.tool_used()
}

/// Records that the session works, although a call failed.
pub fn on_tool_failure(hook: &mut Hook<PostToolUseFailure<'static>>) -> Result<Flow, Error> {
    if !hook.config.tracker.enabled {
        return Ok(Flow::Next);
    }
    hook.before = hook.activity()?.metrics()?;
    hook.tool_used()
}

/// Records that the session or one of its subagents waits for permission.
pub fn on_permission(hook: &mut Hook<PermissionRequest<'static>>) -> Result<Flow, Error> {
    hook.track(|hook, tracker| {
        let tool = hook.event.tool_name.trim();
        // Of a turn with a private prompt or passage, nothing but the name of the tool is stored.
        let shown = shown_input(tool).filter(|_| !hook.hides_calls());
        let input = shown.zip(hook.event.tool_input).and_then(|(name, input)| text_member(input, name));
        // Of an excluded project, not even that.
        let wants =
            (!hook.is_excluded()).then(|| hook.sanitizer().command_line(&wants(tool, input.as_deref()), REASON_CHARS));
        tracker.ask_permission(&hook.event.common, &permission_reason(tool), wants.as_deref())
    })
}

fn text_member(object: &RawValue, name: &str) -> Option<String> {
    let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(object.get()).ok()?;
    serde_json::from_str(members.get(name)?.get()).ok()
}

/// Records that the session waits for an answer: late, or where no other event reports it.
pub fn on_notification(hook: &mut Hook<Notification>) -> Result<Flow, Error> {
    let Some(dialog) = notified_dialog(hook.event.kind.as_deref()) else { return Ok(Flow::Next) };
    hook.track(|hook, tracker| {
        let session = &hook.event.common.session;
        // The message may quote the turn.
        let message = hook.event.message.as_deref().filter(|_| !hook.hides_calls() && !hook.is_excluded());
        let message = message.map(|message| hook.sanitizer().line(message, REASON_CHARS));
        let message = message.as_deref().filter(|message| !message.is_empty());
        match dialog {
            NotifiedDialog::Permission => tracker.notified(session, message),
            NotifiedDialog::Other => tracker.apply(session, Trigger::Notified, message, Logged::NotYet),
        }
    })
}

/// Records that the turn is over, unless subagents still run. [`show_turn_end`] shows it.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let mut has_turn_end = false;
    let done = hook.track(|hook, tracker| {
        tracker.leaves_turn_end = true;
        let session = &hook.event.common.session;
        let tasks = hook.event.background_tasks.as_ref();
        let running = tasks.map(|tasks| tasks.iter().filter(|task| task.keeps_turn_open()).count());
        if tracker.subagents(session, running)? > 0 {
            return Ok(tracker.store.note_stopped(session.as_str())?);
        }
        let applied = tracker.apply(session, Trigger::Stopped, None, Logged::Already);
        has_turn_end = tracker.has_turn_end.get();
        applied
    });
    hook.done.has_turn_end_to_show = has_turn_end;
    done
}

/// Starts the process that shows the end of the turn in tmux. If it cannot be started, shows it here.
pub fn show_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if !std::mem::take(&mut hook.done.has_turn_end_to_show) {
        return Ok(Flow::Next);
    }
    match start_turn_end(&hook.env, &hook.home, &hook.event.common.session) {
        Ok(()) => Ok(Flow::Next),
        Err(_) => hook.track(|hook, tracker| tracker.show_turn_end(&hook.event.common.session)),
    }
}

/// Records that the turn ended with an error, whose kind is shown.
pub fn on_failure(hook: &mut Hook<StopFailure>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.track(|hook, tracker| {
        let error = hook.sanitizer().line(hook.event.error.as_deref().unwrap_or_default(), REASON_CHARS);
        tracker.fail(&hook.event.common.session, failure_reason(&error))
    })
}

pub fn on_subagent_start(hook: &mut Hook<SubagentStart>) -> Result<Flow, Error> {
    if is_compaction(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.track(|hook, tracker| Ok(tracker.store.count_subagent(hook.event.common.session.as_str(), 1)?))
}

/// Counts a subagent that has returned. If the session waited for it, it works again.
pub fn on_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    if is_compaction(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.track(|hook, tracker| {
        let session = &hook.event.common.session;
        tracker.store.count_subagent(session.as_str(), -1)?;
        tracker.apply(session, Trigger::SubagentReturned, None, Logged::NotYet)
    })
}

/// Records that a teammate has nothing to do.
pub fn on_teammate_idle(hook: &mut Hook<TeammateIdle>) -> Result<Flow, Error> {
    // A teammate without a session of its own runs inside the session of its lead, which this says nothing about.
    if hook.event.teammate.is_none() && in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.track(|hook, tracker| {
        let session = hook.event.teammate.as_ref().unwrap_or(&hook.event.common.session);
        tracker.teammate_idle(&hook.event.common, session)
    })
}

pub fn on_task_completed(hook: &mut Hook<TaskCompleted>) -> Result<Flow, Error> {
    hook.track(|hook, tracker| Ok(tracker.store.count_task(hook.event.common.session.as_str())?))
}

pub fn on_session_end(hook: &mut Hook<SessionEnd>) -> Result<Flow, Error> {
    hook.track(|hook, tracker| tracker.end(&hook.event.common.session))
}

impl<E: HookEvent<'static>> Hook<E> {
    fn tracker(&self) -> Result<Tracker<'_>, Error> {
        let tracker = Tracker::with(&self.env, &self.home, self.store()?, self.deadline, &self.config.notify);
        Ok(if E::NAME == EventName::UserPromptSubmit { tracker.hasty() } else { tracker })
    }

    /// Calls `work` with the tracker if it is switched on.
    fn track(&self, work: impl FnOnce(&Self, &mut Tracker<'_>) -> Result<(), Error>) -> Result<Flow, Error> {
        if self.config.tracker.enabled {
            work(self, &mut self.tracker()?)?;
        }
        Ok(Flow::Next)
    }

    /// Shows that a limit has stopped the turn.
    pub(crate) fn show_stopped(&self, cause: &str) -> Result<(), Error> {
        self.track(|hook, tracker| tracker.fail(&hook.event.common().session, cause)).map(drop)
    }

    /// Shows that the session turns in circles, or no longer.
    pub(crate) fn show_looping(&self, reason: Option<&str>) -> Result<(), Error> {
        let note = |hook: &Self, _: &mut Tracker<'_>| {
            Ok(hook.store()?.note_looping(hook.event.common().session.as_str(), reason)?)
        };
        self.track(note).map(drop)
    }

    fn tool_used(&self) -> Result<Flow, Error> {
        let common = self.event.common();
        let trigger = if in_subagent(common) { Trigger::SubagentToolUsed } else { Trigger::ToolUsed };
        let changes = match self.before.status {
            Some(status) => next(status, trigger).is_some(),
            // Nothing is recorded of the session yet. A call of a subagent does not change that.
            None => !in_subagent(common),
        };
        if !changes {
            return Ok(Flow::Next);
        }
        // The line of the tool call already records that the main loop works.
        let logged = if self.after.status.is_some() { Logged::Already } else { Logged::NotYet };
        let tracked = self.track(|_, tracker| tracker.tool_used(common, trigger, logged));
        if let (Err(error), Some(status)) = (&tracked, self.before.status)
            // Otherwise the job runs again, in a new database without a row.
            && !error.is_damage()
        {
            // The row is unchanged. If the log said otherwise, the next call would not correct the row.
            self.activity()?.append(&[LogLine::Status { at: self.env.now, status }])?;
        }
        tracked
    }
}
