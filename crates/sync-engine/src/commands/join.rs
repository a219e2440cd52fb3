//! `longhaul sync join CODE`: joins a circle, or replaces its address and key here.

use std::io::{self, Write};

use longhaul_runtime::sync;
use longhaul_sync::JoinCode;

use super::context::Context;
use super::{CommandError, first_exchange, now};
use crate::EngineError;
use crate::exchange::unlock;

/// Joins a circle, after engine and key were checked. On a member of the same circle, replaces address and key.
pub(super) fn run(context: &Context, code: &str, url: Option<&str>) -> Result<(), CommandError> {
    let code = JoinCode::from_text(code)?;
    if context.store.sync_self()?.is_some_and(|own| own.circle != code.circle) {
        return Err(CommandError::HasCircle);
    }
    let address = url.unwrap_or(&code.engine);
    let mut engine = context.connect(address)?;
    let overview = engine.overview()?.ok_or_else(|| EngineError::NoCircle(engine.shown_address()))?;
    unlock(&overview, code.circle, &code.key)?;
    let _lock = context.lock()?;
    sync::write_key_words(&context.env, &code.key.words())?;
    first_exchange::become_member(context, code.circle, address)?;
    let exchanged = now::exchange_and_record(context, &mut now::shown_progress())?;
    writeln!(io::stdout().lock(), "This machine has joined as @{}.", Context::name())?;
    now::print(&exchanged)?;
    let hint =
        "Run `longhaul sync projects` for what others share, and `longhaul sync share` in a project to share it here.";
    writeln!(io::stdout().lock(), "{hint}")?;
    Ok(())
}
