//! Whether there is something for a model to do, now or soon: a worker that a hook has started ends when there is not.

use std::path::Path;
use std::time::Duration;

use longhaul_core::{Config, Env, Millis};
use longhaul_runtime::memory::is_excluded;
use longhaul_runtime::worker::ModelPause;
use longhaul_runtime::{Error, Home, model_budget, today};
use longhaul_store::Store;

use super::run::{pause, quiet_ms};

/// How far ahead it looks at least: a failure that is soon to be tried again is waited for.
const SOON: Duration = Duration::from_secs(3 * 60);

/// How far ahead it looks at most, however long sessions must rest.
const FAR: Duration = Duration::from_secs(60 * 60);

/// How much longer than a session's rest it looks ahead.
const SLACK: Duration = Duration::from_secs(10);

/// Returns how long something may be put off that the worker still waits for.
pub(super) fn horizon(config: &Config) -> Duration {
    (Duration::from_millis(quiet_ms(config)) + SLACK).clamp(SOON, FAR)
}

/// Returns whether a prompt is due, or will be within the horizon.
pub(super) fn is_due_soon(store: &Store, env: &Env, config: &Config) -> Result<bool, Error> {
    let may_ask = |project: &str| !is_excluded(&config.memory, env, Path::new(project));
    let latest = Millis(env.now.0.saturating_add(horizon(config).as_millis() as u64));
    Ok(store.next_model_time(quiet_ms(config), may_ask)?.is_some_and(|due| due <= latest))
}

/// Returns whether a worker that has just given up its place should be started again.
///
/// A hook that came in between has found the place taken and relies on the worker that was there.
pub(crate) fn is_work_waiting(home: &Home) -> Result<bool, Error> {
    let env = longhaul_runtime::env();
    let (config, _) = longhaul_runtime::config(&env)?;
    if !config.memory.enabled || !config.memory.model.enabled || ModelPause::in_force(home, env.now).is_some() {
        return Ok(false);
    }
    let Some(store) = home.existing_store()? else { return Ok(false) };
    let has_budget = store.model_spending(&today(env.now))?.total() < model_budget(&config);
    Ok(has_budget && is_due_soon(&store, &env, &config)?)
}

/// Notes that a worker that a hook has started could not run: hooks do not try it again at every turn.
pub(crate) fn note_failed_start(env: &Env) -> Result<(), Error> {
    let home = Home::of(env)?;
    let failures = ModelPause::read(&home).map_or(0, |pause| pause.failures);
    let reason = "the worker could not run";
    ModelPause::write(&home, env.now, pause(failures), failures.saturating_add(1), reason)
}
