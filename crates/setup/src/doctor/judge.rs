//! What the facts mean. Pure.

use longhaul_store::{Health, SCHEMA};

use super::facts::{BridgeFacts, Client, Database, Facts, Worker};
use super::registered::Source;
use super::{Finding, Level, conditions, sessions};
use crate::ID;

/// How much later than the last hook a transcript may be written to.
const SLACK_MS: u64 = 10 * 60 * 1000;

/// How many of a list are named.
const NAMED: usize = 5;

/// Every check, in the order in which they are shown. A new one is a line here.
const CHECKS: &[fn(&Facts) -> Vec<Finding>] = &[
    executables,
    path,
    conditions::versions,
    conditions::disabled,
    client,
    conditions::settings,
    registration,
    cache,
    fired,
    super::tmux::check,
    conditions::storage,
    database,
    config,
    permissions,
    transcripts,
    peers,
    worker,
    super::model::model,
    bridge,
    super::keys::keys,
];

/// Judges everything.
pub fn judge(facts: &Facts) -> Vec<Finding> {
    CHECKS.iter().flat_map(|check| check(facts)).collect()
}

/// Returns how long ago something was, in words.
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
        return vec![Finding::ok(check, format!("longhaul {version}, complete, at {}", facts.exe.display()))];
    }
    let missing = few(facts.missing.iter().map(|name| (*name).to_owned()));
    vec![Finding::broken(check, format!("longhaul {version} at {} lacks {missing}", facts.exe.display()), REINSTALL)]
}

const REINSTALL: &str = "install it again: cargo xtask install, or bin/longhaul install of an unpacked archive";

fn path(facts: &Facts) -> Vec<Finding> {
    let check = "path";
    match facts.on_path.first() {
        Some(first) if *first == facts.exe => vec![Finding::ok(check, "`longhaul` is on the PATH")],
        Some(first) => vec![Finding::warning(
            check,
            format!("`longhaul` on the PATH is another one: {}", first.display()),
            format!("remove it, or put {} before it", dir_of_link(facts)),
        )],
        None => {
            let mend = format!("add {} to your PATH", dir_of_link(facts));
            vec![Finding::warning(check, "`longhaul` is not on the PATH", mend)]
        }
    }
}

fn dir_of_link(facts: &Facts) -> String {
    facts.places.link.parent().unwrap_or(&facts.places.link).display().to_string()
}

fn client(facts: &Facts) -> Vec<Finding> {
    let check = "client";
    let mend = "install Claude Code, or name it with CLAUDE_BIN; then run longhaul install";
    match &facts.client {
        Client::Found(_) => Vec::new(),
        Client::Missing => {
            vec![Finding::warning(check, "`claude` is not on the PATH: its plugins are not known", mend)]
        }
        Client::Failed(why) => vec![Finding::broken(check, why.clone(), "update Claude Code")],
        Client::Hangs => conditions::hanging_client(check),
    }
}

fn registration(facts: &Facts) -> Vec<Finding> {
    let check = "hooks";
    let mut found = Vec::new();
    if let Some(path) = &facts.switched_off_by {
        let what = format!("{} switches the hooks of plugins and users off", path.display());
        found.push(Finding::broken(check, what, "take disableAllHooks or allowManagedHooksOnly out of it"));
    }
    let active: Vec<&Source> = facts.sources.iter().filter(|source| source.is_enabled).collect();
    for source in &facts.sources {
        // With broken settings the client calls every plugin switched off: the settings are what to repair.
        if source.is_enabled || facts.broken_settings.is_empty() {
            found.extend(one_source(source));
        }
    }
    for (at, source) in active.iter().enumerate() {
        let twin =
            active[..at].iter().find(|other| other.job.is_none() || source.job.is_none() || other.job == source.job);
        if let Some(twin) = twin {
            let what =
                format!("registered twice, so that every event is answered twice: {} and {}", twin.name, source.name);
            found.push(Finding::broken(check, what, "longhaul install, which leaves one; or take one away yourself"));
        }
    }
    if facts.sources.is_empty() {
        let what = "no hooks are registered: nothing of ours runs";
        // Nobody can tell what a client has that cannot be asked.
        let unknown = match facts.client {
            Client::Missing => facts.last_hook.is_some(),
            Client::Failed(_) | Client::Hangs => true,
            Client::Found(_) => false,
        };
        let what = if unknown { "no hooks are known to be registered" } else { what };
        let level = if unknown { Level::Warning } else { Level::Broken };
        found.push(Finding { check, level, what: what.to_owned(), mend: Some("longhaul install".to_owned()) });
    }
    found
}

fn one_source(source: &Source) -> Vec<Finding> {
    let check = "hooks";
    let mut found = Vec::new();
    if !source.errors.is_empty() {
        let what = format!("{}: {}", source.name, source.errors.join("; "));
        found.push(Finding::broken(check, what, "longhaul install"));
    }
    if !source.is_enabled {
        found.push(Finding::broken(
            check,
            format!("{} is switched off", source.name),
            format!("claude plugin enable {}", source.id.as_deref().unwrap_or(ID)),
        ));
    }
    if !source.missing.is_empty() {
        let missing = few(source.missing.iter().map(|path| path.display().to_string()));
        let what = format!("{} registers what cannot be run: {missing}", source.name);
        found.push(Finding::broken(check, what, "longhaul install"));
    }
    if found.is_empty() {
        let what = match &source.job {
            Some(job) => format!("{}, {} events, {job} alone", source.name, source.events),
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
    let what = format!("the client keeps several versions of us: {}", facts.cached.join(", "));
    let mend = "it removes them by itself; longhaul install does so when no session runs";
    vec![Finding { mend: Some(mend.to_owned()), ..Finding::note("cache", what) }]
}

fn fired(facts: &Facts) -> Vec<Finding> {
    let check = "fired";
    let mut found = Vec::new();
    let installed = facts.manifest.as_ref().map_or(0, |manifest| manifest.installed_at);
    let last = facts.last_hook.as_ref().map_or(0, |(at, _)| *at);
    let is_late = facts.last_transcript.is_some_and(|at| at > last.max(installed) + SLACK_MS);
    match &facts.last_hook {
        _ if is_late => {
            let what = "sessions have gone on since, and no hook has fired";
            found.push(Finding::warning(
                check,
                what,
                "restart the sessions; look at /hooks and /plugin in one of them",
            ));
        }
        Some((at, session)) => {
            found.push(Finding::ok(check, format!("last hook {}, in session {session}", ago(facts.now, *at))));
        }
        None => found.push(Finding::note(check, "no hook has fired yet: start a session")),
    }
    if !facts.unheard.is_empty() {
        let what = format!("sessions run without us: {}", few(facts.unheard.iter().cloned()));
        found.push(Finding::warning(check, what, "they began before the installation: restart them"));
    }
    found
}

fn database(facts: &Facts) -> Vec<Finding> {
    let check = "database";
    let file = facts.places.data.database();
    let mut found = match &facts.database {
        Database::Missing => vec![Finding::note(check, "nothing is stored yet")],
        Database::Found { health: Health::Unreadable(why), .. } => conditions::unreadable_database(facts, why),
        Database::Found { health: Health::Damaged(problems), .. } => {
            let what = format!("{} is damaged: {}", file.display(), few(problems.iter().cloned()));
            vec![Finding::broken(
                check,
                what,
                "the next session sets it aside and begins a new one; or put a copy of yours back",
            )]
        }
        Database::Found { schema: Some(schema), .. } if *schema > SCHEMA => {
            let what = format!("written by a newer version: schema {schema}, this one knows {SCHEMA}");
            vec![Finding::broken(check, what, "install the newer version again; nothing is lost")]
        }
        Database::Found { schema, index: Some(index), .. } if !index.is_complete() => {
            let schema = schema.unwrap_or_default();
            let what = format!(
                "sound, schema {schema}; the search index is built to {} %, until then a search needs every word",
                index.percent()
            );
            vec![Finding::warning(
                check,
                what,
                "longhaul memory upkeep completes it; so does every session that begins",
            )]
        }
        Database::Found { schema, .. } => {
            let schema = schema.unwrap_or_default();
            let until = if schema < SCHEMA { ", brought up to date by the next session" } else { "" };
            vec![Finding::ok(check, format!("sound, schema {schema}{until}"))]
        }
    };
    if !facts.damaged.is_empty() {
        let what = format!("was damaged before, and set aside: {}", few(facts.damaged.iter().cloned()));
        found.push(Finding::warning(
            check,
            what,
            format!("delete it in {} when you do not need it", facts.places.data.dir().display()),
        ));
    }
    found
}

fn config(facts: &Facts) -> Vec<Finding> {
    let check = "config";
    match &facts.config {
        Err(why) => {
            vec![Finding::broken(check, why.clone(), "longhaul config path says where it is: make it readable")]
        }
        Ok(warnings) if warnings.is_empty() => vec![Finding::ok(check, "nothing wrong with it")],
        Ok(warnings) => {
            let mend = "mend it; longhaul config schema says what it may be";
            warnings.iter().map(|warning| Finding::warning(check, warning.clone(), mend)).collect()
        }
    }
}

fn permissions(facts: &Facts) -> Vec<Finding> {
    let check = "permissions";
    let dir = facts.places.data.dir();
    if facts.open_to_others.is_empty() {
        return vec![Finding::ok(check, format!("{} is readable by you alone", dir.display()))];
    }
    let what =
        format!("others may read or write {}", few(facts.open_to_others.iter().map(|path| path.display().to_string())));
    vec![Finding::warning(check, what, format!("chmod -R go= {}", dir.display()))]
}

fn transcripts(facts: &Facts) -> Vec<Finding> {
    let stale = facts.stale.iter().take(NAMED);
    stale.map(|(session, path)| sessions::missing(session, path.display().to_string(), true)).collect()
}

fn peers(facts: &Facts) -> Vec<Finding> {
    let conflict = |peer: &super::Peer| {
        let what = format!("{} does what our {} does: {}", peer.name, peer.job, peer.place);
        Finding::warning("conflicts", what, format!("{}; or switch ours off: {}.enabled", peer.mend, peer.job))
    };
    facts.peers.iter().map(conflict).collect()
}

fn worker(facts: &Facts) -> Vec<Finding> {
    let check = "worker";
    match facts.worker {
        Worker::Off => vec![Finding::ok(check, "does not run; nothing needs it")],
        Worker::Answers(port) => vec![Finding::ok(check, format!("answers on port {port}"))],
        Worker::Silent(pid) => {
            vec![Finding::warning(check, format!("process {pid} runs and does not answer"), "longhaul worker stop")]
        }
    }
}

fn bridge(facts: &Facts) -> Vec<Finding> {
    let check = "bridge";
    let BridgeFacts { is_wanted, clients, loaded } = &facts.bridge;
    if !is_wanted {
        return vec![Finding::ok(check, "switched off (bridge.enabled): what gets into a session is typed")];
    }
    if let Some((pid, trouble)) = loaded.iter().find_map(|(pid, trouble)| Some((pid, trouble.as_ref()?))) {
        let what = format!("client {pid} could not do what it was asked: {trouble}");
        return vec![Finding::warning(check, what, "it is typed where it can be; restart the client to forget this")];
    }
    match (*clients, loaded.len()) {
        (0, _) => vec![Finding::ok(check, "no client runs; whether it loads our module is seen when one does")],
        (clients, 0) => vec![Finding {
            mend: Some("restart the sessions, or update Claude Code to 2.1.287 or later".to_owned()),
            ..Finding::note(
                check,
                format!("of {clients} running clients none has loaded our module: what gets into a session is typed"),
            )
        }],
        (clients, loaded) => {
            vec![Finding::ok(check, format!("our module runs in {loaded} of {clients} running clients"))]
        }
    }
}
