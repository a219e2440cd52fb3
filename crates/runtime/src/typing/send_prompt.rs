//! Sends a prompt to a session that runs in another terminal, and waits until Claude Code has received it.

use std::time::{Duration, Instant};

use longhaul_activity_log::{LogLine, RECEIPT_MS};
use longhaul_core::config::OneLineText;
use longhaul_core::{Env, SessionId};
use longhaul_inject::{TypeWhen, TypingDecision, UnsafeScreen, WaitReason};

use super::{Order, Submitted, Typist, shows_another_session, submit_patiently};
use crate::{ActivityLog, Error, Home, SessionRecord, Ticket, client_records, home, running_subagents};

/// Interval at which the log is read for the receipt.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The result of sending a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptOutcome {
    /// Claude Code has received it.
    Received,
    /// It was not submitted. With the reason.
    NotSent(String),
    /// It was typed and submitted, but Claude Code has not confirmed it.
    NotConfirmed,
}

/// Types `text` into the terminal of a session and submits it.
///
/// While a turn runs, the prompt is queued if the submit chord works; otherwise the end of the turn is awaited, for at most
/// `patience`. A draft is stashed and is in the input again afterwards. An open dialog is an error at once. `waits` is called
/// with the reason, once, if the prompt cannot be typed at once.
pub fn send_prompt(
    env: &Env,
    home: &Home,
    record: &SessionRecord,
    text: &OneLineText,
    patience: Duration,
    waits: &dyn Fn(&str),
) -> Result<PromptOutcome, Error> {
    let not_sent = |why: &str| Ok(PromptOutcome::NotSent(why.to_owned()));
    let Some(session) = SessionId::new(&record.session) else { return not_sent("the session has no id") };
    let Some(terminal) = record.terminal.clone() else {
        return not_sent(record.no_terminal.as_deref().unwrap_or("its terminal is not known"));
    };
    if record.client_pid.is_some_and(|pid| client_records::is_headless(env, pid)) {
        return not_sent("Claude Code runs headless there");
    }
    let order = Order {
        agents_run: running_subagents::any_running(home, &session),
        session,
        terminal,
        client_pid: record.client_pid,
        text: text.as_str().to_owned(),
        want: TypeWhen::Idle,
        // A chord answers no dialog, so that it may also be pressed during a turn.
        want_by_chord: Some(TypeWhen::Either),
        agents_may_ask: true,
        patience,
        deadline: None,
        allow_blind: home::config(env)?.0.inject.allow_blind,
    };
    send(env, home, &order, waits)
}

fn send(env: &Env, home: &Home, order: &Order, waits: &dyn Fn(&str)) -> Result<PromptOutcome, Error> {
    if shows_another_session(env, home, order) {
        return Ok(PromptOutcome::NotSent("its terminal shows another session now".to_owned()));
    }
    let log = ActivityLog::open(home, &order.session)?;
    let ticket = log.ticket()?;
    let typist = Typist::new(env, home, order);
    match typist.decide() {
        Ok(TypingDecision::Wait(reason @ (WaitReason::ClientWaiting | WaitReason::Unsafe(UnsafeScreen::Dialog)))) => {
            return Ok(PromptOutcome::NotSent(format!("{reason}: answer it first")));
        }
        Ok(TypingDecision::Wait(reason)) => waits(&reason.to_string()),
        Ok(TypingDecision::Stash { .. }) => waits("a draft is in the input"),
        Ok(TypingDecision::Type | TypingDecision::TypedAlready) => {}
        Err(problem) => return Ok(PromptOutcome::NotSent(problem)),
    }
    match submit_patiently(&typist, &|| Ok(shows_another_session(env, home, order)))? {
        Submitted::Yes => {}
        Submitted::Superseded => {
            return Ok(PromptOutcome::NotSent("its terminal shows another session now".to_owned()));
        }
        Submitted::No(why) if typist.has_typed() => {
            return Ok(PromptOutcome::NotSent(format!("{why}; the text may still be in its input: remove it there")));
        }
        Submitted::No(why) => return Ok(PromptOutcome::NotSent(why)),
    }
    if is_received(&log, ticket)? {
        typist.note_received();
        return Ok(PromptOutcome::Received);
    }
    typist.note_not_received();
    Ok(PromptOutcome::NotConfirmed)
}

/// Waits until the hook of a prompt has appended its line.
fn is_received(log: &ActivityLog, ticket: Ticket) -> Result<bool, Error> {
    let started = Instant::now();
    let receipt = |line: &LogLine| matches!(line, LogLine::Prompt { .. } | LogLine::Bookmark { .. });
    loop {
        if log.since(ticket)?.iter().any(receipt) {
            return Ok(true);
        }
        if started.elapsed() >= Duration::from_millis(RECEIPT_MS) {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
