//! `longhaul sync leave`: leaves the circle, and keeps what was fetched.

use std::io::{self, Write};

use longhaul_runtime::sync;

use super::CommandError;
use super::context::Context;

/// Leaves the circle. What was fetched stays here, and the other machines keep what was sent.
///
/// If another exchange runs for too long, nothing is changed.
pub(super) fn run(context: &Context) -> Result<(), CommandError> {
    let own = context.store.sync_self()?.ok_or(crate::ExchangeError::NoCircle)?;
    let _lock = context.lock()?;
    // Hooks start no exchange from here on.
    sync::turn_off(&context.home)?;
    // Leaving works without the engine, too. The others then see an old last sight.
    let removed = context.engine().and_then(|mut engine| Ok(engine.remove_host(own.host)?));
    context.store.leave_circle()?;
    sync::remove_secrets(&context.env, &context.home)?;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "This machine has left the circle. It keeps what it has fetched, and the other machines keep what it has sent."
    )?;
    if let Err(error) = removed {
        writeln!(out, "The others still list it: {}", error.chain())?;
    }
    writeln!(out, "It knew the key: run `longhaul sync rotate` on another machine if it must not read new records.")?;
    Ok(())
}
