//! The key of the circle: reading it, and printing it as words, as a picture and in a join code.

use std::io::{self, Write};

use longhaul_runtime::sync;
use longhaul_sync::{CircleKey, JoinCode};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

use super::CommandError;
use super::context::Context;
use super::next_key::NextKey;
use crate::{Engine, EngineError, ExchangeError, without_password};

/// How another machine joins. Arguments of commands are in the list of processes and in the history of the shell.
const HOW_TO_JOIN: &str = "On another machine, run `longhaul sync join -` and paste this code:";

/// Returns the key of the circle.
///
/// A rotation that was interrupted has left the new key in a file beside: if the circle has that key by now, it is the key.
pub(super) fn current(context: &Context, engine: &mut dyn Engine) -> Result<CircleKey, CommandError> {
    let key = context.key()?;
    let Some(next) = NextKey::read(context)? else { return Ok(key) };
    let overview = engine.overview()?.ok_or_else(|| EngineError::NoCircle(engine.shown_address()))?;
    next.settle(context, &overview.header, key)
}

/// `longhaul sync key`.
pub(super) fn print_words(context: &Context) -> Result<(), CommandError> {
    let words = context.key()?.words();
    let mut out = io::stdout().lock();
    for (number, line) in words.split(' ').collect::<Vec<_>>().chunks(6).enumerate() {
        writeln!(out, "{:>2}  {}", number * 6 + 1, line.join(" "))?;
    }
    Ok(())
}

/// `longhaul sync key --qr`.
pub(super) fn print_picture(context: &Context) -> Result<(), CommandError> {
    let words = context.key()?.words();
    let code = QrCode::new(words.as_bytes()).expect("24 words fit into a QR code");
    let picture = code.render::<Dense1x2>().quiet_zone(true).build();
    writeln!(io::stdout().lock(), "{picture}")?;
    Ok(())
}

/// `longhaul sync code`.
pub(super) fn print_code(context: &Context, has_password: bool) -> Result<(), CommandError> {
    let code = join_code(context, has_password)?;
    // Only the code: `longhaul sync code | ssh HOST longhaul sync join -`.
    writeln!(io::stdout().lock(), "{}", code.to_text())?;
    let _ = writeln!(io::stderr(), "{HOW_TO_JOIN}");
    Ok(())
}

/// Prints what another machine has to type.
pub(super) fn print_invitation(context: &Context) -> Result<(), CommandError> {
    let code = join_code(context, true)?;
    let mut out = io::stdout().lock();
    writeln!(out, "\n{HOW_TO_JOIN}\n\n  {}\n", code.to_text())?;
    let password = if without_password(&code.engine) == code.engine { "" } else { " and the password of the database" };
    writeln!(out, "The code contains the key{password}: whoever has it can read the memory.")?;
    writeln!(out, "`longhaul sync code` prints it again, `longhaul sync key` prints the key as words.")?;
    Ok(())
}

/// Returns what another machine needs to join.
pub(super) fn join_code(context: &Context, has_password: bool) -> Result<JoinCode, CommandError> {
    let own = context.store.sync_self()?.ok_or(ExchangeError::NoCircle)?;
    let address = sync::engine_address(&context.home, &context.config)?.ok_or(ExchangeError::NoCircle)?;
    let engine = if has_password { address.text } else { without_password(&address.text) };
    Ok(JoinCode { circle: own.circle, key: context.key()?, engine })
}
