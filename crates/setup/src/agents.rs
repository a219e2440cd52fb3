//! The installation for an agent of the table: hooks and the search tools in its settings, or a module of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use longhaul_agents::{Agent, ConfigShape, EventRule, Folder};
use longhaul_core::Env;
use longhaul_core::catalog::HOOK_EXECUTABLE;
use longhaul_core::json_text::{self, JsonFile, Object};
use longhaul_inject::shell_single_quote;
use longhaul_runtime::{Shell, bounded_read, shared_file};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::codex::Codex;
use crate::current_state::{InstallPaths, LINK, stable_path};
use crate::install::InstallPlan;
use crate::json_comments::Commented;
use crate::settings::{self, Change, Refusal, change_hooks};
use crate::step::{Edit, InstallStep};
use crate::{Error, PLUGIN, Result};

/// Plans to add the hooks of an agent, which start `exe`.
pub fn plan_install(
    agent: &'static Agent,
    env: &Env,
    shell: &Shell,
    paths: &InstallPaths,
    exe: &Path,
) -> Result<InstallPlan> {
    match agent.config.shape {
        ConfigShape::CodexHooks => Codex::read(agent, env, shell)?.install(env, exe),
        ConfigShape::HookGroups | ConfigShape::Module => AgentSetup::read(agent, env, shell, paths)?.install(env, exe),
    }
}

/// Returns the feature of Codex that runs hooks and the plan that switches it on, if it is off and `agent` is Codex.
pub fn plan_hooks(agent: &'static Agent, env: &Env, shell: &Shell) -> Result<Option<(&'static str, InstallPlan)>> {
    match agent.config.shape {
        ConfigShape::CodexHooks => Ok(Codex::read(agent, env, shell)?.enable_hooks()),
        ConfigShape::HookGroups | ConfigShape::Module => Ok(None),
    }
}

/// Plans to remove what [`plan_install`] adds, and nothing else.
pub fn plan_uninstall(agent: &'static Agent, env: &Env, shell: &Shell, paths: &InstallPaths) -> Result<InstallPlan> {
    match agent.config.shape {
        ConfigShape::CodexHooks => Codex::read(agent, env, shell)?.uninstall(),
        ConfigShape::HookGroups | ConfigShape::Module => AgentSetup::read(agent, env, shell, paths)?.uninstall(),
    }
}

/// What is installed for an agent now.
pub struct AgentSetup {
    agent: &'static Agent,
    /// The file that an installation changes, and its text.
    path: PathBuf,
    text: Option<String>,
    /// The record of the file before the installation.
    record_path: PathBuf,
    record: Option<ConfigRecord>,
    link: PathBuf,
}

impl AgentSetup {
    /// Returns the folder of an agent's configuration.
    pub fn folder(agent: &Agent, env: &Env, shell: &Shell) -> Option<PathBuf> {
        if let Some((_, folder)) = shell.agent_folders.iter().find(|(name, _)| *name == agent.name) {
            return Some(folder.clone());
        }
        let home = env.home_dir.as_ref()?;
        Some(match agent.config.folder {
            Folder::Home(folder) => home.join(folder),
            Folder::Config(folder) => shell.config_home.clone().unwrap_or_else(|| home.join(".config")).join(folder),
            Folder::Codex => env.codex_dir.clone()?,
        })
    }

    /// Returns whether the agent has a folder of settings.
    pub fn is_there(agent: &Agent, env: &Env, shell: &Shell) -> bool {
        Self::folder(agent, env, shell).is_some_and(|folder| folder.is_dir())
    }

    /// Reads the file that an installation changes.
    pub fn read(agent: &'static Agent, env: &Env, shell: &Shell, paths: &InstallPaths) -> Result<Self> {
        let folder = Self::folder(agent, env, shell).ok_or(Error::NoHome)?;
        if !folder.is_dir() {
            return Err(Error::NoAgent { agent: agent.title, program: agent.program, folder });
        }
        let path = folder.join(agent.config.file);
        let record_path = paths.data.dir().join("agents").join(format!("{}.json", agent.name));
        Ok(Self {
            agent,
            text: shared_file::read(&path)?,
            path,
            record: ConfigRecord::load(&record_path),
            record_path,
            link: paths.home.join(LINK),
        })
    }

    pub(crate) fn registered(&self) -> Registered {
        registered(self.agent, self.text.as_deref().unwrap_or_default())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Plans to add the hooks, which start `exe` by a path that stays the same after an update if there is one.
    fn install(&self, env: &Env, exe: &Path) -> Result<InstallPlan> {
        let mut plan = InstallPlan::default();
        let (agent, program) = (self.agent, stable_path(env, exe));
        let path = program.clone();
        let change = match agent.config.shape {
            ConfigShape::HookGroups | ConfigShape::CodexHooks => addition_of_hooks(agent, path),
            ConfigShape::Module => Edit::new("write the module to", move |text| with_module(text, &path)),
        };
        let text = self.text.as_deref();
        let refused = |refusal| Error::Refused { path: self.path.clone(), refusal };
        if let Some(record) = change.apply(text).map_err(refused)?.and_then(|after| self.record(after)) {
            let record = serde_json::to_string(&record).unwrap_or_default();
            let about = "record the settings before the change in";
            plan.steps
                .push(InstallStep::Edit(self.record_path.clone(), Edit::new(about, move |_| Ok(Some(record.clone())))));
        }
        plan.edit(&self.path, text, change)?;
        if !plan.steps.is_empty() {
            plan.notes.push(format!("Sessions of {} that already run need a restart.", agent.title));
        }
        if program != self.link {
            let program = program.display();
            plan.notes.push(format!("The hooks start {program}. If that file moves, run this command again."));
        }
        Ok(plan)
    }

    /// Returns the record that is needed to restore the file once it has the text `after`.
    fn record(&self, after: String) -> Option<ConfigRecord> {
        match self.agent.config.shape {
            ConfigShape::HookGroups | ConfigShape::CodexHooks => {
                ConfigRecord::needed(self.record.as_ref(), self.text.as_deref(), after)
            }
            ConfigShape::Module => {
                let is_new = self.text.is_none() && self.record.is_none() && self.folder_of_file().is_dir();
                is_new.then_some(ConfigRecord { before: None, after, had_folder: true })
            }
        }
    }

    fn folder_of_file(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Plans to remove what [`install`](Self::install) adds, and nothing else.
    fn uninstall(&self) -> Result<InstallPlan> {
        let mut plan = InstallPlan::default();
        let text = self.text.as_deref();
        match self.agent.config.shape {
            // A file that cannot be read, and does not name Longhaul, needs no change.
            ConfigShape::HookGroups | ConfigShape::CodexHooks if !text.is_some_and(|text| text.contains(PLUGIN)) => {}
            ConfigShape::HookGroups | ConfigShape::CodexHooks => {
                plan.edit(&self.path, text, removal_of_hooks(self.record.clone()))?;
                let was_empty =
                    |record: &ConfigRecord| Some(record.after.as_str()) == text && record.before.as_deref() == Some("");
                if self.record.as_ref().is_some_and(was_empty) {
                    plan.steps.push(InstallStep::CreateEmpty(self.path.clone()));
                }
            }
            ConfigShape::Module => {
                plan.edit(&self.path, text, Edit::removal("remove the module", |text| Ok(without_module(text))))?;
                if !plan.steps.is_empty() && !self.record.as_ref().is_some_and(|record| record.had_folder) {
                    plan.steps.push(InstallStep::RemoveIfEmpty(self.folder_of_file().to_owned()));
                }
            }
        }
        if self.record.is_some() {
            plan.steps.push(InstallStep::Remove(self.record_path.clone()));
        }
        Ok(plan)
    }
}

/// Adds the hooks, and the MCP server if it belongs there, to the settings of an agent.
pub(crate) fn addition_of_hooks(agent: &'static Agent, program: PathBuf) -> Edit {
    Edit::new("add the hooks to", move |text| with_agent(text, agent, &program))
}

/// Removes them, and the file if it holds nothing else.
pub(crate) fn removal_of_hooks(record: Option<ConfigRecord>) -> Edit {
    Edit::removal("remove the hooks from", move |text| restored(text, record.as_ref()))
}

/// The module, with a placeholder for the program that it starts.
const TEXT: &str = include_str!("agents/opencode.js");

const PROGRAM: &str = "'longhaul' /* the program */";

/// The comment by which a module that Longhaul has written is recognised.
const MARK: &str = "// Longhaul's module for opencode";

/// Returns the text of the module, or `None` if the file has it already. A file that Longhaul has not written is refused.
pub(crate) fn with_module(text: Option<&str>, program: &Path) -> Change {
    if text.is_some_and(|text| !text.trim().is_empty() && !is_our_module(text)) {
        return Err(Refusal::NotFromLonghaul);
    }
    // A string of JSON is also one of JavaScript.
    let program = serde_json::Value::from(program.to_string_lossy()).to_string();
    let module = TEXT.replacen(PROGRAM, &program, 1);
    Ok((text != Some(module.as_str())).then_some(module))
}

/// Returns an empty text if Longhaul has written the module, and `None` otherwise.
pub(crate) fn without_module(text: &str) -> Option<String> {
    is_our_module(text).then(String::new)
}

fn is_our_module(text: &str) -> bool {
    text.starts_with(MARK)
}

fn program(text: &str) -> Option<PathBuf> {
    let value = text.lines().find_map(|line| line.strip_prefix("const LONGHAUL = "))?;
    serde_json::from_str::<String>(value).ok().map(PathBuf::from)
}

/// A file before and after an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConfigRecord {
    /// Its text before; `None` if it did not exist.
    before: Option<String>,
    /// Its text after. If it is another one now, the record is not used.
    after: String,
    /// Whether the folder of the file existed before, if the installation could have created it.
    had_folder: bool,
}

impl ConfigRecord {
    fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&bounded_read::bytes(path, bounded_read::LARGE).ok()?).ok()
    }

    /// Returns the record of a change from `text` to `after`; `None` if none is needed. `earlier` is that of an earlier
    /// installation.
    pub(crate) fn needed(earlier: Option<&Self>, text: Option<&str>, after: String) -> Option<Self> {
        let before = match earlier.filter(|earlier| Some(earlier.after.as_str()) == text) {
            Some(earlier) => earlier.before.clone(),
            None => match without_agent(text.unwrap_or_default()) {
                // Hooks of another version are in the file already.
                Ok(Some(without)) => Some(without).filter(|without| !without.is_empty()),
                Ok(None) | Err(_) => text.map(str::to_owned),
            },
        };
        // A file in which nothing is left is removed: one that was empty before is another one.
        let restored = without_agent(&after).ok().flatten().filter(|text| !text.is_empty());
        (restored != before).then_some(Self { before, after, had_folder: false })
    }
}

/// The member with the MCP servers.
const SERVERS: &str = "mcpServers";

/// What follows the program in the command of a hook. Codex's form must stay: its trust is in the text of the command.
const STARTS_HOOK: [&str; 2] = [" hook --agent ", " hook --codex "];

/// Returns the settings with the hooks of `agent` and the MCP server, which start `program`.
pub(crate) fn with_agent(text: Option<&str>, agent: &Agent, program: &Path) -> Change {
    let program = program.to_string_lossy();
    let word = word(&program);
    let group = |rule: &EventRule| {
        let command = format!("{word} hook {} {}", agent.option, rule.argument);
        let timeout = agent.timeout_units * rule.seconds;
        let hook = match agent.config.shape {
            ConfigShape::CodexHooks => json!({ "type": "command", "command": command, "timeout": timeout }),
            ConfigShape::HookGroups | ConfigShape::Module => {
                json!({ "name": "longhaul", "type": "command", "command": command, "timeout": timeout })
            }
        };
        json!({ "hooks": [hook] })
    };
    let wanted: Vec<_> = agent.events.iter().map(|rule| (rule.theirs, group(rule))).collect();
    let with_hooks = change_hooks(text, &wanted, is_our_hook)?;
    if agent.config.shape == ConfigShape::CodexHooks {
        return Ok(with_hooks);
    }
    let server = json!({ "command": program, "args": ["mcp"] });
    let with_server = change_server(with_hooks.as_deref().or(text), Some(&server))?;
    Ok(with_server.or(with_hooks))
}

/// Returns the settings without what [`with_agent`] adds, or an empty text if they hold nothing else. Comments stay.
pub(crate) fn without_agent(text: &str) -> Change {
    match remove(text) {
        Err(Refusal::NotJson) => {
            let commented = Commented::parse(text).ok_or(Refusal::NotJson)?;
            Ok(remove(&commented.json)?.map(|left| commented.restore(&left)))
        }
        left => Ok(left?.map(|left| if settings::names(&left).is_empty() { String::new() } else { left })),
    }
}

fn remove(text: &str) -> Change {
    let hookless = change_hooks(Some(text), &[], is_our_hook)?;
    let serverless = change_server(Some(hookless.as_deref().unwrap_or(text)), None)?;
    Ok(serverless.or(hookless))
}

/// Returns the settings as they were before the installation.
pub(crate) fn restored(text: &str, record: Option<&ConfigRecord>) -> Change {
    match record.filter(|record| record.after == text) {
        // An empty text means that the file did not exist.
        Some(record) => Ok(Some(record.before.clone().unwrap_or_default())),
        None => without_agent(text),
    }
}

/// Returns whether a command is one of Longhaul's, of any version and in any folder.
pub(crate) fn is_our_hook(command: &str) -> bool {
    let name = |program: &str| program.rsplit('/').next().map(str::to_owned);
    // A plugin of Codex starts the executable itself.
    let direct = || command.split_once(" codex ").and_then(|(program, _)| name(&unquoted(program)));
    program_of(command).is_some_and(|program| name(&program).as_deref() == Some(PLUGIN))
        || direct().as_deref() == Some(HOOK_EXECUTABLE)
}

/// Returns the program that a command of Longhaul's form starts.
fn program_of(command: &str) -> Option<String> {
    let program = |starts: &str| command.split_once(starts).map(|(program, _)| unquoted(program));
    STARTS_HOOK.into_iter().find_map(program)
}

fn unquoted(program: &str) -> String {
    program.trim().trim_matches(['\'', '"']).replace("'\\''", "'")
}

/// Adds, replaces or removes Longhaul's MCP server. A server of that name that Longhaul has not added stays.
fn change_server(text: Option<&str>, wanted: Option<&Value>) -> Change {
    let text = text.unwrap_or_default();
    let servers = match JsonFile::parse(text)?.members.get(SERVERS)? {
        Some(servers) => Object::parse(servers).ok_or_else(|| Refusal::shape(SERVERS))?,
        None => Object::default(),
    };
    let old: Option<Value> = servers.get(PLUGIN)?.and_then(|old| serde_json::from_str(old).ok());
    if old.as_ref() == wanted || old.as_ref().is_some_and(|old| !is_our_server(old)) {
        return Ok(None);
    }
    Ok(match wanted {
        Some(server) => json_text::set(text, &[SERVERS, PLUGIN], server),
        None => json_text::remove(text, &[SERVERS, PLUGIN]),
    })
}

fn is_our_server(server: &Value) -> bool {
    let program = server["command"].as_str().and_then(|command| command.rsplit('/').next());
    program == Some(PLUGIN) && server["args"] == json!(["mcp"])
}

/// Returns a path quoted for a shell, if that is necessary.
fn word(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if path.chars().all(is_plain) { path.to_owned() } else { shell_single_quote(path) }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Registered {
    Nothing,
    /// Its hooks, but the file is not JSON: the agent does not read it.
    Unreadable,
    Hooks(RegisteredHooks),
}

/// Longhaul's hooks in the file of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RegisteredHooks {
    pub(crate) events: Vec<String>,
    pub(crate) programs: BTreeSet<PathBuf>,
    /// Whether the MCP server is registered, and not excluded.
    pub(crate) has_server: bool,
    /// Whether the settings disable every hook.
    pub(crate) all_disabled: bool,
    /// Whether the settings disable Longhaul's hooks, by their name.
    pub(crate) is_disabled: bool,
}

pub(crate) fn registered(agent: &Agent, text: &str) -> Registered {
    match agent.config.shape {
        ConfigShape::HookGroups | ConfigShape::CodexHooks => in_settings(text),
        ConfigShape::Module if is_our_module(text) => Registered::Hooks(RegisteredHooks {
            events: agent.events.iter().map(|rule| rule.theirs.to_owned()).collect(),
            programs: program(text).into_iter().collect(),
            // The module adds it when opencode starts.
            has_server: true,
            ..RegisteredHooks::default()
        }),
        ConfigShape::Module => Registered::Nothing,
    }
}

fn in_settings(text: &str) -> Registered {
    let commented = || serde_json::from_str(&Commented::parse(text)?.json).ok();
    let Some(settings) = serde_json::from_str::<Value>(text).ok().or_else(commented) else {
        let is_named = STARTS_HOOK.into_iter().any(|starts| text.contains(starts));
        return if is_named { Registered::Unreadable } else { Registered::Nothing };
    };
    let mut found = RegisteredHooks::default();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        let hooks = groups.as_array().into_iter().flatten().filter_map(|group| group["hooks"].as_array()).flatten();
        let ours: Vec<&str> =
            hooks.filter_map(|hook| hook["command"].as_str()).filter(|text| is_our_hook(text)).collect();
        if !ours.is_empty() {
            found.events.push(event.clone());
        }
        found.programs.extend(ours.into_iter().filter_map(program_of).map(PathBuf::from));
    }
    if found.events.is_empty() {
        return Registered::Nothing;
    }
    let has_name = |list: &Value| list.as_array().is_some_and(|names| names.iter().any(|name| name == PLUGIN));
    found.has_server = settings[SERVERS][PLUGIN].is_object() && !has_name(&settings["mcp"]["excluded"]);
    found.all_disabled = settings["hooksConfig"]["enabled"] == false || settings["disableAllHooks"] == true;
    found.is_disabled = has_name(&settings["hooksConfig"]["disabled"]);
    Registered::Hooks(found)
}
