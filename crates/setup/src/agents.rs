//! The installation for an agent of the table: hooks and the search tools in its settings, or a module of its own.

mod module;
mod record;
mod registered;
mod settings_file;

pub(crate) use self::module::{with_module, without_module};
pub(crate) use self::record::ConfigRecord;
pub(crate) use self::registered::{Registered, RegisteredHooks, registered};
pub(crate) use self::settings_file::{is_ours, restored, with_agent, without_agent};

use std::path::{Path, PathBuf};

use longhaul_agents::{Agent, ConfigShape, Folder};
use longhaul_core::Env;
use longhaul_runtime::{Shell, shared_file};

use crate::codex::Codex;
use crate::install::{InstallPlan, edit};
use crate::paths::{InstallPaths, LINK, stable_path};
use crate::step::{Edit, InstallStep};
use crate::{Error, Result};

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

/// Returns the feature of Codex that runs hooks, if it is switched off and `agent` is Codex.
pub fn hooks_switched_off(agent: &'static Agent, env: &Env, shell: &Shell) -> Result<Option<&'static str>> {
    match agent.config.shape {
        ConfigShape::CodexHooks => Ok(Codex::read(agent, env, shell)?.hooks_switched_off()),
        ConfigShape::HookGroups | ConfigShape::Module => Ok(None),
    }
}

/// Adds to the plan for Codex that the feature `name`, which runs hooks, is switched on.
pub fn plan_hooks(
    agent: &'static Agent,
    env: &Env,
    shell: &Shell,
    name: &'static str,
    plan: &mut InstallPlan,
) -> Result<()> {
    Codex::read(agent, env, shell)?.enable_hooks(name, plan)
}

/// Plans to remove what [`plan_install`] adds, and nothing else.
pub fn plan_uninstall(agent: &'static Agent, env: &Env, shell: &Shell, paths: &InstallPaths) -> Result<InstallPlan> {
    match agent.config.shape {
        ConfigShape::CodexHooks => Codex::read(agent, env, shell)?.uninstall(),
        ConfigShape::HookGroups | ConfigShape::Module => AgentSetup::read(agent, env, shell, paths)?.uninstall(),
    }
}

/// What is installed for an agent now.
#[derive(Debug, Clone)]
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

    /// Returns what the file has of Longhaul.
    pub(crate) fn registered(&self) -> Registered {
        registered(self.agent, self.text.as_deref().unwrap_or_default())
    }

    /// Returns the file that an installation changes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Plans to add the hooks, which start `exe` by a path that stays the same after an update if there is one.
    pub fn install(&self, env: &Env, exe: &Path) -> Result<InstallPlan> {
        let mut plan = InstallPlan::default();
        let program = stable_path(env, exe);
        let refused = |refusal| Error::Refused { path: self.path.clone(), refusal };
        let change = match self.agent.config.shape {
            ConfigShape::HookGroups | ConfigShape::CodexHooks => Edit::AddAgent(self.agent, program.clone()),
            ConfigShape::Module => Edit::AddModule(self.agent, program.clone()),
        };
        if let Some(record) = change.apply(self.text.as_deref()).map_err(refused)?.and_then(|after| self.record(after))
        {
            plan.steps.push(InstallStep::Edit(self.record_path.clone(), Edit::RecordConfig(record)));
        }
        edit(&mut plan, &self.path, self.text.as_deref(), change)?;
        if !plan.steps.is_empty() {
            plan.notes.push(format!("Sessions of {} that already run need a restart.", self.agent.title));
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
                let is_new = self.text.is_none() && self.record.is_none();
                (is_new && self.folder_of_file().is_dir()).then(|| ConfigRecord::of_folder(after))
            }
        }
    }

    fn folder_of_file(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Plans to remove what [`install`](Self::install) adds, and nothing else.
    pub fn uninstall(&self) -> Result<InstallPlan> {
        let mut plan = InstallPlan::default();
        let text = self.text.as_deref();
        let record = self.record.as_ref();
        match self.agent.config.shape {
            // A file that cannot be read, and does not name Longhaul, needs no change.
            ConfigShape::HookGroups | ConfigShape::CodexHooks
                if !text.is_some_and(|text| text.contains(crate::PLUGIN)) => {}
            ConfigShape::HookGroups | ConfigShape::CodexHooks => {
                edit(&mut plan, &self.path, text, Edit::RemoveAgent(self.record.clone()))?;
                if record.is_some_and(|record| text.is_some_and(|text| record.was_empty(text))) {
                    plan.steps.push(InstallStep::CreateEmpty(self.path.clone()));
                }
            }
            ConfigShape::Module => {
                edit(&mut plan, &self.path, text, Edit::RemoveModule)?;
                if !plan.steps.is_empty() && !record.is_some_and(ConfigRecord::had_folder) {
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
