//! The key of the circle: reading it, and printing it as words, as a picture and in a join code.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use longhaul_runtime::{bounded_read, sync};
use longhaul_sync::{CircleError, CircleKey, JoinCode};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

use super::CommandError;
use super::context::Context;
use crate::{Engine, EngineError, ExchangeError, without_password};

/// Returns the key of the circle.
///
/// A rotation that was interrupted has left the new key in a file beside: if the circle has that key by now, it is the key.
pub(super) fn current(context: &Context, engine: &mut dyn Engine) -> Result<CircleKey, CommandError> {
    let key = context.key()?;
    let path = next_key_file(context)?;
    let Ok(words) = bounded_read::text(&path, bounded_read::SMALL) else { return Ok(key) };
    let overview = engine.overview()?.ok_or_else(|| EngineError::NoCircle(engine.shown_address()))?;
    let next = CircleKey::from_words(&words).ok().filter(|next| overview.header.unlock(next).is_ok());
    let is_replaced = overview.header.unlock(&key) == Err(CircleError::WrongKey);
    match next {
        Some(next) if is_replaced => {
            sync::write_key_words(&context.env, &next.words())?;
            remove(path)?;
            Ok(next)
        }
        // The rotation was not done.
        Some(_) | None => {
            remove(path)?;
            Ok(key)
        }
    }
}

/// Returns the file of a key that is to become the circle's.
pub(super) fn next_key_file(context: &Context) -> Result<PathBuf, CommandError> {
    Ok(sync::key_file(&context.env)?.with_file_name("sync.key.next"))
}

/// Removes a file.
pub(super) fn remove(path: PathBuf) -> Result<(), CommandError> {
    fs::remove_file(&path).map_err(|source| longhaul_runtime::Error::Write { path, source }.into())
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
    writeln!(io::stdout().lock(), "longhaul sync join {}", code.to_text())?;
    Ok(())
}

/// Prints what another machine has to type.
pub(super) fn print_invitation(context: &Context) -> Result<(), CommandError> {
    let code = join_code(context, true)?;
    let mut out = io::stdout().lock();
    writeln!(out, "\nOn another machine, run:\n\n  longhaul sync join {}\n", code.to_text())?;
    let password = if without_password(&code.engine) == code.engine { "" } else { " and the password of the database" };
    writeln!(out, "The code contains the key{password}: whoever has it can read the memory.")?;
    writeln!(out, "`longhaul sync code` prints it again, `longhaul sync key` prints the key as words.")?;
    Ok(())
}

fn join_code(context: &Context, has_password: bool) -> Result<JoinCode, CommandError> {
    let own = context.store.sync_self()?.ok_or(ExchangeError::NoCircle)?;
    let address = sync::engine_address(&context.home, &context.config)?.ok_or(ExchangeError::NoCircle)?;
    let engine = if has_password { address.text } else { without_password(&address.text) };
    Ok(JoinCode { circle: own.circle, key: context.key()?, engine })
}
