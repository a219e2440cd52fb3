//! Checks whether notifications can be sent.

use longhaul_core::config::{Choice, NotifyWay};
use longhaul_core::{Env, Millis};
use longhaul_notify_ways::{Missing, missing};
use longhaul_runtime::waiting_times::DATABASE_FOR_DOCTOR;
use longhaul_store::{NotifyResult, last_notifications_of};

use super::Finding;
use super::facts::Facts;
use super::judge::ago;
use crate::paths::InstallPaths;

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
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
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
