//! Whether there is something for a model to do, now or soon. If not, a worker that a hook has started exits.

use std::path::Path;
use std::time::Duration;

use longhaul_core::{Config, Env, Millis};
use longhaul_runtime::memory::is_excluded;
use longhaul_runtime::worker::ModelPause;
use longhaul_runtime::{Error, Home, model_budget, today};
use longhaul_store::Store;

use super::run::{pause, quiet_ms};

/// The minimum horizon: a failed request that is repeated within this time is waited for.
const MIN_HORIZON: Duration = Duration::from_secs(3 * 60);

/// The maximum horizon, however long sessions must be idle.
const MAX_HORIZON: Duration = Duration::from_secs(60 * 60);

/// How much longer the horizon is than the idle time of a session.
const AFTER_IDLE: Duration = Duration::from_secs(10);

/// Returns the horizon: how long the worker waits for work that is not due yet.
pub(super) fn horizon(config: &Config) -> Duration {
    (Duration::from_millis(quiet_ms(config)) + AFTER_IDLE).clamp(MIN_HORIZON, MAX_HORIZON)
}

/// Returns whether a prompt is due, or will be within the horizon.
pub(super) fn is_due_soon(store: &Store, env: &Env, config: &Config) -> Result<bool, Error> {
    let may_ask = |project: &str| !is_excluded(&config.memory, env, Path::new(project));
    let latest = Millis(env.now.0.saturating_add(horizon(config).as_millis() as u64));
    Ok(store.next_model_time(quiet_ms(config), may_ask)?.is_some_and(|due| due <= latest))
}

/// Returns whether a worker that has just released its lock should be started again.
///
/// A hook that ran before the release found the lock taken and relied on the worker.
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

/// Records that a worker that a hook has started could not run, so that hooks do not start it at every turn.
pub(crate) fn note_failed_start(env: &Env) -> Result<(), Error> {
    let home = Home::of(env)?;
    let failures = ModelPause::read(&home).map_or(0, |pause| pause.failures);
    let reason = "the worker could not run";
    ModelPause::write(&home, env.now, pause(failures), failures.saturating_add(1), reason)
}
