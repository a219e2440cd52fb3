//! `longhaul sync init ADDRESS`, `join CODE` and `leave`: makes a circle and its key, joins a circle, or replaces its
//! address and key here, and leaves the circle, but keeps what was fetched.

use std::io::{self, Write};

use longhaul_runtime::{files, sync};
use longhaul_sync::{CircleHeader, CircleId, CircleKey, HostId, JoinCode};

use super::circle_key::{self, NextKey};
use super::{CommandError, Context, now};
use crate::exchange::unlock;
use crate::{Engine, EngineError};

/// Makes a circle: its key, and its tables or files.
pub(super) fn init(context: &Context, address: &str) -> Result<(), CommandError> {
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
                circle_key::remove_next_key(context)?;
            }
            (header.circle, key, created?)
        }
    };
    sync::write_key_words(&context.env, &key.words())?;
    circle_key::remove_next_key(context)?;
    become_member(context, circle, address)?;
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

/// Joins a circle, after engine and key were checked. On a member of the same circle, replaces address and key.
pub(super) fn join(context: &Context, code: &str, url: Option<&str>) -> Result<(), CommandError> {
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
    become_member(context, code.circle, address)?;
    let exchanged = now::exchange_and_record(context, &mut now::shown_progress())?;
    writeln!(io::stdout().lock(), "This machine has joined as @{}.", Context::name())?;
    now::print(&exchanged)?;
    let hint =
        "Run `longhaul sync projects` for what others share, and `longhaul sync share` in a project to share it here.";
    writeln!(io::stdout().lock(), "{hint}")?;
    Ok(())
}

/// Records the circle, and lets hooks start exchanges. A machine that is a member already keeps its id.
fn become_member(context: &Context, circle: CircleId, address: &str) -> Result<(), CommandError> {
    sync::write_address(&context.home, address)?;
    let host = HostId::random(files::random()?);
    let machine = sync::machine_id(&context.home);
    context.store.join_circle(circle, host, &Context::name(), &machine, longhaul_runtime::now(&context.env))?;
    Ok(sync::turn_on(&context.home)?)
}

/// Leaves the circle. What was fetched stays here, and the other machines keep what was sent.
///
/// If another exchange runs for too long, nothing is changed.
pub(super) fn leave(context: &Context) -> Result<(), CommandError> {
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
