//! `longhaul-notify SESSION STATE TIME`: the detached process that reports one change of a session, and how long the log of
//! notifications is kept.

use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use longhaul_core::clock::DAY_MS;
use longhaul_core::config::{Choice, Notify, NotifyState, NotifyWay};
use longhaul_core::{Env, Millis};
use longhaul_notify::{Suppression, Verdict, decide};
use longhaul_runtime::{
    Error, ErrorLog, Home, NextLine, ProgramLines, leave_session, now, start_sibling, utc_offset_seconds, waiting_times,
};
use longhaul_store::{Notification, NotifyEvent, NotifyResult, Store};
use longhaul_tracker::Agent;

use crate::desktop::GOTO;
use crate::outgoing::Outgoing;
use crate::question::Question;
use crate::{facts, parallel};

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
        log.write("usage: longhaul-notify SESSION blocked|completed|failed|limit MILLISECONDS");
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
    let ways = &config.notify.rule(event.state).ways.0;
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
        let verdicts = self.decide(agent.as_ref());
        let outgoing = agent.as_ref().map(|agent| facts::outgoing(self.event, agent, self.question));
        let mut ways = Vec::new();
        for (way, verdict) in verdicts {
            match verdict {
                // From here on the notification counts as sent, even if this process is killed: never twice.
                Verdict::Send if self.store.claim_notification(self.event, way)? => ways.push(way),
                Verdict::Send => {}
                Verdict::Suppress(why) => self.suppress(way, why, agent.as_ref())?,
            }
        }
        match outgoing {
            Some(outgoing) if !ways.is_empty() => self.send(&outgoing, &ways),
            Some(_) | None => Ok(()),
        }
    }

    fn decide(&self, agent: Option<&Agent>) -> Vec<(NotifyWay, Verdict)> {
        let session = agent.map(|agent| facts::session_now(agent, self.env, self.question));
        let (at, now) = (self.event.at, now(self.env));
        let away_ms = self.config.away_seconds.as_millis();
        let attention = agent.map(|agent| facts::attention_to(agent, self.env, at, now, away_ms));
        let attention = attention.unwrap_or(longhaul_notify::Attention::Elsewhere);
        decide(self.event.state, at, session.as_ref(), attention, self.config, minute_of_day(self.env.now))
    }

    fn suppress(&self, way: NotifyWay, why: Suppression, agent: Option<&Agent>) -> Result<(), Error> {
        let mut row = self.row(way, NotifyResult::Suppressed, Some(why.to_string()));
        row.project = agent.map(|agent| agent.project.clone());
        Ok(self.store.end_notification(&row)?)
    }

    fn send(&self, outgoing: &Outgoing, ways: &[NotifyWay]) -> Result<(), Error> {
        let mut stored = Ok(());
        let click = parallel::send(outgoing, ways, self.config, self.env, |way, result| {
            let mut row = match result {
                Ok(()) => self.row(way, NotifyResult::Sent, None),
                Err(error) => self.row(way, NotifyResult::Failed, Some(error.chain())),
            };
            row.project = Some(outgoing.project.clone());
            row.text = Some(outgoing.message.line());
            // The other results are stored even if this one cannot be.
            let done = self.store.end_notification(&row);
            stored = std::mem::replace(&mut stored, Ok(())).and(done);
        });
        stored?;
        if let Some(program) = click {
            self.wait_for_click(program)?;
        }
        Ok(())
    }

    fn row(&self, way: NotifyWay, result: NotifyResult, why: Option<String>) -> Notification {
        let ended = Some(now(self.env));
        Notification { event: self.event.clone(), way, result, why, project: None, text: None, ended }
    }

    /// Waits until the notification is clicked, and goes to the pane. Ends when it is closed, or the session has ended.
    fn wait_for_click(&self, mut program: ProgramLines) -> Result<(), Error> {
        let deadline = Instant::now() + waiting_times::NOTIFICATION_CLICK;
        while Instant::now() < deadline {
            match program.next_line(waiting_times::SESSION_READ_FOR_CLICK) {
                NextLine::Line(action) if action.trim() == GOTO => {
                    return start_sibling("longhaul", &["goto".to_owned(), self.event.session.clone()]).map(drop);
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

/// Returns the minute of the day in local time.
fn minute_of_day(at: Millis) -> u16 {
    let local = at.0 as i64 + i64::from(utc_offset_seconds(at)) * 1000;
    (local.rem_euclid(DAY_MS) / 60_000) as u16
}
