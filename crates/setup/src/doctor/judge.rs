//! The checks: from facts to findings. Pure.

use longhaul_core::config::{Warning, WarningKind};
use longhaul_store::{Health, SCHEMA};

use super::facts::{BridgeFacts, Client, Database, Facts, Worker};
use super::registered::Source;
use super::{Finding, Level, conditions, sessions};
use crate::ID;
use crate::claude_command::BRIDGE_SINCE;

/// How much later than the last hook a transcript may have been written before that is reported.
const SLACK_MS: u64 = 10 * 60 * 1000;

/// How many items of a list are named.
const NAMED: usize = 5;

/// Every check, in the order in which the results are shown. A new check is added here.
const CHECKS: &[fn(&Facts) -> Vec<Finding>] = &[
    executables,
    path,
    conditions::versions,
    conditions::disabled,
    client,
    conditions::settings,
    registration,
    conditions::launchers,
    cache,
    fired,
    super::tmux::check,
    conditions::storage,
    database,
    config,
    permissions,
    transcripts,
    peers,
    super::snapshots::check,
    super::notify::check,
    super::agents::check,
    super::sync::check,
    worker,
    super::model::model,
    super::embeddings::check,
    bridge,
    super::keys::keys,
    super::codex::check,
];

/// Runs every check.
pub fn judge(facts: &Facts) -> Vec<Finding> {
    CHECKS.iter().flat_map(|check| check(facts)).collect()
}

/// Returns how long ago `at` was, such as `5m ago`.
pub(super) fn ago(now: u64, at: u64) -> String {
    match now.saturating_sub(at) / 1000 {
        0..60 => "just now".to_owned(),
        seconds => format!("{} ago", longhaul_tracker::age(seconds)),
    }
}

pub(super) fn few(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let rest = names.len().saturating_sub(NAMED);
    let named = names.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if rest == 0 { named } else { format!("{named} and {rest} more") }
}

fn executables(facts: &Facts) -> Vec<Finding> {
    let check = "executables";
    let version = env!("CARGO_PKG_VERSION");
    if facts.missing.is_empty() {
        return vec![Finding::ok(
            check,
            format!("longhaul {version} at {}, no executable is missing", facts.exe.display()),
        )];
    }
    let missing = few(facts.missing.iter().map(|name| (*name).to_owned()));
    vec![Finding::broken(check, format!("longhaul {version} at {}: missing {missing}", facts.exe.display()), REINSTALL)]
}

const REINSTALL: &str = "install again: `cargo xtask install`, or `bin/longhaul install` in an unpacked archive";

fn path(facts: &Facts) -> Vec<Finding> {
    let check = "path";
    match facts.on_path.first() {
        Some(first) if *first == facts.exe => vec![Finding::ok(check, "`longhaul` is on the PATH")],
        Some(first) => vec![Finding::warning(
            check,
            format!("`longhaul` on the PATH is a different one: {}", first.display()),
            format!("remove it, or put {} before it", dir_of_link(facts)),
        )],
        None => {
            let fix = format!("add {} to your PATH", dir_of_link(facts));
            vec![Finding::warning(check, "`longhaul` is not on the PATH", fix)]
        }
    }
}

fn dir_of_link(facts: &Facts) -> String {
    facts.paths.link.parent().unwrap_or(&facts.paths.link).display().to_string()
}

fn client(facts: &Facts) -> Vec<Finding> {
    let check = "client";
    let fix = "install Claude Code, or set CLAUDE_BIN to its path; then run `longhaul install`";
    match &facts.client {
        Client::Found(_) => Vec::new(),
        Client::Missing => {
            vec![Finding::warning(check, "`claude` is not on the PATH, so its plugins cannot be checked", fix)]
        }
        Client::Failed(why) => vec![Finding::broken(check, why.clone(), "update Claude Code")],
        Client::Hangs => conditions::hanging_client(check),
    }
}

fn registration(facts: &Facts) -> Vec<Finding> {
    let check = "hooks";
    let mut found = Vec::new();
    if let Some(path) = &facts.switched_off_by {
        let what = format!("{} disables the hooks of plugins and users", path.display());
        found.push(Finding::broken(check, what, "remove disableAllHooks or allowManagedHooksOnly from it"));
    }
    let active: Vec<&Source> = facts.sources.iter().filter(|source| source.is_enabled).collect();
    for source in &facts.sources {
        // With invalid settings, Claude Code lists every plugin as disabled. Then the settings have to be repaired.
        if source.is_enabled || facts.broken_settings.is_empty() {
            found.extend(one_source(source));
        }
    }
    for (at, source) in active.iter().enumerate() {
        let twin =
            active[..at].iter().find(|other| other.job.is_none() || source.job.is_none() || other.job == source.job);
        if let Some(twin) = twin {
            let what = format!("registered twice, so every event is handled twice: {} and {}", twin.name, source.name);
            found.push(Finding::broken(
                check,
                what,
                "run `longhaul install`, which keeps one of them, or remove one yourself",
            ));
        }
    }
    if facts.sources.is_empty() {
        let what = "no hooks are registered, so Longhaul does nothing";
        // Claude Code could not be asked, so its plugins are unknown.
        let unknown = match facts.client {
            Client::Missing => facts.last_hook.is_some(),
            Client::Failed(_) | Client::Hangs => true,
            Client::Found(_) => false,
        };
        let what = if unknown { "no registered hooks were found" } else { what };
        let level = if unknown { Level::Warning } else { Level::Broken };
        found.push(Finding { check, level, what: what.to_owned(), fix: Some("run `longhaul install`".to_owned()) });
    }
    found
}

fn one_source(source: &Source) -> Vec<Finding> {
    let check = "hooks";
    let mut found = Vec::new();
    if !source.errors.is_empty() {
        let what = format!("{}: {}", source.name, source.errors.join("; "));
        found.push(Finding::broken(check, what, "run `longhaul install`"));
    }
    if !source.is_enabled {
        found.push(Finding::broken(
            check,
            format!("{} is disabled", source.name),
            format!("run `claude plugin enable {}`", source.id.as_deref().unwrap_or(ID)),
        ));
    }
    if !source.missing.is_empty() {
        let missing = few(source.missing.iter().map(|path| path.display().to_string()));
        let what = format!("{} registers executables that cannot be run: {missing}", source.name);
        found.push(Finding::broken(check, what, "run `longhaul install`"));
    }
    if found.is_empty() {
        let what = match &source.job {
            Some(job) => format!("{}, {} events, only the job {job}", source.name, source.events),
            None => format!("{}, {} events", source.name, source.events),
        };
        found.push(Finding::ok(check, what));
    }
    found
}

fn cache(facts: &Facts) -> Vec<Finding> {
    if facts.cached.len() < 2 {
        return Vec::new();
    }
    let what = format!("Claude Code keeps several versions of the plugin: {}", facts.cached.join(", "));
    let fix = "it removes old ones itself; `longhaul install` does so when no session runs";
    vec![Finding { fix: Some(fix.to_owned()), ..Finding::note("cache", what) }]
}

fn fired(facts: &Facts) -> Vec<Finding> {
    let check = "fired";
    let mut found = Vec::new();
    let installed = facts.manifest.as_ref().map_or(0, |manifest| manifest.installed_at);
    let last = facts.last_hook.as_ref().map_or(0, |(at, _)| *at);
    let is_late = facts.last_transcript.is_some_and(|at| at > last.max(installed) + SLACK_MS);
    match &facts.last_hook {
        _ if is_late => {
            let what = "sessions were active recently, but no hook has run";
            found.push(Finding::warning(
                check,
                what,
                "restart the sessions, and check /hooks and /plugin in one of them",
            ));
        }
        Some((at, session)) => {
            found.push(Finding::ok(check, format!("last hook {}, in session {session}", ago(facts.now, *at))));
        }
        None => found.push(Finding::note(check, "no hook has run yet: start a session")),
    }
    if !facts.without_hooks.is_empty() {
        let what = format!("sessions run without Longhaul's hooks: {}", few(facts.without_hooks.iter().cloned()));
        found.push(Finding::warning(check, what, "they were started before the installation: restart them"));
    }
    found
}

fn database(facts: &Facts) -> Vec<Finding> {
    let check = "database";
    let file = facts.paths.data.database();
    let mut found = match &facts.database {
        Database::Missing => vec![Finding::note(check, "nothing is stored yet")],
        Database::Found { health: Health::Unreadable(why), .. } => conditions::unreadable_database(facts, why),
        Database::Found { health: Health::Damaged(problems), .. } => {
            let what = format!("{} is damaged: {}", file.display(), few(problems.iter().cloned()));
            vec![Finding::broken(
                check,
                what,
                "the next session renames it and creates a new one; or restore a backup of your own",
            )]
        }
        Database::Found { schema: Some(schema), .. } if *schema > SCHEMA => {
            let what = format!("written by a newer version: schema {schema}, this version knows {SCHEMA}");
            vec![Finding::broken(check, what, "install the newer version again; nothing is lost")]
        }
        Database::Found { schema, index: Some(index), .. } if !index.is_complete() => {
            let schema = schema.unwrap_or_default();
            let what = format!(
                "no damage, schema {schema}; {} % of the search index is built: until it is complete, a search finds only records with every word",
                index.percent()
            );
            vec![Finding::warning(check, what, "run `longhaul memory upkeep`; every new session also continues it")]
        }
        Database::Found { schema, .. } => {
            let schema = schema.unwrap_or_default();
            let until = if schema < SCHEMA { ", updated by the next session" } else { "" };
            vec![Finding::ok(check, format!("no damage, schema {schema}{until}"))]
        }
    };
    if !facts.damaged.is_empty() {
        let what = format!("damaged databases were renamed: {}", few(facts.damaged.iter().cloned()));
        found.push(Finding::warning(
            check,
            what,
            format!("delete them in {} if you do not need them", facts.paths.data.dir().display()),
        ));
    }
    found
}

fn config(facts: &Facts) -> Vec<Finding> {
    let check = "config";
    match &facts.config {
        Err(why) => {
            vec![Finding::broken(check, why.clone(), "make the file readable; `longhaul config path` prints its path")]
        }
        Ok(warnings) if warnings.is_empty() => vec![Finding::ok(check, "no problems")],
        Ok(warnings) => {
            let fix = "correct the value; `longhaul config schema` lists the allowed values";
            let finding = |warning: &Warning| match warning.kind {
                WarningKind::Unusable => Finding::warning(check, warning.to_string(), fix),
                WarningKind::OldSpelling => Finding::note(check, warning.to_string()),
            };
            warnings.iter().map(finding).collect()
        }
    }
}

fn permissions(facts: &Facts) -> Vec<Finding> {
    let check = "permissions";
    let dir = facts.paths.data.dir();
    if facts.open_to_others.is_empty() {
        return vec![Finding::ok(check, format!("only you can read {}", dir.display()))];
    }
    let what = format!(
        "other users can read or write {}",
        few(facts.open_to_others.iter().map(|path| path.display().to_string()))
    );
    vec![Finding::warning(check, what, format!("run `chmod -R go= {}`", dir.display()))]
}

fn transcripts(facts: &Facts) -> Vec<Finding> {
    let stale = facts.stale.iter().take(NAMED);
    stale.map(|(session, path)| sessions::missing(session, path.display().to_string(), true)).collect()
}

fn peers(facts: &Facts) -> Vec<Finding> {
    let conflict = |peer: &super::Peer| {
        let what = format!("{} does the same as Longhaul's {}: {}", peer.name, peer.job, peer.place);
        Finding::warning("conflicts", what, format!("{}; or set {}.enabled to false", peer.fix, peer.job))
    };
    facts.peers.iter().map(conflict).collect()
}

fn worker(facts: &Facts) -> Vec<Finding> {
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

fn bridge(facts: &Facts) -> Vec<Finding> {
    let check = "bridge";
    let BridgeFacts { is_wanted, clients, loaded } = &facts.bridge;
    if !is_wanted {
        return vec![Finding::ok(check, "disabled by bridge.enabled: Longhaul types into the terminal instead")];
    }
    if let Some((pid, trouble)) = loaded.iter().find_map(|(pid, trouble)| Some((pid, trouble.as_ref()?))) {
        let what = format!("Claude Code process {pid} could not do what it was asked: {trouble}");
        return vec![Finding::warning(
            check,
            what,
            "Longhaul types instead where it can; restart that Claude Code to try again",
        )];
    }
    match (*clients, loaded.len()) {
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
