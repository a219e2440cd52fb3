//! The installation for Codex: hooks in its hooks.json, an MCP server in its config.toml, and a skill.

mod hooks_feature;
mod mcp;
mod skill;

pub(crate) use self::hooks_feature::{ask as ask_codex, switched_off, with_feature};
pub(crate) use self::mcp::{is_registered, with_server, without_server};
pub(crate) use self::skill::{with_skill, without_skill};

use std::path::{Path, PathBuf};

use longhaul_agents::Agent;
use longhaul_core::Env;
use longhaul_runtime::{Shell, shared_file};

use self::mcp::SERVER;
use crate::install::{InstallPlan, edit};
use crate::paths::{LINK, stable_path};
use crate::step::{Edit, InstallStep};
use crate::{Error, Result};

/// A part of Codex's config.toml that shows that Longhaul is installed as a plugin of Codex.
const AS_PLUGIN: &str = "\"longhaul@";

/// What is installed for Codex now.
#[derive(Debug, Clone)]
pub(crate) struct Codex {
    agent: &'static Agent,
    /// Its hooks.json.
    hooks: FileText,
    /// Its config.toml.
    config: FileText,
    /// Its executable.
    program: Option<PathBuf>,
    /// The skill.
    skill: FileText,
    /// `longhaul` on the path.
    link: PathBuf,
    /// Whether Longhaul is also installed as a plugin of Codex.
    has_plugin: bool,
}

impl Codex {
    /// Reads the files that an installation changes. `agent` is Codex's table.
    pub(crate) fn read(agent: &'static Agent, env: &Env, shell: &Shell) -> Result<Self> {
        let home = env.home_dir.as_ref().ok_or(Error::NoHome)?;
        let folder = env.codex_dir.clone().ok_or(Error::NoHome)?;
        if !folder.is_dir() {
            return Err(Error::NoCodex { folder });
        }
        let config = FileText::read(folder.join("config.toml"))?;
        Ok(Self {
            agent,
            hooks: FileText::read(folder.join(agent.config.file))?,
            skill: FileText::read(home.join(skill::PATH))?,
            link: home.join(LINK),
            has_plugin: config.text.as_deref().is_some_and(|text| text.contains(AS_PLUGIN)),
            program: shell.find(agent.program).into_iter().next(),
            config,
        })
    }

    /// Plans to switch on the feature `name`, which runs hooks.
    pub(crate) fn enable_hooks(&self, name: &'static str, plan: &mut InstallPlan) -> Result<()> {
        let enable = ["features", "enable", name].map(str::to_owned);
        self.register(plan, &enable, Edit::EnableCodexHooks(name))
    }

    /// Returns the feature that runs hooks, if it is switched off.
    pub(crate) fn hooks_switched_off(&self) -> Option<&'static str> {
        switched_off(self.program.as_deref(), self.config.text.as_deref())
    }

    /// Plans to add the hooks, the MCP server and the skill. The hooks and the server start `exe`, by a path that stays the same after an update if there
    /// is one.
    pub(crate) fn install(&self, env: &Env, exe: &Path) -> Result<InstallPlan> {
        let mut plan = InstallPlan::default();
        let program = stable_path(env, exe);
        self.hooks.edit(&mut plan, Edit::AddAgent(self.agent, program.clone()))?;
        if !plan.steps.is_empty() {
            let trust =
                "Codex only runs hooks that you trust: start codex and answer its question, or type /hooks there.";
            plan.notes.push(trust.to_owned());
        }
        let add = ["mcp", "add", SERVER, "--", &program.to_string_lossy(), "mcp"].map(str::to_owned);
        self.register(&mut plan, &add, Edit::AddCodexMcp(program.clone()))?;
        self.skill.edit(&mut plan, Edit::AddSkill)?;
        if program != self.link {
            plan.notes.push(format!(
                "The hooks start {}. If that file moves, run this command again; Codex then asks again.",
                program.display()
            ));
        }
        if self.has_plugin {
            let twice = "Codex also has longhaul as a plugin: remove one of the two, or every event is handled twice.";
            plan.notes.push(twice.to_owned());
        }
        Ok(plan)
    }

    /// Plans to remove what [`install`](Self::install) adds, and nothing else.
    pub(crate) fn uninstall(&self) -> Result<InstallPlan> {
        let mut plan = InstallPlan::default();
        // A file that cannot be read, and does not name Longhaul, needs no change.
        if self.hooks.text.as_deref().is_some_and(|text| text.contains(crate::PLUGIN)) {
            self.hooks.edit(&mut plan, Edit::RemoveAgent(None))?;
        }
        let remove = ["mcp", "remove", SERVER].map(str::to_owned);
        self.register(&mut plan, &remove, Edit::RemoveCodexMcp)?;
        let before = plan.steps.len();
        self.skill.edit(&mut plan, Edit::RemoveSkill)?;
        if plan.steps.len() > before {
            let folders = self.skill.path.ancestors().skip(1).take(3);
            plan.steps.extend(folders.map(|folder| InstallStep::RemoveIfEmpty(folder.to_owned())));
        }
        Ok(plan)
    }

    /// Plans a change of config.toml, made by Codex's own command if there is one.
    fn register(&self, plan: &mut InstallPlan, arguments: &[String], change: Edit) -> Result<()> {
        let mut planned = InstallPlan::default();
        if let Err(Error::Refused { path, refusal }) = self.config.edit(&mut planned, change) {
            let command = arguments.join(" ");
            plan.notes.push(format!("{} {refusal}; or run `codex {command}`. The rest is done.", path.display()));
        }
        plan.steps.extend(planned.steps.into_iter().map(|step| match (step, &self.program) {
            (InstallStep::Edit(file, edit), Some(program)) => {
                InstallStep::Codex { program: program.clone(), arguments: arguments.to_vec(), file, edit }
            }
            (step, _) => step,
        }));
        Ok(())
    }
}

/// A file and its current content.
#[derive(Debug, Clone)]
struct FileText {
    path: PathBuf,
    text: Option<String>,
}

impl FileText {
    fn read(path: PathBuf) -> Result<Self> {
        Ok(Self { text: shared_file::read(&path)?, path })
    }

    fn edit(&self, plan: &mut InstallPlan, change: Edit) -> Result<()> {
        edit(plan, &self.path, self.text.as_deref(), change)
    }
}
