//! Who is told of our hooks, and who else listens.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_core::{Env, json_text};
use longhaul_runtime::{bounded_read, is_executable};
use serde_json::Value;

use super::facts::Client;
use crate::client::Plugin;
use crate::paths::Places;
use crate::{PLUGIN, settings};

/// Programs that do what one of our jobs does.
const PEERS: [(&str, &str); 4] = [
    ("claude-mem", "memory"),
    ("tav", "bookmarks"),
    ("throughline", "handoff"),
    ("tmux-claude-agent-tracker", "tracker"),
];

/// One place that registers hooks of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The plugin, or the settings file.
    pub name: String,
    /// How the client calls the plugin; `None` for a settings file.
    pub id: Option<String>,
    /// The plugin's version; `None` for a settings file.
    pub version: Option<String>,
    /// The one job that it is for; `None` for all of them.
    pub job: Option<String>,
    /// Whether the client runs them.
    pub is_enabled: bool,
    /// How many events.
    pub events: usize,
    /// Executables that are registered, and cannot be run.
    pub missing: Vec<PathBuf>,
    /// What the client says is wrong.
    pub errors: Vec<String>,
}

/// Another program that does one of our jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub name: &'static str,
    /// Our job.
    pub job: &'static str,
    /// Where it was found.
    pub place: String,
    /// What takes it away.
    pub mend: String,
}

/// Settings files with what is in them.
type Readable = Vec<(PathBuf, Value)>;

/// Settings files that are no JSON objects, with what is wrong.
type Broken = Vec<(PathBuf, String)>;

/// Returns the settings files that count here: the user's, the project's two, and those of the administrator.
pub(super) fn settings_files(env: &Env, places: &Places, project: &Path) -> (Readable, Broken) {
    let project = env.project_dir.as_deref().unwrap_or(project);
    let files = [
        places.settings.clone(),
        project.join(".claude/settings.json"),
        project.join(".claude/settings.local.json"),
        PathBuf::from("/etc/claude-code/managed-settings.json"),
        PathBuf::from("/Library/Application Support/ClaudeCode/managed-settings.json"),
    ];
    let (mut found, mut broken) = (Readable::new(), Broken::new());
    for file in files {
        // In the home itself the project's file is the user's.
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

/// Returns every place that registers hooks of ours.
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
            errors: Vec::new(),
        })
    });
    plugins.chain(settings).collect()
}

/// Returns the one job that a plugin of ours is for; `None` for all of them.
pub(super) fn job_of(plugin: &str) -> Option<&str> {
    plugin.strip_prefix(PLUGIN)?.strip_prefix('-')
}

/// Returns whether a plugin's hooks run here.
///
/// The client is asked in the root folder, so its answer leaves out what the project's settings say. The file that is
/// listed last has the last word, as in the client.
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
        missing: programs.filter(|path| !is_executable(path)).collect(),
        errors: plugin.errors.clone(),
    }
}

/// Returns the file that switches all hooks off, if one does.
pub(super) fn switched_off_by(files: &[(PathBuf, Value)]) -> Option<PathBuf> {
    let off =
        files.iter().find(|(_, value)| value["disableAllHooks"] == true || value["allowManagedHooksOnly"] == true);
    off.map(|(path, _)| path.clone())
}

/// Returns the programs that do what one of our jobs does, and are switched on.
pub(super) fn peers(client: &Client, files: &[(PathBuf, Value)], tmux_confs: &[(PathBuf, String)]) -> Vec<Peer> {
    let mut found = Vec::new();
    for (name, job) in PEERS {
        for plugin in client.plugins().iter().filter(|plugin| plugin.enabled && plugin.name() == name) {
            let (place, mend) = (format!("plugin {}", plugin.id), format!("claude plugin disable {}", plugin.id));
            found.push(Peer { name, job, place, mend });
        }
        for (path, _) in files.iter().filter(|(_, value)| has_hook_of(value, name)) {
            let mend = format!("take its hooks out of {}", path.display());
            found.push(Peer { name, job, place: path.display().to_string(), mend });
        }
        for (path, _) in tmux_confs.iter().filter(|(_, text)| has_line_of(text, name)) {
            let mend = format!("take its line out of {}", path.display());
            found.push(Peer { name, job, place: path.display().to_string(), mend });
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

/// Returns whether `name` stands in `text` as a word of its own, such as a part of a path.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.split(|c| !is_part(c)).any(|word| word == name)
}
