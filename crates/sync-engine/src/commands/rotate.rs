//! `longhaul sync rotate`: gives the circle a new key.

use std::io::{self, Write};

use longhaul_runtime::{files, sync};
use longhaul_sync::{CircleHeader, CircleKey, NONCE_RANDOM};

use super::context::Context;
use super::next_key::{self, NextKey};
use super::{CommandError, circle_key};
use crate::exchange::unlock;
use crate::{EngineError, ExchangeError};

/// Gives the circle a new key. The new key opens the older ones; the older ones open nothing that is written from now on.
pub(super) fn run(context: &Context) -> Result<(), CommandError> {
    let own = context.store.sync_self()?.ok_or(ExchangeError::NoCircle)?;
    let _lock = context.lock()?;
    let mut engine = context.engine()?;
    let key = circle_key::current(context, &mut *engine)?;
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
            next_key::remove(context)?;
            return Err(error.into());
        }
        replaced => replaced?,
    }
    sync::write_key_words(&context.env, &new.words())?;
    next_key::remove(context)?;
    let mut out = io::stdout().lock();
    writeln!(out, "The circle has a new key. No other machine can exchange until it has joined again.")?;
    if !context.config.sync.key_command.0.is_empty() {
        writeln!(out, "sync.key_command still prints the old key. Store these words there:\n\n  {}", new.words())?;
        return Ok(());
    }
    drop(out);
    circle_key::print_invitation(context)
}
