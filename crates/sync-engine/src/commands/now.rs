//! `longhaul sync now`: exchanges records, shows the progress, and prints how many were exchanged. `longhaul run-sync
//! exchange` does it detached, started by a hook; no process reads its output.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use longhaul_core::{Env, counted};
use longhaul_runtime::sync::{self, ExchangeState};
use longhaul_runtime::{ErrorLog, Home, leave_session, waiting_times};

use super::{CommandError, Context, circle_key};
use crate::exchange::{Exchanged, Progress, exchange};

/// Exchanges records and prints how many.
pub(super) fn run(context: &Context) -> Result<(), CommandError> {
    let _lock = context.lock()?;
    let exchanged = exchange_and_record(context, &mut shown_progress())?;
    print(&exchanged)?;
    if let Some(incomplete) = incomplete(context, &exchanged)? {
        writeln!(io::stdout().lock(), "{}", incomplete.replace(char::is_control, " "))?;
    }
    Ok(())
}

/// Exchanges records and records how that went. The caller holds the lock.
pub(super) fn exchange_and_record(
    context: &Context,
    progress: &mut dyn FnMut(Progress),
) -> Result<Exchanged, CommandError> {
    let state = ExchangeState::read(&context.home);
    let exchanged = attempt(context, progress);
    let now = longhaul_runtime::now(&context.env);
    let state = match &exchanged {
        Ok(exchanged) => {
            let remark = exchanged.remarks.last().cloned();
            let incomplete = incomplete(context, exchanged)?;
            state.succeeded(now, exchanged.sent, exchanged.fetched, remark).with_incomplete(incomplete)
        }
        Err(error) => state.failed(now, error.chain()),
    };
    // Not having a circle is no state of one.
    if sync::is_on(&context.home) {
        state.write(&context.home)?;
    }
    exchanged
}

/// Returns what could not be fetched, for the user; `None` if there is nothing.
fn incomplete(context: &Context, exchanged: &Exchanged) -> Result<Option<String>, CommandError> {
    let Some(first) = exchanged.incomplete.first() else { return Ok(None) };
    let hosts = context.store.sync_hosts()?;
    let name = hosts.iter().find(|host| host.host == first.host).map_or("host", |host| host.name.as_str());
    let others = match exchanged.incomplete.len() - 1 {
        0 => String::new(),
        others => format!(" (and records of {})", counted(others, "other machine")),
    };
    Ok(Some(format!(
        "record {} and later ones of @{name}{others} cannot be read: they have not arrived yet, or are damaged in the engine",
        first.after + 1
    )))
}

fn attempt(context: &Context, progress: &mut dyn FnMut(Progress)) -> Result<Exchanged, CommandError> {
    let mut engine = context.engine()?;
    let key = circle_key::current(context, &mut *engine)?;
    Ok(exchange(&mut *engine, &context.participant(&key), progress)?)
}

/// Returns what shows the progress of a long exchange on a terminal.
pub(super) fn shown_progress() -> impl FnMut(Progress) {
    let is_shown = io::stderr().is_terminal();
    move |progress| {
        if is_shown && progress.total > 0 {
            let end = if progress.fetched >= progress.total { "\n" } else { "" };
            let _ = write!(io::stderr(), "\rfetched {} of {} records{end}", progress.fetched, progress.total);
        }
    }
}

pub(super) fn print(exchanged: &Exchanged) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    let records = |number: u64| counted(usize::try_from(number).unwrap_or(usize::MAX), "record");
    writeln!(out, "sent {}, fetched {}", records(exchanged.sent), records(exchanged.fetched))?;
    if exchanged.forgotten > 0 {
        writeln!(out, "forgotten, because another machine has forgotten them: {}", exchanged.forgotten)?;
    }
    for remark in &exchanged.remarks {
        writeln!(out, "{remark}")?;
    }
    Ok(())
}

/// Exchanges records, unless the last exchanges have failed and the pause has not ended.
pub(super) fn run_detached(env: &Env) -> ExitCode {
    leave_session();
    let log = ErrorLog::new(env, "sync");
    match attempt_detached(env) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log.write(&error.chain());
            ExitCode::FAILURE
        }
    }
}

fn attempt_detached(env: &Env) -> Result<(), CommandError> {
    let home = Home::of(env)?;
    if !sync::is_on(&home) || !ExchangeState::read(&home).may_start(env.now) {
        return Ok(());
    }
    let mut context = Context::open(env)?;
    if !context.config.sync.enabled {
        return Ok(());
    }
    // An exchange that runs already may have missed what this one is for.
    context.lock_limit = waiting_times::OTHER_EXCHANGE_IN_BACKGROUND;
    let _lock = match context.lock() {
        Err(CommandError::Busy) => return Ok(()),
        lock => lock?,
    };
    exchange_and_record(&context, &mut |_| {}).map(drop)
}
