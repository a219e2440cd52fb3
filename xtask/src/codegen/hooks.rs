//! Generates hooks.json from the catalogue.

use anyhow::{Context, Result};
use longhaul_core::catalog::{Job, registrations};
use serde_json::{Map, Value, json};

/// The module that Claude Code loads, as hooks.json names it.
const MODULE: &str = "./bridge.ts";

/// The jobs that use the module.
pub const BRIDGED: &[Job] = &[Job::Bookmarks, Job::Tracker, Job::Continuation];

/// Returns the text of hooks.json for `job`, or for all of them.
///
/// Hooks are in the exec form: with `args`, even empty ones, Claude Code starts the program itself, without a shell.
/// All bundles have the same executables; in the bundle of one job, the argument names that job.
pub fn json(job: Option<Job>) -> Result<String> {
    let mut events = Map::new();
    for registration in registrations(job) {
        let hook = json!({
            "type": "command",
            "command": format!("${{CLAUDE_PLUGIN_ROOT}}/bin/{}", registration.executable),
            "args": job.iter().map(|job| job.name()).collect::<Vec<_>>(),
            "timeout": registration.timeout_seconds,
        });
        let mut group = Map::new();
        if let Some(matcher) = registration.matcher {
            group.insert("matcher".to_owned(), json!(matcher));
        }
        group.insert("hooks".to_owned(), json!([hook]));
        let groups = events.entry(registration.event.as_str()).or_insert_with(|| json!([]));
        if let Value::Array(groups) = groups {
            groups.push(group.into());
        }
    }
    let mut file = Map::new();
    if job.is_none_or(|job| BRIDGED.contains(&job)) {
        file.insert("modules".to_owned(), json!([MODULE]));
    }
    file.insert("hooks".to_owned(), events.into());
    super::pretty(&file.into())
}

/// Returns the hooks for Codex, which has no exec form: each command is a line for a shell, the same in every version.
pub fn codex_json() -> Result<String> {
    let mut events = Map::new();
    let codex = longhaul_agents::find("codex").context("Codex has no table")?;
    for rule in codex.events {
        let hook = json!({
            "type": "command",
            "command": format!("\"${{PLUGIN_ROOT}}/bin/{}\" {}", codex.executable, rule.argument),
            "timeout": codex.timeout.of_seconds(rule.seconds),
        });
        events.insert(rule.theirs.to_owned(), json!([{ "hooks": [hook] }]));
    }
    super::pretty(&json!({ "hooks": events }))
}
