//! The detached process that types a text when Claude Code can receive it.
//!
//! This module reads the arguments, and leaves a compaction to the bridge if there is one. `typing::inject` types and
//! retries; the step of a continuation is delivered by `continuation::deliver`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use longhaul_activity_log::RECEIPT_MS;
use longhaul_core::{Env, SessionId};
use longhaul_inject::{Terminal, TypeWhen};
use longhaul_store::ChainId;

use crate::{
    ActivityLog, Error, ErrorLog, Home, Order, Outcome, Receipt, SessionRecord, Ticket, clock_and_env, codex,
    continuation, home, inject, process, waiting_times,
};

/// Interval at which the database is checked for the errand.
const LOOK_EVERY: Duration = Duration::from_millis(50);

longhaul_core::named! {
    /// When the text is to be typed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum When {
        /// When Claude Code is idle.
        Idle = "idle",
        /// During the running turn if the submit key cannot answer a dialog; otherwise when Claude Code is idle.
        Soon = "soon",
    }
}

/// Runs with the arguments of a hook: session, kind of text, when, ticket, text; or session, `continuation`, chain.
///
/// No process reads its output, so errors are written to the error log.
pub fn run(args: impl Iterator<Item = String>) -> ExitCode {
    process::leave_session();
    let env = clock_and_env::env();
    let log = ErrorLog::new(&env, "injector");
    let args: Vec<String> = args.collect();
    if let [session, kind, chain] = args.as_slice()
        && kind == continuation::KIND
        && let Ok(chain) = chain.parse()
    {
        return ended(&log, session, continuation::deliver(&env, &log, ChainId(chain)).map(|()| None));
    }
    if let [session, kind, place @ ..] = args.as_slice()
        && kind == codex::CONTINUATION_KIND
        && let Some(session) = SessionId::new(session)
    {
        return ended(&log, session.as_str(), codex::deliver_continuation(&env, &log, &session, place).map(|()| None));
    }
    let Some((session, receipt, when, ticket, text)) = parse(&args) else {
        let usage = "usage: longhaul run-injector SESSION bookmark|compaction idle|soon TICKET TEXT, or SESSION continuation CHAIN";
        log.write(usage);
        return ExitCode::from(2);
    };
    let typed = type_it(&env, &session, receipt, when, ticket, text).map(|outcome| match outcome {
        Outcome::Confirmed | Outcome::Superseded | Outcome::AnotherSession => None,
        Outcome::GaveUp(why) => Some(format!("{text:?} not typed: {why}")),
    });
    ended(&log, session.as_str(), typed)
}

/// Writes to the log why the text was not delivered, if it was not.
fn ended(log: &ErrorLog, session: &str, problem: Result<Option<String>, Error>) -> ExitCode {
    let Some(problem) = problem.unwrap_or_else(|error| Some(error.chain())) else { return ExitCode::SUCCESS };
    log.write(&format!("session {session}: {problem}"));
    ExitCode::FAILURE
}

fn parse(args: &[String]) -> Option<(SessionId, Receipt, When, Ticket, &str)> {
    let [session, kind, when, ticket, text] = args else { return None };
    let receipt = Receipt::from_name(kind)?;
    let when = When::from_name(when)?;
    Some((SessionId::new(session)?, receipt, when, Ticket(ticket.parse().ok()?), text))
}

fn type_it(
    env: &Env,
    session: &SessionId,
    receipt: Receipt,
    when: When,
    ticket: Ticket,
    text: &str,
) -> Result<Outcome, Error> {
    let home = Home::of(env)?;
    let (config, _) = home::config(env)?;
    let record = SessionRecord::load(&home, session);
    let client_pid = env.client_pid.or(record.as_ref().and_then(|record| record.client_pid));
    let terminal = record.and_then(|record| record.terminal).or_else(|| Terminal::detect(env).ok());
    if receipt == Receipt::Compaction
        && let Some(outcome) = leave_to_bridge(&home, session, client_pid, ticket, config.inject.patience())?
    {
        return Ok(outcome);
    }
    let Some(terminal) = terminal else { return Ok(Outcome::GaveUp("no terminal to type into".to_owned())) };
    let order = Order {
        session: session.clone(),
        terminal,
        client_pid,
        text: text.to_owned(),
        want: TypeWhen::Idle,
        want_by_chord: (when == When::Soon).then_some(TypeWhen::Either),
        agents_may_ask: false,
        agents_run: false,
        patience: config.inject.patience(),
        deadline: None,
    };
    inject(env, &home, &ActivityLog::open(&home, session)?, &order, receipt, ticket)
}

/// Waits until the bridge has taken the errand that was left for it, and Claude Code has confirmed it.
///
/// Returns `None` if there is no bridge, or if it does not take the errand in time. The errand is then withdrawn, and
/// the text may be typed.
fn leave_to_bridge(
    home: &Home,
    session: &SessionId,
    client_pid: Option<u32>,
    ticket: Ticket,
    patience: Duration,
) -> Result<Option<Outcome>, Error> {
    let Some(client_pid) = client_pid else { return Ok(None) };
    let store = home.store(waiting_times::DATABASE)?;
    if store.bridge(client_pid)?.is_none() {
        return Ok(None);
    }
    let log = ActivityLog::open(home, session)?;
    let is_done = || -> Result<bool, Error> { Ok(log.since(ticket)?.iter().any(|line| Receipt::Compaction.is(line))) };
    let started = Instant::now();
    while store.has_errand(client_pid)? {
        if started.elapsed() >= patience && store.take_errand(client_pid)?.is_some() {
            return Ok(None);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    if store.bridge(client_pid)?.is_none() {
        // The bridge is gone, and its errand with it.
        return Ok(None);
    }
    let taken = Instant::now();
    while taken.elapsed() < Duration::from_millis(RECEIPT_MS) {
        if is_done()? {
            return Ok(Some(Outcome::Confirmed));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(Some(Outcome::GaveUp("the bridge took the errand to compact, but Claude Code did not compact".to_owned())))
}
