//! `longhaul sync now`.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use longhaul_core::counted;
use longhaul_runtime::sync::{self, ExchangeState};

use super::context::Context;
use super::{CommandError, circle_key};
use crate::exchange::{Exchanged, Progress, exchange};

/// How long an exchange that a hook has started may take.
const OTHER_EXCHANGE: Duration = Duration::from_secs(120);

/// Exchanges records and prints how many.
pub(super) fn run(context: &Context) -> Result<(), CommandError> {
    let Some(_lock) = context.lock(OTHER_EXCHANGE)? else { return Err(CommandError::Busy) };
    let exchanged = exchange_and_record(context, &mut shown_progress())?;
    print(&exchanged)
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
            state.succeeded(now, exchanged.sent, exchanged.fetched, remark)
        }
        Err(error) => state.failed(now, error.chain()),
    };
    // Not having a circle is no state of one.
    if sync::is_on(&context.home) {
        state.write(&context.home)?;
    }
    exchanged
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

/// Prints what an exchange has done.
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
