//! Collects where Longhaul's hooks are registered, and which other programs do the same jobs; `plugin.rs` and `config.rs` word
//! the findings.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_core::{Env, json_text};
use longhaul_runtime::{bounded_read, has_launcher, is_executable};
use serde_json::Value;

use super::facts::Client;
use crate::claude_command::Plugin;
use crate::paths::InstallPaths;
use crate::{PLUGIN, settings};

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
