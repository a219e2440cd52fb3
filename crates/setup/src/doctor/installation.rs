//! Checks of the plugin in Claude Code: its executables, their launchers, versions, registered hooks, and whether they run.
//! Pure.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_core::{Env, json_text};
use longhaul_runtime::waiting_times::CLAUDE_PLUGIN_LIST_FOR_DOCTOR;
use longhaul_runtime::{bounded_read, has_launcher, is_executable};
use serde_json::Value;

use super::facts::{Client, Facts};
use super::{Finding, Level, ago, few};
use crate::claude_command::Plugin;
use crate::current_state::InstallPaths;
use crate::{ID, PLUGIN, settings};

/// How much later than the last hook a transcript may have been written before that is reported.
const SLACK_MS: u64 = 10 * 60 * 1000;

/// The fix if executables are missing.
const REINSTALL: &str = "install again: `cargo xtask install`, or `bin/longhaul install` in an unpacked archive";

/// Checks that no executable is missing.
pub(super) fn executables(facts: &Facts) -> Vec<Finding> {
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

/// Checks that the `longhaul` on the path is this one.
pub(super) fn path(facts: &Facts) -> Vec<Finding> {
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

/// Checks that the plugin has the same version as the `longhaul` on the path.
pub(super) fn versions(facts: &Facts) -> Vec<Finding> {
    let Some(on_path) = &facts.path_version else { return Vec::new() };
    let others = facts.sources.iter().filter_map(|source| {
        let version = source.version.as_ref().filter(|version| source.is_enabled && *version != on_path)?;
        let id = source.id.as_deref().unwrap_or(&source.name);
        let what = format!("`longhaul` on the PATH is version {on_path}, the plugin {id} is version {version}");
        let advice = "run `longhaul install` of the newer version, then restart the sessions";
        Some(Finding::warning("versions", what, advice))
    });
    others.collect()
}

/// Checks whether the environment or a settings file disables every hook.
pub(super) fn disabled(facts: &Facts) -> Vec<Finding> {
    let found = facts.disabled_by.iter().map(|by| {
        let what = format!("{by} sets LONGHAUL_DISABLE=1: the hooks do nothing in sessions that are started with it");
        Finding::broken("disabled", what, "unset it, and restart the sessions")
    });
    found.collect()
}

/// Checks that Claude Code is there and answers.
pub(super) fn client(facts: &Facts) -> Vec<Finding> {
    let check = "client";
    let fix = "install Claude Code, or set CLAUDE_BIN to its path; then run `longhaul install`";
    match &facts.client {
        Client::Found(_) => Vec::new(),
        Client::Missing => {
            vec![Finding::warning(check, "`claude` is not on the PATH, so its plugins cannot be checked", fix)]
        }
        Client::Failed(why) => vec![Finding::broken(check, why.clone(), "update Claude Code")],
        Client::Hangs => hanging_client(check),
    }
}

/// Reports that Claude Code does not answer.
fn hanging_client(check: &'static str) -> Vec<Finding> {
    let what = format!(
        "`claude plugin list` does not answer within {} s, so the plugins cannot be checked",
        CLAUDE_PLUGIN_LIST_FOR_DOCTOR.as_secs()
    );
    vec![Finding::broken(check, what, "run `claude plugin list` in a terminal and see what it waits for")]
}

/// Checks for settings files that Claude Code cannot read.
pub(super) fn settings(facts: &Facts) -> Vec<Finding> {
    let off = facts.sources.iter().filter(|source| !source.is_enabled).map(|source| source.name.clone());
    let off = few(off);
    let effect = if off.is_empty() { String::new() } else { format!(", and {off} counts as disabled") };
    let found = facts.broken_settings.iter().map(|(path, why)| {
        let what = format!("{} is {why}: Claude Code ignores it{effect}", path.display());
        Finding::broken("settings", what, "correct the file; nothing has to be installed again")
    });
    found.collect()
}

/// Checks that the hooks are registered, once.
pub(super) fn registration(facts: &Facts) -> Vec<Finding> {
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

/// Checks whether hooks start through the launchers of a universal bundle, which a session should have replaced.
pub(super) fn launchers(facts: &Facts) -> Vec<Finding> {
    let found = facts.sources.iter().filter(|source| source.has_launchers).map(|source| {
        let what = format!("{} starts its hooks through launchers, which takes longer", source.name);
        match &facts.launcher_problem {
            None => Finding::note("launchers", format!("{what}; the next session replaces them by the executables")),
            Some(problem) => Finding::warning(
                "launchers",
                format!("{what}: {problem}"),
                format!("make the plugin's folder writable, or install {ID} again"),
            ),
        }
    });
    found.collect()
}

/// Reports several versions of the plugin in Claude Code's cache.
pub(super) fn cache(facts: &Facts) -> Vec<Finding> {
    if facts.cached.len() < 2 {
        return Vec::new();
    }
    let what = format!("Claude Code keeps several versions of the plugin: {}", facts.cached.join(", "));
    let fix = "it removes old ones itself; `longhaul install` does so when no session runs";
    vec![Finding { fix: Some(fix.to_owned()), ..Finding::note("cache", what) }]
}

/// Checks that hooks have run.
pub(super) fn fired(facts: &Facts) -> Vec<Finding> {
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

/// Programs that do the same as one of Longhaul's jobs.
const PEERS: [(&str, &str); 4] = [
    ("claude-mem", "memory"),
    ("tav", "bookmarks"),
    ("throughline", "handoff"),
    ("tmux-claude-agent-tracker", "tracker"),
];

/// A plugin or a settings file that registers Longhaul's hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The plugin, or the settings file.
    pub name: String,
    /// The plugin's id; `None` for a settings file.
    pub id: Option<String>,
    /// The plugin's version; `None` for a settings file.
    pub version: Option<String>,
    /// The only job that it has; `None` for all jobs.
    pub job: Option<String>,
    /// Whether Claude Code runs its hooks.
    pub is_enabled: bool,
    /// The number of events.
    pub events: usize,
    /// Executables that are registered but cannot be run.
    pub missing: Vec<PathBuf>,
    /// Whether its hooks start through the launchers of a universal bundle.
    pub has_launchers: bool,
    /// Errors that Claude Code reports.
    pub errors: Vec<String>,
}

/// Another program that does the same as one of Longhaul's jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub name: &'static str,
    /// Longhaul's job.
    pub job: &'static str,
    /// Where it was found.
    pub place: String,
    /// How to remove it.
    pub fix: String,
}

/// Settings files with their content.
type Readable = Vec<(PathBuf, Value)>;

/// Settings files that are not JSON objects, with the problem.
type Broken = Vec<(PathBuf, String)>;

/// Returns the settings files that apply here: the user's, the project's two, and the administrator's.
pub(super) fn settings_files(env: &Env, paths: &InstallPaths, project: &Path) -> (Readable, Broken) {
    let project = env.project_dir.as_deref().unwrap_or(project);
    let files = [
        paths.settings.clone(),
        project.join(".claude/settings.json"),
        project.join(".claude/settings.local.json"),
        PathBuf::from("/etc/claude-code/managed-settings.json"),
        PathBuf::from("/Library/Application Support/ClaudeCode/managed-settings.json"),
    ];
    let (mut found, mut broken) = (Readable::new(), Broken::new());
    for file in files {
        // In the home directory, the project's file is the user's file.
        let path = fs::canonicalize(&file).unwrap_or(file);
        let is_known = found.iter().any(|(known, _)| *known == path) || broken.iter().any(|(known, _)| *known == path);
        let text = bounded_read::bytes(&path, bounded_read::LARGE).ok();
        let Some(text) = text.filter(|text| !is_known && !text.trim_ascii().is_empty()) else { continue };
        match json_text::from_file(&text) {
            Ok(value @ Value::Object(_)) => found.push((path, value)),
            Ok(_) => broken.push((path, "not a JSON object".to_owned())),
            Err(error) => broken.push((path, format!("not JSON ({error})"))),
        }
    }
    (found, broken)
}

/// Returns every plugin and settings file that registers Longhaul's hooks.
pub(super) fn sources(client: &Client, files: &[(PathBuf, Value)]) -> Vec<Source> {
    let ours = client.plugins().iter().filter(|plugin| plugin.is_ours());
    let plugins = ours.map(|plugin| of_plugin(plugin, is_enabled(plugin, files)));
    let settings = files.iter().filter_map(|(path, value)| {
        let hooks = settings::executables_in(value);
        let programs = hooks.iter().map(|(_, command)| PathBuf::from(command)).filter(|path| path.is_absolute());
        (!hooks.is_empty()).then(|| Source {
            name: path.display().to_string(),
            id: None,
            version: None,
            job: None,
            is_enabled: true,
            events: hooks.len(),
            missing: programs.filter(|path| !is_executable(path)).collect(),
            has_launchers: false,
            errors: Vec::new(),
        })
    });
    plugins.chain(settings).collect()
}

/// Returns the only job of one of Longhaul's plugins; `None` if it has all jobs.
pub(super) fn job_of(plugin: &str) -> Option<&str> {
    plugin.strip_prefix(PLUGIN)?.strip_prefix('-')
}

/// Returns whether a plugin's hooks run here.
///
/// Claude Code is asked in the root folder, so its answer does not include the project's settings. As in Claude Code, a
/// later file overrides an earlier one.
fn is_enabled(plugin: &Plugin, files: &[(PathBuf, Value)]) -> bool {
    let by_settings = files.iter().rev().find_map(|(_, value)| value["enabledPlugins"][&plugin.id].as_bool());
    by_settings.unwrap_or(plugin.enabled)
}

fn of_plugin(plugin: &Plugin, is_enabled: bool) -> Source {
    let root = plugin.folder().unwrap_or(Path::new(""));
    let hooks: Value = bounded_read::bytes(&root.join("hooks/hooks.json"), bounded_read::LARGE)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let hooks = settings::executables_in(&hooks);
    let programs = hooks
        .iter()
        .map(|(_, command)| PathBuf::from(command.replace("${CLAUDE_PLUGIN_ROOT}", &root.to_string_lossy())));
    Source {
        name: format!("plugin {} {}", plugin.id, plugin.version),
        id: Some(plugin.id.clone()),
        version: Some(plugin.version.clone()).filter(|version| !version.is_empty()),
        job: job_of(plugin.name()).map(str::to_owned),
        is_enabled,
        events: hooks.len(),
        has_launchers: programs.clone().any(|path| has_launcher(&path)),
        missing: programs.filter(|path| !is_executable(path)).collect(),
        errors: plugin.errors.clone(),
    }
}

/// Returns the settings file that disables all hooks, if there is one.
pub(super) fn switched_off_by(files: &[(PathBuf, Value)]) -> Option<PathBuf> {
    let off =
        files.iter().find(|(_, value)| value["disableAllHooks"] == true || value["allowManagedHooksOnly"] == true);
    off.map(|(path, _)| path.clone())
}

/// Returns the enabled programs that do the same as one of Longhaul's jobs.
pub(super) fn peers(client: &Client, files: &[(PathBuf, Value)], tmux_confs: &[(PathBuf, String)]) -> Vec<Peer> {
    let mut found = Vec::new();
    for (name, job) in PEERS {
        for plugin in client.plugins().iter().filter(|plugin| plugin.enabled && plugin.name() == name) {
            let (place, fix) = (format!("plugin {}", plugin.id), format!("run `claude plugin disable {}`", plugin.id));
            found.push(Peer { name, job, place, fix });
        }
        for (path, _) in files.iter().filter(|(_, value)| has_hook_of(value, name)) {
            let fix = format!("remove its hooks from {}", path.display());
            found.push(Peer { name, job, place: path.display().to_string(), fix });
        }
        for (path, _) in tmux_confs.iter().filter(|(_, text)| has_line_of(text, name)) {
            let fix = format!("remove its line from {}", path.display());
            found.push(Peer { name, job, place: path.display().to_string(), fix });
        }
    }
    found
}

fn has_hook_of(settings: &Value, name: &str) -> bool {
    let events = settings["hooks"].as_object().into_iter().flat_map(|events| events.values());
    let groups = events.filter_map(Value::as_array).flatten().filter_map(|group| group["hooks"].as_array()).flatten();
    groups.filter_map(|hook| hook["command"].as_str()).any(|command| has_word(command, name))
}

fn has_line_of(conf: &str, name: &str) -> bool {
    conf.lines().map(str::trim).filter(|line| !line.starts_with('#')).any(|line| has_word(line, name))
}

/// Returns whether `text` contains `name` as a whole word, such as a component of a path.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.split(|c| !is_part(c)).any(|word| word == name)
}
