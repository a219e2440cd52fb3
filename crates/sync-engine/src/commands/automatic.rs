//! `longhaul run-sync exchange`: started by a hook and detached. No process reads its output.

use std::process::ExitCode;

use longhaul_core::Env;
use longhaul_runtime::sync::{self, ExchangeState};
use longhaul_runtime::{ErrorLog, Home, leave_session, waiting_times};

use super::CommandError;
use super::context::Context;
use super::now::exchange_and_record;

/// Exchanges records, unless the last exchanges have failed and the pause has not ended.
pub(super) fn run(env: &Env) -> ExitCode {
    leave_session();
    let log = ErrorLog::new(env, "sync");
    match attempt(env) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log.write(&error.chain());
            ExitCode::FAILURE
        }
    }
}

fn attempt(env: &Env) -> Result<(), CommandError> {
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
