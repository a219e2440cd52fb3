//! Checks the exchange with other machines.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use longhaul_core::Env;
use longhaul_runtime::sync::{self, ExchangeState};

use super::Finding;
use super::facts::Facts;
use super::judge::ago;
use crate::paths::InstallPaths;

/// The facts about the exchange.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncFacts {
    /// Whether this machine has a circle.
    pub is_on: bool,
    /// Whether exchanges start by themselves.
    pub is_automatic: bool,
    /// How the last exchange went.
    pub state: ExchangeState,
    /// The file of the key, if it is needed and does not exist.
    pub missing_key: Option<PathBuf>,
    /// The file of the key, if other users may read it.
    pub open_key: Option<PathBuf>,
}

impl SyncFacts {
    /// Collects the facts.
    pub(super) fn collect(env: &Env, paths: &InstallPaths) -> Self {
        if !sync::is_on(&paths.data) {
            return Self::default();
        }
        let config = longhaul_runtime::config(env).map(|(config, _)| config).unwrap_or_default();
        let state = ExchangeState::read(&paths.data);
        let mut facts = Self { is_on: true, is_automatic: config.sync.enabled, state, ..Self::default() };
        if config.sync.key_command.0.is_empty()
            && let Ok(file) = sync::key_file(env)
        {
            match std::fs::metadata(&file) {
                Err(_) => facts.missing_key = Some(file),
                Ok(found) if found.permissions().mode() & 0o077 != 0 => facts.open_key = Some(file),
                Ok(_) => {}
            }
        }
        facts
    }
}

/// Checks the exchange.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let check = "sync";
    let sync = &facts.sync;
    if !sync.is_on {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(file) = &sync.missing_key {
        let fix = "`longhaul sync join -` stores it again; `longhaul sync code` on another machine prints the code";
        found.push(Finding::broken(check, format!("the key is missing: {}", file.display()), fix));
    }
    if let Some(file) = &sync.open_key {
        let fix = format!("`chmod 600 {}`", file.display());
        found.push(Finding::warning(check, format!("other users may read the key: {}", file.display()), fix));
    }
    if let Some(error) = &sync.state.error {
        let at = sync.state.at.map_or_else(|| "once".to_owned(), |at| ago(facts.now, at));
        let what = format!("the last exchange failed, {at}: {error}");
        found.push(Finding::warning(
            check,
            what,
            "`longhaul sync now` tries it again, `longhaul sync status` shows more",
        ));
    }
    if let Some(incomplete) = &sync.state.incomplete {
        let fix = "wait until everything is copied; of a folder, delete the damaged file: its machine sends it again";
        found.push(Finding::warning(check, incomplete.clone(), fix));
    }
    if found.is_empty() {
        let last = sync.state.succeeded_at.map_or_else(|| "never".to_owned(), |at| ago(facts.now, at));
        let automatic = if sync.is_automatic { "" } else { "; not automatic: sync.enabled is false" };
        found.push(Finding::ok(check, format!("last exchange: {last}{automatic}")));
    }
    found
}
