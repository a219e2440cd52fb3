//! `longhaul run-notify SESSION STATE TIME`: the detached process that reports one change of a session, and how long the log of
//! notifications is kept.

use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use longhaul_core::clock::DAY_MS;
use longhaul_core::config::{Notify, NotifyState, NotifyWay, OtherSession};
use longhaul_core::{Env, Millis, SessionId, Status};
use longhaul_memory::redact_command;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{
    Error, ErrorLog, Home, NextLine, ProgramLines, is_headless, leave_session, now, open_draft_at, read_stdin,
    spawn_own, tty, utc_offset_seconds, variable, waiting_times,
};
use longhaul_store::{Notification, NotifyEvent, NotifyResult, Store};
use longhaul_tracker::Agent;
use serde_json::Value;

use crate::decision::{Attention, SessionNow, Suppression, attention, attention_by_draft, suppression};
use crate::message::{Message, Subject};
use crate::outgoing::{Display, Outgoing, OwnTerminal};
use crate::ways::{self, GOTO};

/// How many days the log of notifications is kept.
pub const KEPT_DAYS: u64 = 30;

/// Runs with the arguments of a hook: session, state, time in milliseconds. The standard input is the question of the dialog.
///
/// No process reads its output, so errors are written to the error log.
pub fn run(env: &Env, args: &[String]) -> ExitCode {
    leave_session();
    let log = ErrorLog::new(env, "notify");
    let event = match args {
        [session, state, at] => NotifyState::from_name(state).zip(at.parse().ok()).map(|(state, at)| NotifyEvent {
            session: session.clone(),
            state,
            at: Millis(at),
        }),
        _ => None,
    };
    let Some(event) = event else {
        log.write("usage: longhaul run-notify SESSION blocked|completed|failed|limit MILLISECONDS");
        return ExitCode::from(2);
    };
    match report(env, &event, Question::read().as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log.write(&format!("session {}: {}", event.session, error.chain()));
            ExitCode::FAILURE
        }
    }
}

fn report(env: &Env, event: &NotifyEvent, question: Option<&Question>) -> Result<(), Error> {
    let home = Home::of(env)?;
    let (config, _) = longhaul_runtime::config(env)?;
    let ways = config.notify.ways_of(event.state);
    if ways.is_empty() {
        return Ok(());
    }
    let store = home.store(waiting_times::DATABASE)?;
    let oldest = Millis(env.now.0.saturating_sub(KEPT_DAYS * DAY_MS.unsigned_abs()));
    store.begin_notifications(event, ways, oldest)?;
    thread::sleep(waiting_times::BEFORE_NOTIFICATION);
    Report { env, store: &store, config: &config.notify, event, question }.finish()
}

/// A change of a session, after the delay.
struct Report<'a> {
    env: &'a Env,
    store: &'a Store,
    config: &'a Notify,
    event: &'a NotifyEvent,
    question: Option<&'a Question>,
}

impl Report<'_> {
    fn finish(&self) -> Result<(), Error> {
        let agent = self.store.agent(&self.event.session)?;
        let suppressed = self.suppression(agent.as_ref());
        let mut ways = Vec::new();
        for way in self.config.ways_of(self.event.state).iter().copied() {
            match suppressed {
                Some(why) => self.store.end_notification(&Notification {
                    event: self.event.clone(),
                    way,
                    result: NotifyResult::Suppressed,
                    why: Some(why.to_string()),
                    project: agent.as_ref().map(|agent| agent.project.clone()),
                    text: None,
                    ended: Some(now(self.env)),
                })?,
                // From here on the notification counts as sent, even if this process is killed: never twice.
                None if self.store.claim_notification(self.event, way)? => ways.push(way),
                None => {}
            }
        }
        match agent {
            Some(agent) if !ways.is_empty() => self.send(&outgoing(self.event, &agent, self.question), &ways),
            Some(_) | None => Ok(()),
        }
    }

    fn suppression(&self, agent: Option<&Agent>) -> Option<Suppression> {
        let session = agent.map(|agent| session_now(agent, self.env, self.question));
        let (at, now) = (self.event.at, now(self.env));
        let attention = agent.map_or(Attention::Elsewhere, |agent| attention_to(agent, self.env, at, now));
        suppression(self.event.state, at, session.as_ref(), attention, self.config, minute_of_day(self.env.now))
    }

    fn send(&self, outgoing: &Outgoing, ways: &[NotifyWay]) -> Result<(), Error> {
        let mut stored = Ok(());
        let click = ways::send_by_all(outgoing, ways, self.config, self.env, |way, result| {
            // The other results are stored even if this one cannot be.
            let done = self.store.end_notification(&outgoing.row(way, &result, self.env));
            stored = std::mem::replace(&mut stored, Ok(())).and(done);
        });
        stored?;
        click.map_or(Ok(()), |program| self.wait_for_click(program))
    }

    /// Waits until the notification is clicked, and goes to the pane. Ends when it is closed, or the session has ended.
    fn wait_for_click(&self, mut program: ProgramLines) -> Result<(), Error> {
        let deadline = Instant::now() + waiting_times::NOTIFICATION_CLICK;
        while Instant::now() < deadline {
            match program.next_line(waiting_times::SESSION_READ_FOR_CLICK) {
                NextLine::Line(action) if action.trim() == GOTO => {
                    return spawn_own("goto", std::slice::from_ref(&self.event.session)).map(drop);
                }
                NextLine::Line(_) => {}
                NextLine::Ended { .. } => return Ok(()),
                NextLine::TimeOver if self.store.agent(&self.event.session)?.is_none() => return Ok(()),
                NextLine::TimeOver => {}
            }
        }
        Ok(())
    }
}

fn minute_of_day(at: Millis) -> u16 {
    let local = at.0 as i64 + i64::from(utc_offset_seconds(at)) * 1000;
    (local.rem_euclid(DAY_MS) / 60_000) as u16
}

/// Who has opened a dialog, and what it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Question {
    /// The subagent that has opened it; `None` for the main conversation.
    asked_by: Option<String>,
    wants: Option<String>,
    /// What the session does instead, where it goes on: `is near a limit`.
    title: Option<String>,
}

impl Question {
    /// Reads the question from the standard input; `None` if there is none.
    fn read() -> Option<Self> {
        let input: Value = serde_json::from_slice(&read_stdin(waiting_times::NOTIFICATION_QUESTION).ok()?).ok()?;
        let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self { asked_by: text("asked_by"), wants: text("wants"), title: text("title") })
    }

    /// Returns the question that the row of a session holds now.
    fn of(agent: &Agent) -> Self {
        Self { asked_by: agent.asked_by.clone(), wants: agent.wants.clone(), title: None }
    }
}

/// Returns the session as the decision sees it. `question` is that of the change, if the hook has passed one on.
fn session_now(agent: &Agent, env: &Env, question: Option<&Question>) -> SessionNow {
    let mut session = SessionNow::new(agent.status, Millis(agent.touched_ms));
    session.prompted = agent.prompt_ms.map(Millis);
    session.goes_on = question.is_some_and(|question| question.title.is_some());
    session.other = kind(agent, env, &question.cloned().unwrap_or_else(|| Question::of(agent)));
    session
}

/// Returns which kind of session it is; `None` for one of the user's own.
fn kind(agent: &Agent, env: &Env, question: &Question) -> Option<OtherSession> {
    match agent.status {
        _ if !agent.is_counted() => Some(OtherSession::Teammate),
        _ if agent.pid.is_some_and(|pid| is_headless(env, pid)) => Some(OtherSession::Print),
        Status::Blocked if question.asked_by.is_some() => Some(OtherSession::Subagent),
        _ => None,
    }
}

/// Returns what the user does with the session: by the draft that the bridge has reported, or else by its pane.
fn attention_to(agent: &Agent, env: &Env, at: Millis, now: Millis) -> Attention {
    let session = SessionId::new(&agent.session);
    let draft = Home::of(env).ok().zip(session).and_then(|(home, session)| open_draft_at(&home, &session));
    attention_by_draft(draft, now, attention_to_pane(agent, at, now))
}

/// Returns what the user does with the session's pane. Without a pane, or if tmux does not answer, that is not known.
fn attention_to_pane(agent: &Agent, at: Millis, now: Millis) -> Attention {
    let Some(pane) = &agent.pane else { return Attention::Elsewhere };
    attention(&pane.id, &Server::at(&pane.socket).clients().unwrap_or_default(), at, now)
}

/// Returns the notification about a session.
fn outgoing(event: &NotifyEvent, agent: &Agent, question: Option<&Question>) -> Outgoing {
    let question = question.cloned().unwrap_or_else(|| Question::of(agent));
    let cause = match event.state {
        NotifyState::Blocked => question.wants.as_ref().or(agent.reason.as_ref()),
        NotifyState::Limit if question.title.is_some() => question.wants.as_ref(),
        NotifyState::Failed | NotifyState::Limit => agent.reason.as_ref(),
        NotifyState::Completed => None,
    };
    let subject = Subject {
        state: event.state,
        project: agent.project.clone(),
        branch: agent.branch.clone(),
        // It leaves the machine, so secrets are replaced whatever the configuration says.
        waits_for: cause.map(|cause| redact_command(cause)),
        event: question.title,
        turn_ms: agent.prompt_ms.map(|prompt| event.at.since(Millis(prompt))),
    };
    let display = match &agent.pane {
        Some(pane) => Display::Tmux(Server::at(&pane.socket)),
        None => agent.pid.map_or(Display::Nowhere, own_terminal),
    };
    Outgoing { event: event.clone(), message: Message::new(&subject), subject, display }
}

/// Returns the terminal of a process.
pub(crate) fn own_terminal(pid: u32) -> Display {
    let value = |name: &str| variable(pid, name).unwrap_or_default();
    match tty(pid).filter(|path| path.starts_with("/dev/pts/") || path.starts_with("/dev/tty")) {
        Some(path) => Display::Terminal(OwnTerminal { path, term: value("TERM"), program: value("TERM_PROGRAM") }),
        None => Display::Nowhere,
    }
}
