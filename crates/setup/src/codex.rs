//! The installation for Codex: hooks in its hooks.json, and a skill.

mod hooks;
mod skill;

#[cfg(test)]
pub(crate) use self::hooks::is_ours;
pub(crate) use self::hooks::{with_hooks, without_hooks};
pub(crate) use self::skill::{with_skill, without_skill};

use std::path::{Path, PathBuf};

use longhaul_core::Env;
use longhaul_runtime::{bounded_read, shared_file};

use crate::install::{InstallPlan, edit};
use crate::paths::{LINK, stable_path};
use crate::step::{Edit, InstallStep};
use crate::{Error, Result};

/// The skill, below `$HOME`.
const SKILL: &str = ".agents/skills/longhaul-memory/SKILL.md";

/// A part of Codex's config.toml that shows that Longhaul is installed as a plugin of Codex.
const AS_PLUGIN: &str = "\"longhaul@";

/// What is installed for Codex now.
#[derive(Debug, Clone)]
pub struct Codex {
    /// Its hooks.json.
    hooks: FileText,
    /// The skill.
    skill: FileText,
    /// `longhaul` on the path.
    link: PathBuf,
    /// Whether Longhaul is also installed as a plugin of Codex.
    has_plugin: bool,
}

impl Codex {
    /// Returns whether Codex has a folder of settings.
    pub fn is_there(env: &Env) -> bool {
        env.codex_dir.as_ref().is_some_and(|dir| dir.is_dir())
    }

    /// Reads the files that an installation changes.
    pub fn read(env: &Env) -> Result<Self> {
        let home = env.home_dir.as_ref().ok_or(Error::NoHome)?;
        let folder = env.codex_dir.clone().ok_or(Error::NoHome)?;
        if !folder.is_dir() {
            return Err(Error::NoCodex { folder });
        }
        Ok(Self {
            hooks: FileText::read(folder.join("hooks.json"))?,
            skill: FileText::read(home.join(SKILL))?,
            link: home.join(LINK),
            has_plugin: bounded_read::text(&folder.join("config.toml"), bounded_read::LARGE)
                .is_ok_and(|text| text.contains(AS_PLUGIN)),
        })
    }

    /// Plans to add the hooks and the skill. The hooks start `exe`, by a path that stays the same after an update if there
    /// is one.
    pub fn install(&self, env: &Env, exe: &Path) -> Result<InstallPlan> {
        let mut plan = InstallPlan::default();
        let program = stable_path(env, exe);
        self.hooks.edit(&mut plan, Edit::AddCodexHooks(program.clone()))?;
        if !plan.steps.is_empty() {
            let trust =
                "Codex only runs hooks that you trust: start codex and answer its question, or type /hooks there.";
            plan.notes.push(trust.to_owned());
        }
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
    pub fn uninstall(&self) -> Result<InstallPlan> {
        let mut plan = InstallPlan::default();
        self.hooks.edit(&mut plan, Edit::RemoveCodexHooks)?;
        let before = plan.steps.len();
        self.skill.edit(&mut plan, Edit::RemoveSkill)?;
        if plan.steps.len() > before {
            let folders = self.skill.path.ancestors().skip(1).take(3);
            plan.steps.extend(folders.map(|folder| InstallStep::RemoveIfEmpty(folder.to_owned())));
        }
        Ok(plan)
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
