//! Checks of what Longhaul calls, and of what it may spend: the model, embeddings, notifications, sync, the worker, the module
//! inside Claude Code, limits.

use std::os::unix::fs::PermissionsExt;

use longhaul_core::config::{NotifyWay, Via};
use longhaul_core::{counted, short_session};
use longhaul_notifications::{Missing, missing};
use longhaul_runtime::memory::meaning::ModelsState;
use longhaul_runtime::sync::{self, ExchangeState};
use longhaul_runtime::waiting_times::{self, DATABASE_FOR_DOCTOR};
use longhaul_runtime::worker::{self, ModelPause};
use longhaul_runtime::{ModelAccess, limits};
use longhaul_store::{NotifyResult, VectorStats, last_notifications_of};

use super::{Facts, Level, Report, ago, few};
use crate::claude_command::BRIDGE_SINCE;
use crate::current_state::InstallMode;

/// Checks the model that rewrites records, if one is enabled.
pub(super) fn model(facts: &Facts<'_>, report: &mut Report) {
    let Some(model) = facts.config().and_then(|config| config.memory.summarizer()) else { return };
    match model.via {
        Via::Api if ModelAccess::read().api_key.is_none() => {
            return report.warning(
                "ANTHROPIC_API_KEY is not set here; hooks have the same environment as Claude Code",
                "set it before you start Claude Code, or set memory.model.via to \"claude\"",
            );
        }
        Via::Claude if facts.program.is_none() => {
            return report.warning("`claude` is not on the PATH", "install Claude Code, or set CLAUDE_BIN");
        }
        Via::Api | Via::Claude => {}
    }
    let trouble = facts.store().and_then(|store| store.model_trouble().ok().flatten());
    let last = trouble.as_ref().map(|trouble| format!("; last error: {}", trouble.error)).unwrap_or_default();
    if let Some(pause) = ModelPause::in_force(&facts.paths.data, facts.env.now) {
        let minutes = pause.until.saturating_sub(facts.now).div_ceil(60_000);
        let what = format!("hooks do not start the worker for another {minutes} min: {}{last}", pause.reason);
        return report.warning(what, "`longhaul worker start` tries again now; see longhaul.log");
    }
    match trouble {
        Some(_) => report.warning(format!("the last request failed{last}"), "see longhaul.log"),
        None => report.ok("hooks start the worker when there are records for the model"),
    }
}

/// Checks the models that compute vectors.
pub(super) fn embeddings(facts: &Facts<'_>, report: &mut Report) {
    let models = facts.config().and_then(|config| ModelsState::read(facts.env, &facts.paths.data, config));
    let Some(models) = models else { return };
    match &models.file {
        Some(Ok(id)) => report.ok(format!("the search by meaning uses the model {id}{}", progress(facts, id))),
        Some(Err(why)) => {
            let fix = "run `longhaul install` again, or correct memory.embeddings; until then, only words are compared";
            report.warning(why, fix);
        }
        None if models.endpoint.is_none() => report.note(
            "there is no model beside this executable, so a search compares words only; every bundle has one: \
             `longhaul install`",
        ),
        None => {}
    }
    let Some(endpoint) = &models.endpoint else { return };
    let model = &endpoint.model;
    if let Some(trouble) = &endpoint.trouble {
        let (when, times) = (ago(facts.now, trouble.at), counted(trouble.failures as usize, "time"));
        let what = format!("the endpoint failed {when}, {times} in a row: {}", trouble.error);
        report.warning(what, "check memory.embeddings; the worker tries again by itself");
    } else if worker::running(&facts.paths.data).is_none() {
        let start = "`longhaul worker start`";
        report.note(format!("only the worker calls the endpoint ({model}), and it does not run: {start}"));
    } else {
        report.ok(format!("the worker calls the endpoint ({model})"));
    }
}

/// Says for how many records a model has computed vectors.
fn progress(facts: &Facts<'_>, model: &str) -> String {
    let vectors = facts.store().and_then(|store| store.vector_stats().ok()).unwrap_or_default();
    match vectors.iter().find(|vectors| vectors.model == model) {
        Some(VectorStats { looked_at, records, .. }) if looked_at < records => format!(
            "; {looked_at} of {records} records have vectors: searches compute the rest, and `longhaul memory upkeep` does so now"
        ),
        Some(VectorStats { records, .. }) => format!("; all {records} records have vectors"),
        None => "; no record has vectors yet: the first search computes them".to_owned(),
    }
}

/// Checks the ways of notifications that the configuration names.
pub(super) fn notifications(facts: &Facts<'_>, report: &mut Report) {
    let Some(config) = facts.config() else { return };
    let ways: Vec<NotifyWay> = config.notify.ways().collect();
    if ways.is_empty() {
        return;
    }
    if !config.tracker.enabled {
        let what = "nothing is reported, because the tracker is switched off";
        report.warning(what, "set tracker.enabled to true");
    }
    let missing = missing(&config.notify, facts.env);
    for Missing { way, what, fix } in &missing {
        report.warning(format!("{}: {what}", way.as_str()), fix);
    }
    let last = last_notifications_of(&facts.paths.data.database(), DATABASE_FOR_DOCTOR).unwrap_or_default();
    let is_usable = |way: NotifyWay| ways.contains(&way) && !missing.iter().any(|missing| missing.way == way);
    for row in last.into_iter().filter(|row| row.result == NotifyResult::Failed && is_usable(row.way)) {
        let (way, when, why) = (row.way.as_str(), ago(facts.now, row.event.at.0), row.why.unwrap_or_default());
        let fix = format!("`longhaul notify test {way}` tries it again");
        report.warning(format!("{way}: the last one failed, {when}: {why}"), fix);
    }
    if report.is_empty() {
        let names: Vec<&str> = ways.iter().map(|way| way.as_str()).collect();
        report.ok(format!("sent by {}", names.join(", ")));
    }
}

/// Checks the exchange with other machines.
pub(super) fn sync(facts: &Facts<'_>, report: &mut Report) {
    if !sync::is_on(&facts.paths.data) {
        return;
    }
    let config = facts.config().cloned().unwrap_or_default();
    let state = ExchangeState::read(&facts.paths.data);
    if config.sync.key_command.0.is_empty()
        && let Ok(file) = sync::key_file(facts.env)
    {
        let key = file.display();
        match std::fs::metadata(&file) {
            Err(_) => report.broken(
                format!("the key is missing: {key}"),
                "`longhaul sync join -` stores it again; `longhaul sync code` on another machine prints the code",
            ),
            Ok(found) if found.permissions().mode() & 0o077 != 0 => {
                report.warning(format!("other users may read the key: {key}"), format!("`chmod 600 {key}`"));
            }
            Ok(_) => {}
        }
    }
    if let Some(error) = &state.error {
        let at = state.at.map_or_else(|| "once".to_owned(), |at| ago(facts.now, at));
        let fix = "`longhaul sync now` tries it again, `longhaul sync status` shows more";
        report.warning(format!("the last exchange failed, {at}: {error}"), fix);
    }
    if let Some(incomplete) = state.incomplete {
        let fix = "wait until everything is copied; of a folder, delete the damaged file: its machine sends it again";
        report.warning(incomplete, fix);
    }
    if report.is_empty() {
        let last = state.succeeded_at.map_or_else(|| "never".to_owned(), |at| ago(facts.now, at));
        let automatic = if config.sync.enabled { "" } else { "; not automatic: sync.enabled is false" };
        report.ok(format!("last exchange: {last}{automatic}"));
    }
}

/// Checks that a worker that runs answers.
pub(super) fn worker(facts: &Facts<'_>, report: &mut Report) {
    match worker::running(&facts.paths.data) {
        None => report.ok("not running; it is only needed for the viewer, a model and an embeddings endpoint"),
        Some(file) if file.ask("/api/health", waiting_times::WORKER_ANSWER).is_some() => {
            report.ok(format!("answers on port {}", file.port));
        }
        Some(file) => {
            report.warning(format!("process {} runs but does not answer", file.pid), "run `longhaul worker stop`")
        }
    }
}

/// Checks that running Claude Code processes have loaded the module.
pub(super) fn bridge(facts: &Facts<'_>, report: &mut Report) {
    let is_running = |pid: u32| facts.running.iter().any(|client| client.pid == pid);
    let mut loaded = longhaul_store::bridges_of(&facts.paths.data.database(), DATABASE_FOR_DOCTOR);
    loaded.retain(|bridge| is_running(bridge.client_pid));
    if let Some((pid, trouble)) = loaded.iter().find_map(|bridge| Some((bridge.client_pid, bridge.trouble.as_ref()?))) {
        let fix = "Longhaul types instead where it can; restart that Claude Code to try again";
        return report.warning(format!("Claude Code process {pid} could not do what it was asked: {trouble}"), fix);
    }
    let has_module = facts.manifest.as_ref().is_none_or(|manifest| manifest.mode == InstallMode::Plugin);
    match (facts.running.len(), loaded.len()) {
        (_, 0) if !has_module => report.ok("installed with hooks only: Longhaul types into the terminal"),
        (0, _) => report.ok("no Claude Code runs now, so the module cannot be checked"),
        (clients, 0) => {
            let what = format!(
                "none of {clients} running Claude Code processes has loaded the module: Longhaul types into the terminal instead"
            );
            let fix = format!("restart the sessions, or update Claude Code to {BRIDGE_SINCE} or later");
            report.push(Level::Note, what, Some(fix));
        }
        (clients, loaded) => report.ok(format!("the module runs in {loaded} of {clients} Claude Code processes")),
    }
}

/// Reports what sessions may spend, and which of them a limit has stopped.
pub(super) fn limits(facts: &Facts<'_>, report: &mut Report) {
    let Some(config) = facts.config() else { return };
    let is_set = limits::InForce::of(&config.limits).has_spend();
    let (mut stopped, mut blind) = (Vec::new(), Vec::new());
    for (session, account) in limits::accounts(&facts.paths.data) {
        let name = short_session(session.as_str()).to_owned();
        let measures = limits::measures_of(&facts.paths.data, &session, facts.env.now);
        if let Some(reached) = measures.iter().find(|measure| account.is_stopped && measure.is_reached()) {
            stopped.push(format!("{name}: {reached} ({})", reached.scope.key()));
        }
        if measures.iter().any(|measure| measure.is_blind()) {
            blind.push(name);
        }
    }
    if !stopped.is_empty() {
        report.note(format!("stopped by a limit: {}; `longhaul limit raise 5` lets one go on", few(stopped)));
    }
    if !blind.is_empty() {
        let what = format!("a limit in dollars does not see tokens of unknown price: {}", few(blind));
        report.warning(what, "set the price under models, or a limit in tokens such as \"20M\"");
    }
    if is_set && !config.tracker.enabled {
        let what = "a limit is set, but nothing is reported, because the tracker is switched off";
        report.warning(what, "set tracker.enabled to true");
    }
    if report.is_empty() && is_set {
        report.ok("set, and no session is stopped");
    }
}
