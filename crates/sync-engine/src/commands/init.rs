//! `longhaul sync init ADDRESS`: makes a circle and its key.

use std::io::{self, Write};

use longhaul_runtime::{files, sync};
use longhaul_sync::{CircleHeader, CircleId, CircleKey};

use super::context::Context;
use super::next_key::{self, NextKey};
use super::{CommandError, circle_key, first_exchange, now};
use crate::{Engine, EngineError};

/// Makes a circle: its key, and its tables or files.
pub(super) fn run(context: &Context, address: &str) -> Result<(), CommandError> {
    if context.store.sync_self()?.is_some() {
        return Err(CommandError::HasCircle);
    }
    let _lock = context.lock()?;
    let mut engine = context.connect(address)?;
    let key = CircleKey::new(files::random()?);
    let header = CircleHeader::new(CircleId::random(files::random()?), &key, &files::random()?);
    // The key first: a circle whose key was lost could not be used. It is stored beside one that may still be needed.
    let (circle, key, remarks) = match interrupted(context, &mut *engine)? {
        Some((circle, key)) => (circle, key, Vec::new()),
        None => {
            NextKey { key: key.clone(), epoch: header.epoch }.write(context)?;
            let created = engine.create(&header);
            let may_come = matches!(created, Err(EngineError::Unreachable { .. } | EngineError::TimedOut { .. }));
            if created.is_err() && !may_come {
                next_key::remove(context)?;
            }
            (header.circle, key, created?)
        }
    };
    sync::write_key_words(&context.env, &key.words())?;
    next_key::remove(context)?;
    first_exchange::become_member(context, circle, address)?;
    now::exchange_and_record(context, &mut |_| {})?;
    let mut out = io::stdout().lock();
    writeln!(out, "The circle is ready in {}.", engine.shown_address())?;
    for remark in remarks {
        writeln!(out, "{remark}")?;
    }
    writeln!(out, "Nothing is shared yet: run `longhaul sync share` in a project.")?;
    drop(out);
    circle_key::print_invitation(context)
}

/// Returns the circle that an interrupted call has made, with its key.
fn interrupted(context: &Context, engine: &mut dyn Engine) -> Result<Option<(CircleId, CircleKey)>, CommandError> {
    let beside = NextKey::read(context)?.map(|next| next.key);
    let stored = sync::key_words(&context.env, &context.config)?;
    let stored = stored.and_then(|secret| CircleKey::from_words(&secret.text).ok());
    let keys: Vec<CircleKey> = beside.into_iter().chain(stored).collect();
    if keys.is_empty() {
        return Ok(None);
    }
    let overview = match engine.overview() {
        // A folder that does not exist yet.
        Err(EngineError::Unreachable { .. }) | Ok(None) => return Ok(None),
        Ok(Some(overview)) => overview,
        Err(error) => return Err(error.into()),
    };
    let key = keys.into_iter().find(|key| overview.header.unlock(key).is_ok());
    if let Some(key) = &key {
        NextKey { key: key.clone(), epoch: overview.header.epoch }.write(context)?;
    }
    Ok(key.map(|key| (overview.header.circle, key)))
}
