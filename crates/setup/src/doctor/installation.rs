//! Checks of the plugin in Claude Code: its executables, their launchers, versions, registered hooks, and whether they run.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_core::catalog::{self, Job};
use longhaul_core::{Env, json_text};
use longhaul_inject::TerminalCommand;
use longhaul_runtime::{bounded_read, has_launcher, is_executable, run_program_in, waiting_times};
use longhaul_universal_bundle::Location;
use serde_json::Value;

use super::{Client, Facts, Level, Report, ago, few, written};
use crate::claude_command::Plugin;
use crate::current_state::{InstallPaths, names};
use crate::{ID, PLUGIN, settings};

/// How much later than the last hook a transcript may have been written before that is reported.
const SLACK_MS: u64 = 10 * 60 * 1000;

/// The fix if executables are missing.
const REINSTALL: &str = "install again: `cargo xtask install`, or `bin/longhaul install` in an unpacked archive";

/// Checks that no executable of the bundle is missing.
pub(super) fn executables(facts: &Facts<'_>, report: &mut Report) {
    let about = bundle_of(facts.exe);
    let job = about.as_ref().and_then(|about| job_of(about["name"].as_str()?));
    let job = job.and_then(Job::from_name);
    let is_missing = |name: &&str| !is_executable(&facts.exe.with_file_name(name));
    let this = format!("longhaul {} at {}", env!("CARGO_PKG_VERSION"), facts.exe.display());
    match few(catalog::executables(job).filter(is_missing)).as_str() {
        "" => report.ok(format!("{this}, no executable is missing")),
        missing => report.broken(format!("{this}: missing {missing}"), REINSTALL),
    }
}

/// Returns the plugin.json of the bundle that an executable is in.
fn bundle_of(exe: &Path) -> Option<Value> {
    json_in(&Location::of(exe)?.bundle.join(".claude-plugin/plugin.json"))
}

fn json_in(path: &Path) -> Option<Value> {
    serde_json::from_slice(&bounded_read::bytes(path, bounded_read::LARGE).ok()?).ok()
}

/// Returns the only job of one of Longhaul's plugins; `None` if it has all jobs.
fn job_of(plugin: &str) -> Option<&str> {
    plugin.strip_prefix(PLUGIN)?.strip_prefix('-')
}

/// Checks that the `longhaul` on the path is this one.
pub(super) fn path(facts: &Facts<'_>, report: &mut Report) {
    let dir = facts.paths.link.parent().unwrap_or(&facts.paths.link).display();
    match facts.on_path.as_deref() {
        Some(first) if first == facts.exe => report.ok("`longhaul` is on the PATH"),
        Some(first) => report.warning(
            format!("`longhaul` on the PATH is a different one: {}", first.display()),
            format!("remove it, or put {dir} before it"),
        ),
        None => report.warning("`longhaul` is not on the PATH", format!("add {dir} to your PATH")),
    }
}

/// Checks that the plugin has the same version as the `longhaul` on the path.
pub(super) fn versions(facts: &Facts<'_>, report: &mut Report) {
    let Some(on_path) = facts.on_path.as_deref().and_then(version_of) else { return };
    for source in facts.sources.iter().filter(|source| source.is_enabled) {
        if let Some(version) = source.version.as_ref().filter(|version| **version != on_path) {
            let id = source.id.as_deref().unwrap_or(&source.name);
            report.warning(
                format!("`longhaul` on the PATH is version {on_path}, the plugin {id} is version {version}"),
                "run `longhaul install` of the newer version, then restart the sessions",
            );
        }
    }
}

/// Returns the version of a `longhaul`: that of its bundle, or the one that it prints.
fn version_of(program: &Path) -> Option<String> {
    if let Some(version) = bundle_of(program).and_then(|about| Some(about["version"].as_str()?.to_owned())) {
        return Some(version);
    }
    let argv = vec![program.to_str()?.to_owned(), "--version".to_owned()];
    let ask = TerminalCommand { argv, stdin: None };
    let printed = run_program_in(Path::new("/"), &ask, waiting_times::OTHER_VERSION).ok()?;
    printed.trim().strip_prefix("longhaul ").map(str::to_owned)
}

/// Checks whether the environment or a settings file disables every hook.
pub(super) fn disabled(facts: &Facts<'_>, report: &mut Report) {
    let here = facts.env.disabled.then(|| "the environment".to_owned());
    let files = facts.settings.iter().filter(|(_, value)| value["env"]["LONGHAUL_DISABLE"] == "1");
    for by in here.into_iter().chain(files.map(|(path, _)| path.display().to_string())) {
        report.broken(
            format!("{by} sets LONGHAUL_DISABLE=1: the hooks do nothing in sessions that are started with it"),
            "unset it, and restart the sessions",
        );
    }
}

/// Checks that Claude Code is there and answers.
pub(super) fn client(facts: &Facts<'_>, report: &mut Report) {
    match &facts.client {
        Client::Found(_) => {}
        Client::Missing => report.warning(
            "`claude` is not on the PATH, so its plugins cannot be checked",
            "install Claude Code, or set CLAUDE_BIN to its path; then run `longhaul install`",
        ),
        Client::Failed(why) => report.broken(why, "update Claude Code"),
        Client::Hangs => report.broken(
            format!(
                "`claude plugin list` does not answer within {} s, so the plugins cannot be checked",
                waiting_times::CLAUDE_PLUGIN_LIST_FOR_DOCTOR.as_secs()
            ),
            "run `claude plugin list` in a terminal and see what it waits for",
        ),
    }
}

/// Checks for settings files that Claude Code cannot read.
pub(super) fn settings(facts: &Facts<'_>, report: &mut Report) {
    let off = few(facts.sources.iter().filter(|source| !source.is_enabled).map(|source| &source.name));
    let effect = if off.is_empty() { String::new() } else { format!(", and {off} counts as disabled") };
    for (path, why) in &facts.broken_settings {
        report.broken(
            format!("{} is {why}: Claude Code ignores it{effect}", path.display()),
            "correct the file; nothing has to be installed again",
        );
    }
}

/// Checks that the hooks are registered, once.
pub(super) fn registration(facts: &Facts<'_>, report: &mut Report) {
    let is_off = |value: &Value| value["disableAllHooks"] == true || value["allowManagedHooksOnly"] == true;
    if let Some((path, _)) = facts.settings.iter().find(|(_, value)| is_off(value)) {
        let what = format!("{} disables the hooks of plugins and users", path.display());
        report.broken(what, "remove disableAllHooks or allowManagedHooksOnly from it");
    }
    for source in &facts.sources {
        // With invalid settings, Claude Code lists every plugin as disabled. Then the settings have to be repaired.
        if source.is_enabled || facts.broken_settings.is_empty() {
            one_source(source, report);
        }
    }
    let active: Vec<&Source> = facts.sources.iter().filter(|source| source.is_enabled).collect();
    for (at, source) in active.iter().enumerate() {
        let is_twin = |other: &&&Source| other.job.is_none() || source.job.is_none() || other.job == source.job;
        if let Some(twin) = active[..at].iter().find(is_twin) {
            report.broken(
                format!("registered twice, so every event is handled twice: {} and {}", twin.name, source.name),
                "run `longhaul install`, which keeps one of them, or remove one yourself",
            );
        }
    }
    if facts.sources.is_empty() {
        let fix = "run `longhaul install`";
        if let Client::Found(_) = facts.client {
            report.broken("no hooks are registered, so Longhaul does nothing", fix);
        } else {
            report.warning("settings files register no hooks, and whether a plugin does cannot be checked", fix);
        }
    }
}

fn one_source(source: &Source, report: &mut Report) {
    let Source { name, missing, errors, .. } = source;
    if !errors.is_empty() {
        report.broken(format!("{name}: {}", errors.join("; ")), "run `longhaul install`");
    }
    if !source.is_enabled {
        let fix = format!("run `claude plugin enable {}`", source.id.as_deref().unwrap_or(ID));
        report.broken(format!("{name} is disabled"), fix);
    }
    if !missing.is_empty() {
        let missing = few(missing.iter().map(|path| path.display()));
        report.broken(format!("{name} registers executables that cannot be run: {missing}"), "run `longhaul install`");
    }
    if errors.is_empty() && source.is_enabled && missing.is_empty() {
        let only = source.job.as_ref().map(|job| format!(", only the job {job}")).unwrap_or_default();
        report.ok(format!("{name}, {} events{only}", source.events));
    }
}

/// Checks whether hooks start through the launchers of a universal bundle, which a session should have replaced.
pub(super) fn launchers(facts: &Facts<'_>, report: &mut Report) {
    let problem = bounded_read::text(&facts.paths.data.launcher_problem(), bounded_read::SMALL).ok();
    for source in facts.sources.iter().filter(|source| source.has_launchers) {
        let what = format!("{} starts its hooks through launchers, which takes longer", source.name);
        match &problem {
            None => report.note(format!("{what}; the next session replaces them by the executables")),
            Some(problem) => report.warning(
                format!("{what}: {problem}"),
                format!("make the plugin's folder writable, or install {ID} again"),
            ),
        }
    }
}

/// Reports several versions of the plugin in Claude Code's cache.
pub(super) fn cache(facts: &Facts<'_>, report: &mut Report) {
    let cached = names(&facts.paths.cache().join(PLUGIN));
    if cached.len() > 1 {
        let what = format!("Claude Code keeps several versions of the plugin: {}", cached.join(", "));
        let fix = "it removes old ones itself; `longhaul install` does so when no session runs";
        report.push(Level::Note, what, Some(fix.to_owned()));
    }
}

/// Checks that hooks have run.
pub(super) fn fired(facts: &Facts<'_>, report: &mut Report) {
    let installed = facts.manifest.as_ref().map_or(0, |manifest| manifest.installed_at);
    let last = facts.last_hook.as_ref().map_or(0, |(at, _)| *at);
    let is_late = last_transcript(&facts.paths.client_dir).is_some_and(|at| at > last.max(installed) + SLACK_MS);
    match &facts.last_hook {
        _ if is_late => report.warning(
            "sessions were active recently, but no hook has run",
            "restart the sessions, and check /hooks and /plugin in one of them",
        ),
        Some((at, session)) => report.ok(format!("last hook {}, in session {session}", ago(facts.now, *at))),
        None => report.note("no hook has run yet: start a session"),
    }
    let is_known = |session: &str| {
        longhaul_core::SessionId::new(session).is_some_and(|id| facts.paths.data.session_file(&id, "json").exists())
    };
    let running = facts.running.iter().map(|client| client.session.as_str());
    let without_hooks = few(running.filter(|session| !is_known(session)));
    if !without_hooks.is_empty() {
        let what = format!("sessions run without Longhaul's hooks: {without_hooks}");
        report.warning(what, "they were started before the installation: restart them");
    }
}

/// Returns when a transcript was last written to.
fn last_transcript(client_dir: &Path) -> Option<u64> {
    let projects = client_dir.join("projects");
    // Requests of the worker to a model run without hooks.
    let folders = names(&projects).into_iter().filter(|name| !name.ends_with("-longhaul-model"));
    let files = folders.flat_map(|folder| {
        let folder = projects.join(folder);
        names(&folder).into_iter().map(move |name| folder.join(name)).collect::<Vec<_>>()
    });
    files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).filter_map(|path| written(&path)).max()
}

/// A plugin or a settings file that registers Longhaul's hooks.
pub(super) struct Source {
    name: String,
    /// The plugin's id; `None` for a settings file, which has no version and no job either.
    id: Option<String>,
    version: Option<String>,
    /// The only job that it has; `None` for all jobs.
    job: Option<String>,
    /// Whether Claude Code runs its hooks.
    is_enabled: bool,
    /// The number of events.
    events: usize,
    /// Executables that are registered but cannot be run.
    missing: Vec<PathBuf>,
    /// Whether its hooks start through the launchers of a universal bundle.
    has_launchers: bool,
    /// Errors that Claude Code reports.
    errors: Vec<String>,
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
    let hooks = settings::executables_in(&json_in(&root.join("hooks/hooks.json")).unwrap_or_default());
    let program = |command: &str| PathBuf::from(command.replace("${CLAUDE_PLUGIN_ROOT}", &root.to_string_lossy()));
    let programs = hooks.iter().map(|(_, command)| program(command));
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

/// Programs that do the same as one of Longhaul's jobs.
const PEERS: [(&str, &str); 4] = [
    ("claude-mem", "memory"),
    ("tav", "bookmarks"),
    ("throughline", "handoff"),
    ("tmux-claude-agent-tracker", "tracker"),
];

/// Reports the enabled programs that do the same as one of Longhaul's jobs.
pub(super) fn peers(facts: &Facts<'_>, report: &mut Report) {
    for (name, job) in PEERS {
        let mut conflict = |place: String, fix: String| {
            let what = format!("{name} does the same as Longhaul's {job}: {place}");
            report.warning(what, format!("{fix}; or set {job}.enabled to false"));
        };
        for plugin in facts.client.plugins().iter().filter(|plugin| plugin.enabled && plugin.name() == name) {
            conflict(format!("plugin {}", plugin.id), format!("run `claude plugin disable {}`", plugin.id));
        }
        for (path, _) in facts.settings.iter().filter(|(_, value)| has_hook_of(value, name)) {
            conflict(path.display().to_string(), format!("remove its hooks from {}", path.display()));
        }
        for (path, _) in facts.tmux_confs.iter().filter(|(_, text)| has_line_of(text, name)) {
            conflict(path.display().to_string(), format!("remove its line from {}", path.display()));
        }
    }
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
