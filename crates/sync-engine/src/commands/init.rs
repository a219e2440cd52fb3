//! `longhaul sync init ADDRESS`.

use std::io::{self, Write};

use longhaul_runtime::{files, sync};
use longhaul_sync::{CircleHeader, CircleId, CircleKey};

use super::context::Context;
use super::{CommandError, circle_key, first_exchange, now};
use crate::{Engine, EngineError};

/// Makes a circle: its key, and its tables or files.
pub(super) fn run(context: &Context, address: &str) -> Result<(), CommandError> {
    if context.store.sync_self()?.is_some() {
        return Err(CommandError::HasCircle);
    }
    let mut engine = context.connect(address)?;
    let key = CircleKey::new(files::random()?);
    let header = CircleHeader::new(CircleId::random(files::random()?), &key, &files::random()?);
    // The key first: a circle whose key was lost could not be used. It is stored beside one that may still be needed.
    let path = circle_key::next_key_file(context)?;
    let (circle, key, remarks) = match interrupted(context, &mut *engine, &path)? {
        Some((circle, key)) => (circle, key, Vec::new()),
        None => {
            files::replace(&path, key.words().as_bytes())?;
            let created = engine.create(&header);
            if created.is_err() {
                circle_key::remove(path.clone())?;
            }
            (header.circle, key, created?)
        }
    };
    sync::write_key_words(&context.env, &key.words())?;
    circle_key::remove(path)?;
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
fn interrupted(
    context: &Context,
    engine: &mut dyn Engine,
    path: &std::path::Path,
) -> Result<Option<(CircleId, CircleKey)>, CommandError> {
    let beside = longhaul_runtime::bounded_read::text(path, longhaul_runtime::bounded_read::SMALL).ok();
    let stored = sync::key_words(&context.env, &context.config)?.map(|secret| secret.text);
    let keys: Vec<CircleKey> =
        beside.iter().chain(&stored).filter_map(|words| CircleKey::from_words(words).ok()).collect();
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
        files::replace(path, key.words().as_bytes())?;
    }
    Ok(key.map(|key| (overview.header.circle, key)))
}
