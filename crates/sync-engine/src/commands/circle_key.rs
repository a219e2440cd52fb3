//! The key of the circle: reading it, printing it as words, as a picture and in a join code, and `longhaul sync
//! rotate`, which gives the circle a new one.
//!
//! A key that is to become the circle's is stored before the engine gets it: a circle whose key was lost could not be
//! used.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use longhaul_runtime::{bounded_read, files, sync};
use longhaul_sync::{CircleError, CircleHeader, CircleKey, JoinCode, NONCE_RANDOM};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

use super::{CommandError, Context};
use crate::exchange::unlock;
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

/// Gives the circle a new key. The new key opens the older ones; the older ones open nothing that is written from now on.
pub(super) fn rotate(context: &Context) -> Result<(), CommandError> {
    let own = context.store.sync_self()?.ok_or(ExchangeError::NoCircle)?;
    let _lock = context.lock()?;
    let mut engine = context.engine()?;
    let key = current(context, &mut *engine)?;
    let overview = engine.overview()?.ok_or_else(|| EngineError::NoCircle(engine.shown_address()))?;
    let ring = unlock(&overview, own.circle, &key)?;
    let epoch = overview.header.epoch + 1;
    // The server may still store the header of a rotation that was interrupted. With the same key, either is right.
    let new = match NextKey::read(context)? {
        Some(next) if next.epoch == epoch => next.key,
        _ => CircleKey::new(files::random()?),
    };
    let mut nonces = Vec::new();
    for _ in 0..=overview.header.epoch {
        nonces.push(files::random::<NONCE_RANDOM>()?);
    }
    let header = CircleHeader::rotated(&ring, &new, || nonces.pop().expect("one for each older key and the header"));
    // The key first, beside the present one: if this process is killed, the next exchange finds out which is right.
    NextKey { key: new.clone(), epoch }.write(context)?;
    match engine.replace_header(&header) {
        Err(error @ EngineError::NoPermission { .. }) => {
            remove_next_key(context)?;
            return Err(error.into());
        }
        replaced => replaced?,
    }
    sync::write_key_words(&context.env, &new.words())?;
    remove_next_key(context)?;
    let mut out = io::stdout().lock();
    writeln!(out, "The circle has a new key. No other machine can exchange until it has joined again.")?;
    if !context.config.sync.key_command.0.is_empty() {
        writeln!(out, "sync.key_command still prints the old key. Store these words there:\n\n  {}", new.words())?;
        return Ok(());
    }
    drop(out);
    print_invitation(context)
}

/// A key, and the epoch of the header that makes it the circle's.
pub(super) struct NextKey {
    pub(super) key: CircleKey,
    pub(super) epoch: u32,
}

/// What a header says about the next key.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    /// It is the key of the circle.
    IsCurrent,
    /// The engine may still store the header that makes it the key: a server goes on when its client has ended.
    MayCome,
    /// The circle has got another key instead.
    IsUseless,
}

impl NextKey {
    /// Reads the file; `None` if there is none, or it is damaged.
    pub(super) fn read(context: &Context) -> Result<Option<Self>, CommandError> {
        let text = bounded_read::text(&next_key_file(context)?, bounded_read::SMALL);
        Ok(text.ok().and_then(|text| Self::parse(&text)))
    }

    /// Returns the key of the words in the first line, for the epoch in the second.
    fn parse(text: &str) -> Option<Self> {
        let (words, epoch) = text.trim().split_once('\n').unwrap_or((text, "1"));
        Some(Self { key: CircleKey::from_words(words).ok()?, epoch: epoch.trim().parse().ok()? })
    }

    pub(super) fn write(&self, context: &Context) -> Result<(), CommandError> {
        Ok(files::replace(&next_key_file(context)?, format!("{}\n{}\n", self.key.words(), self.epoch).as_bytes())?)
    }

    fn fate(&self, header: &CircleHeader) -> Fate {
        match header.unlock(&self.key) {
            Err(CircleError::WrongKey) if header.epoch >= self.epoch => Fate::IsUseless,
            Err(CircleError::WrongKey) => Fate::MayCome,
            // The key is verified before the older keys are read.
            Ok(_) | Err(CircleError::Damaged) => Fate::IsCurrent,
            // Nothing is known about the key. The error is reported where the circle is opened.
            Err(CircleError::NewerSchema { .. } | CircleError::OlderKey { .. } | CircleError::OtherCircle) => {
                Fate::MayCome
            }
        }
    }

    /// Returns the key that opens a circle: this one if it has become the key, else `current`.
    ///
    /// Removes the file when it is not needed any more.
    pub(super) fn settle(
        self,
        context: &Context,
        header: &CircleHeader,
        current: CircleKey,
    ) -> Result<CircleKey, CommandError> {
        match self.fate(header) {
            Fate::MayCome => Ok(current),
            Fate::IsUseless => {
                remove_next_key(context)?;
                Ok(current)
            }
            Fate::IsCurrent => {
                // A command of the user may still print the older key: then this file is the only place of the newer one.
                if context.config.sync.key_command.0.is_empty() || current == self.key {
                    sync::write_key_words(&context.env, &self.key.words())?;
                    remove_next_key(context)?;
                }
                Ok(self.key)
            }
        }
    }
}

pub(super) fn remove_next_key(context: &Context) -> Result<(), CommandError> {
    let path = next_key_file(context)?;
    fs::remove_file(&path).map_err(|source| longhaul_runtime::Error::Write { path, source }.into())
}

fn next_key_file(context: &Context) -> Result<PathBuf, CommandError> {
    Ok(sync::key_file(&context.env)?.with_file_name("sync.key.next"))
}

#[cfg(test)]
mod tests {
    use longhaul_sync::{CircleHeader, CircleId, CircleKey};

    use super::{Fate, NextKey};

    #[test]
    fn a_key_is_kept_until_a_header_of_its_epoch_is_seen() {
        let [first, next, other] = [1, 2, 3].map(|byte| CircleKey::new([byte; 32]));
        let header = CircleHeader::new(CircleId::random([1; 16]), &first, &[2; 24]);
        let ring = header.unlock(&first).unwrap();
        let waiting = NextKey { key: next.clone(), epoch: 2 };
        assert_eq!(waiting.fate(&header), Fate::MayCome);
        assert_eq!(waiting.fate(&CircleHeader::rotated(&ring, &next, || [4; 24])), Fate::IsCurrent);
        assert_eq!(waiting.fate(&CircleHeader::rotated(&ring, &other, || [4; 24])), Fate::IsUseless);
        let read = NextKey::parse(&format!("{}\n2\n", next.words())).unwrap();
        assert!(read.key == next && read.epoch == 2);
        assert_eq!(NextKey::parse(&next.words()).unwrap().epoch, 1);
        assert!(NextKey::parse("not a key").is_none());
    }
}
