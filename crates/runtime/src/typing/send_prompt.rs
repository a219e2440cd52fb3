//! Sends a prompt to a session that runs in another terminal, and waits until Claude Code has received it.

use std::time::{Duration, Instant};

use longhaul_activity_log::{LogLine, RECEIPT_MS};
use longhaul_core::{Env, SessionId};
use longhaul_handoff::continuation::texts::PROMPT;
use longhaul_inject::{Terminal, TypeWhen, TypingDecision, UnsafeScreen, WaitReason};

use crate::typing::{Order, Submitted, Typist, shows_another_session, submit_patiently};
use crate::{ActivityLog, Error, Home, SessionRecord, Ticket, client_records, clock_and_env, tracker};

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
    text: &str,
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
        agents_run: tracker::any_subagent_runs(home, &session),
        session,
        terminal,
        client_pid: record.client_pid,
        text: text.to_owned(),
        want: TypeWhen::Idle,
        // A chord answers no dialog, so that it may also be pressed during a turn.
        want_by_chord: Some(TypeWhen::Either),
        agents_may_ask: true,
        patience,
        deadline: None,
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

// Continues a session in a new one at the user's request: `/clear`, and a prompt.
//
// The new session is shown what the old one did, because the hook of SessionEnd has written a baton for it.

/// Interval at which the new session is looked for.
const RESUMED_LOOK_EVERY: Duration = Duration::from_millis(50);

/// The command that ends the session and starts a new one in the same client.
const CLEAR: &str = "/clear";

/// The result of continuing a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContinueOutcome {
    /// The session with this id has received the prompt.
    Continued(String),
    /// The session was not cleared. With the reason.
    NotCleared(String),
    /// The session was cleared, but the new one has not received the prompt. With the reason.
    NotPrompted(String),
}

/// Clears a session when it is idle, and sends the prompt of a continuation to the new session in its place.
///
/// Waits for at most `patience` until the session is idle, and for at most `step` until the new one has started.
pub fn continue_session(
    env: &Env,
    home: &Home,
    record: &SessionRecord,
    (patience, step): (Duration, Duration),
    waits: &dyn Fn(&str),
) -> Result<ContinueOutcome, Error> {
    let Some((session, terminal)) = SessionId::new(&record.session).zip(record.terminal.clone()) else {
        let why = record.no_terminal.as_deref().unwrap_or("its terminal is not known");
        return Ok(ContinueOutcome::NotCleared(why.to_owned()));
    };
    let order = Order {
        session,
        terminal,
        client_pid: record.client_pid,
        text: CLEAR.to_owned(),
        want: TypeWhen::Idle,
        want_by_chord: None,
        agents_may_ask: true,
        agents_run: false,
        patience,
        deadline: None,
    };
    if let Some(why) = clear(env, home, &order, waits)? {
        return Ok(ContinueOutcome::NotCleared(why));
    }
    let Some(new) = new_session(env, home, &order, step) else {
        return Ok(ContinueOutcome::NotCleared("/clear was typed, but no new session has started".to_owned()));
    };
    let env = clock_and_env::env();
    Ok(match send_prompt(&env, home, &new, PROMPT, step, waits)? {
        PromptOutcome::Received => ContinueOutcome::Continued(new.session),
        PromptOutcome::NotSent(why) => ContinueOutcome::NotPrompted(why),
        PromptOutcome::NotConfirmed => ContinueOutcome::NotPrompted("Claude Code has not confirmed it".to_owned()),
    })
}

/// Types `/clear` and submits it. Returns the reason if that was not possible.
fn clear(env: &Env, home: &Home, order: &Order, waits: &dyn Fn(&str)) -> Result<Option<String>, Error> {
    if order.client_pid.is_some_and(|pid| client_records::is_headless(env, pid)) {
        return Ok(Some("Claude Code runs headless there".to_owned()));
    }
    let typist = Typist::new(env, home, order);
    match typist.decide() {
        Ok(TypingDecision::Wait(reason @ (WaitReason::ClientWaiting | WaitReason::Unsafe(UnsafeScreen::Dialog)))) => {
            return Ok(Some(format!("{reason}: answer it first")));
        }
        Ok(TypingDecision::Wait(reason)) => waits(&reason.to_string()),
        Ok(TypingDecision::Stash { .. } | TypingDecision::Type | TypingDecision::TypedAlready) => {}
        Err(problem) => return Ok(Some(problem)),
    }
    Ok(match submit_patiently(&typist, &|| Ok(shows_another_session(env, home, order)))? {
        Submitted::Yes => {
            typist.note_none_left();
            None
        }
        Submitted::Superseded => Some("its terminal shows another session now".to_owned()),
        Submitted::No(why) => Some(why),
    })
}

/// Waits for the session that has replaced the one of `order` in its terminal.
fn new_session(env: &Env, home: &Home, order: &Order, limit: Duration) -> Option<SessionRecord> {
    let started = Instant::now();
    let is_here = |terminal: &Option<Terminal>| terminal.as_ref() == Some(&order.terminal);
    while started.elapsed() < limit {
        let newest = SessionRecord::all(home).into_iter().find(|record| is_here(&record.terminal));
        // The client writes the session that it shows a moment after it has started it.
        let new =
            newest.filter(|record| record.session != order.session.as_str() && shows_another_session(env, home, order));
        if new.is_some() {
            return new;
        }
        std::thread::sleep(RESUMED_LOOK_EVERY);
    }
    None
}
