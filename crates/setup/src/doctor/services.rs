//! Checks of what Longhaul calls: the model, embeddings, notifications, sync, and the worker.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use longhaul_core::config::{Choice, NotifyWay, Via};
use longhaul_core::{Env, Millis, counted};
use longhaul_notifications::{Missing, missing};
use longhaul_runtime::ModelAccess;
use longhaul_runtime::memory::meaning::{EndpointState, ModelsState};
use longhaul_runtime::sync::{self, ExchangeState};
use longhaul_runtime::waiting_times::{self, DATABASE_FOR_DOCTOR};
use longhaul_runtime::worker::ModelPause;
use longhaul_store::{NotifyResult, Store, VectorStats, last_notifications_of};

use super::facts::{BridgeFacts, Facts, Worker};
use super::{Finding, ago};
use crate::claude_command::BRIDGE_SINCE;
use crate::current_state::{InstallMode, InstallPaths};

/// The facts about the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// How it is called.
    pub via: Via,
    /// Whether this environment has a key for the API.
    pub has_key: bool,
    /// Whether `claude` is on the path.
    pub has_client: bool,
    /// Until when hooks do not start the worker.
    pub pause: Option<ModelPause>,
    /// The last error, if no request has succeeded since.
    pub trouble: Option<String>,
}

impl ModelFacts {
    /// Collects the facts; `None` if no model is enabled.
    pub(super) fn collect(env: &Env, paths: &InstallPaths, client: Option<&Path>) -> Option<Self> {
        let (config, _) = longhaul_runtime::config(env).ok()?;
        let via = config.memory.summarizer()?.via;
        let store = Store::open_to_read(&paths.data.database(), waiting_times::DATABASE_FOR_DOCTOR).ok();
        let trouble = store.and_then(|store| store.model_trouble().ok().flatten());
        Some(Self {
            via,
            has_key: ModelAccess::read().api_key.is_some(),
            has_client: client.is_some(),
            pause: ModelPause::in_force(&paths.data, env.now),
            trouble: trouble.map(|trouble| trouble.error),
        })
    }
}

/// Checks the model.
pub(super) fn model(facts: &Facts) -> Vec<Finding> {
    let check = "model";
    let Some(model) = &facts.model else { return Vec::new() };
    let cannot_ask = match model.via {
        Via::Api if !model.has_key => Some((
            "ANTHROPIC_API_KEY is not set here; hooks have the same environment as Claude Code",
            "set it before you start Claude Code, or set memory.model.via to \"claude\"",
        )),
        Via::Claude if !model.has_client => {
            Some(("`claude` is not on the PATH", "install Claude Code, or set CLAUDE_BIN"))
        }
        Via::Api | Via::Claude => None,
    };
    if let Some((what, fix)) = cannot_ask {
        return vec![Finding::warning(check, what, fix)];
    }
    let last = model.trouble.as_ref().map_or_else(String::new, |error| format!("; last error: {error}"));
    if let Some(pause) = &model.pause {
        let minutes = pause.until.saturating_sub(facts.now).div_ceil(60_000);
        let what = format!("hooks do not start the worker for another {minutes} min: {}{last}", pause.reason);
        return vec![Finding::warning(check, what, "`longhaul worker start` tries again now; see longhaul.log")];
    }
    if model.trouble.is_some() {
        return vec![Finding::warning(check, format!("the last request failed{last}"), "see longhaul.log")];
    }
    vec![Finding::ok(check, "hooks start the worker when there are records for the model")]
}

/// Returns the facts; `None` if there is no model, or it is switched off.
pub(super) fn collect(env: &Env, paths: &InstallPaths) -> Option<ModelsState> {
    let (config, _) = longhaul_runtime::config(env).ok()?;
    ModelsState::read(env, &paths.data, &config)
}

/// Returns how many vectors the memory has.
pub(super) fn vectors(paths: &InstallPaths) -> Vec<VectorStats> {
    let store = Store::open_to_read(&paths.data.database(), waiting_times::DATABASE_FOR_DOCTOR).ok();
    store.and_then(|store| store.vector_stats().ok()).unwrap_or_default()
}

/// Says for how many records a model has computed vectors.
fn progress(facts: &Facts, model: &str) -> String {
    match facts.vectors.iter().find(|vectors| vectors.model == model) {
        Some(VectorStats { looked_at, records, .. }) if looked_at < records => format!(
            "; {looked_at} of {records} records have vectors: searches compute the rest, and `longhaul memory upkeep` does so now"
        ),
        Some(VectorStats { records, .. }) => format!("; all {records} records have vectors"),
        None => "; no record has vectors yet: the first search computes them".to_owned(),
    }
}

/// Checks the models.
pub(super) fn embeddings(facts: &Facts) -> Vec<Finding> {
    let check = "embeddings";
    let Some(models) = &facts.embeddings else { return Vec::new() };
    let mut found = Vec::new();
    match &models.file {
        Some(Ok(id)) => {
            found.push(Finding::ok(check, format!("the search by meaning uses the model {id}{}", progress(facts, id))))
        }
        Some(Err(why)) => {
            let fix = "run `longhaul install` again, or correct memory.embeddings; until then, only words are compared";
            found.push(Finding::warning(check, why.clone(), fix));
        }
        None if models.endpoint.is_none() => {
            let what = "there is no model beside this executable, so a search compares words only; every bundle has one: \
                        `longhaul install`";
            found.push(Finding::note(check, what));
        }
        None => {}
    }
    if let Some(endpoint) = &models.endpoint {
        found.push(of_endpoint(check, facts, endpoint));
    }
    found
}

fn of_endpoint(check: &'static str, facts: &Facts, endpoint: &EndpointState) -> Finding {
    let model = &endpoint.model;
    if let Some(trouble) = &endpoint.trouble {
        let when = ago(facts.now, trouble.at);
        let times = counted(trouble.failures as usize, "time");
        let what = format!("the endpoint failed {when}, {times} in a row: {}", trouble.error);
        let fix = "check memory.embeddings; the worker tries again by itself";
        return Finding::warning(check, what, fix);
    }
    if facts.worker == Worker::Off {
        let what =
            format!("only the worker calls the endpoint ({model}), and it does not run: `longhaul worker start`");
        return Finding::note(check, what);
    }
    Finding::ok(check, format!("the worker calls the endpoint ({model})"))
}

/// The facts about notifications.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotifyFacts {
    /// The ways that the configuration names.
    pub ways: Vec<NotifyWay>,
    /// What is missing for them.
    pub missing: Vec<Missing>,
    /// Whether the tracker is switched off, which notices the changes of sessions.
    pub is_tracker_off: bool,
    /// The last notification by a way, if it has failed: when, and why.
    pub failures: Vec<(NotifyWay, Millis, String)>,
}

impl NotifyFacts {
    /// Collects the facts.
    pub(super) fn collect(env: &Env, paths: &InstallPaths) -> Self {
        let Ok((config, _)) = longhaul_runtime::config(env) else { return Self::default() };
        let ways: Vec<NotifyWay> = config.notify.ways().collect();
        if ways.is_empty() {
            return Self::default();
        }
        let is_tracker_off = !config.tracker.enabled;
        let last = last_notifications_of(&paths.data.database(), DATABASE_FOR_DOCTOR).unwrap_or_default();
        let failed = last.into_iter().filter(|row| row.result == NotifyResult::Failed && ways.contains(&row.way));
        let failures = failed.map(|row| (row.way, row.event.at, row.why.unwrap_or_default())).collect();
        Self { missing: missing(&config.notify, env), ways, is_tracker_off, failures }
    }
}

/// Checks the notifications.
pub(super) fn notifications(facts: &Facts) -> Vec<Finding> {
    let check = "notifications";
    let notify = &facts.notify;
    if notify.ways.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Finding> = Vec::new();
    if notify.is_tracker_off {
        let what = "nothing is reported, because the tracker is switched off".to_owned();
        found.push(Finding::warning(check, what, "set tracker.enabled to true".to_owned()));
    }
    for Missing { way, what, fix } in &notify.missing {
        found.push(Finding::warning(check, format!("{}: {what}", way.as_str()), fix.clone()));
    }
    for (way, at, why) in &notify.failures {
        if !notify.missing.iter().any(|missing| missing.way == *way) {
            let what = format!("{}: the last one failed, {}: {why}", way.as_str(), ago(facts.now, at.0));
            let fix = format!("`longhaul notify test {}` tries it again", way.as_str());
            found.push(Finding::warning(check, what, fix));
        }
    }
    if found.is_empty() {
        let names: Vec<&str> = notify.ways.iter().map(|way| way.as_str()).collect();
        found.push(Finding::ok(check, format!("sent by {}", names.join(", "))));
    }
    found
}

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
pub(super) fn sync(facts: &Facts) -> Vec<Finding> {
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

/// Checks that a worker that runs answers.
pub(super) fn worker(facts: &Facts) -> Vec<Finding> {
    let check = "worker";
    match facts.worker {
        Worker::Off => vec![Finding::ok(
            check,
            "not running; it is only needed for the viewer, a model and an embeddings endpoint",
        )],
        Worker::Answers(port) => vec![Finding::ok(check, format!("answers on port {port}"))],
        Worker::Silent(pid) => {
            vec![Finding::warning(
                check,
                format!("process {pid} runs but does not answer"),
                "run `longhaul worker stop`",
            )]
        }
    }
}

/// Checks that running Claude Code processes have loaded the module.
pub(super) fn bridge(facts: &Facts) -> Vec<Finding> {
    let check = "bridge";
    let BridgeFacts { clients, loaded } = &facts.bridge;
    if let Some((pid, trouble)) = loaded.iter().find_map(|(pid, trouble)| Some((pid, trouble.as_ref()?))) {
        let what = format!("Claude Code process {pid} could not do what it was asked: {trouble}");
        return vec![Finding::warning(
            check,
            what,
            "Longhaul types instead where it can; restart that Claude Code to try again",
        )];
    }
    let has_module = facts.manifest.as_ref().is_none_or(|manifest| manifest.mode == InstallMode::Plugin);
    match (*clients, loaded.len()) {
        (_, 0) if !has_module => {
            vec![Finding::ok(check, "installed with hooks only: Longhaul types into the terminal")]
        }
        (0, _) => vec![Finding::ok(check, "no Claude Code runs now, so the module cannot be checked")],
        (clients, 0) => vec![Finding {
            fix: Some(format!("restart the sessions, or update Claude Code to {BRIDGE_SINCE} or later")),
            ..Finding::note(
                check,
                format!(
                    "none of {clients} running Claude Code processes has loaded the module: Longhaul types into the terminal instead"
                ),
            )
        }],
        (clients, loaded) => {
            vec![Finding::ok(check, format!("the module runs in {loaded} of {clients} Claude Code processes"))]
        }
    }
}
