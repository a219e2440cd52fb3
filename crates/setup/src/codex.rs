//! Codex: our hooks in its hooks.json, and our skill where it looks for one.

mod hooks;
mod skill;

#[cfg(test)]
pub(crate) use self::hooks::is_ours;
pub(crate) use self::hooks::{with_hooks, without_hooks};
pub(crate) use self::skill::{with_skill, without_skill};

use std::path::{Path, PathBuf};

use longhaul_core::Env;
use longhaul_runtime::{bounded_read, shared_file};

use crate::install::{Plan, edit};
use crate::paths::{LINK, lasting};
use crate::step::{Edit, Step};
use crate::{Error, Result};

/// The skill, below `$HOME`.
const SKILL: &str = ".agents/skills/longhaul-memory/SKILL.md";

/// What Codex's config.toml has where longhaul is a plugin of it.
const AS_PLUGIN: &str = "\"longhaul@";

/// What of Codex is there now.
#[derive(Debug, Clone)]
pub struct Codex {
    /// Its hooks.json.
    hooks: Known,
    /// Our skill.
    skill: Known,
    /// `longhaul` on the path.
    link: PathBuf,
    /// Whether longhaul is one of its plugins, too.
    has_plugin: bool,
}

impl Codex {
    /// Returns whether there is a Codex that may have anything of ours.
    pub fn is_there(env: &Env) -> bool {
        env.codex_dir.as_ref().is_some_and(|dir| dir.is_dir())
    }

    /// Looks.
    pub fn look(env: &Env) -> Result<Self> {
        let home = env.home_dir.as_ref().ok_or(Error::NoHome)?;
        let folder = env.codex_dir.clone().ok_or(Error::NoHome)?;
        if !folder.is_dir() {
            return Err(Error::NoCodex { folder });
        }
        Ok(Self {
            hooks: Known::read(folder.join("hooks.json"))?,
            skill: Known::read(home.join(SKILL))?,
            link: home.join(LINK),
            has_plugin: bounded_read::text(&folder.join("config.toml"), bounded_read::LARGE)
                .is_ok_and(|text| text.contains(AS_PLUGIN)),
        })
    }

    /// Plans to put hooks and skill where Codex finds them; the hooks start `exe`, by a path that lasts if there is one.
    pub fn install(&self, env: &Env, exe: &Path) -> Result<Plan> {
        let mut plan = Plan::default();
        let program = lasting(env, exe);
        self.hooks.edit(&mut plan, Edit::AddCodexHooks(program.clone()))?;
        if !plan.steps.is_empty() {
            let trust = "Codex runs no hook that you have not trusted: start codex, which asks (or type /hooks there).";
            plan.notes.push(trust.to_owned());
        }
        self.skill.edit(&mut plan, Edit::AddSkill)?;
        if program != self.link {
            plan.notes.push(format!(
                "The hooks start {}. When that file moves, run this again, and Codex will ask again.",
                program.display()
            ));
        }
        if self.has_plugin {
            let twice = "Codex also has longhaul as a plugin: remove one of the two, or every event is told twice.";
            plan.notes.push(twice.to_owned());
        }
        Ok(plan)
    }

    /// Plans to take away what [`install`](Self::install) puts anywhere, and nothing else.
    pub fn uninstall(&self) -> Result<Plan> {
        let mut plan = Plan::default();
        self.hooks.edit(&mut plan, Edit::RemoveCodexHooks)?;
        let before = plan.steps.len();
        self.skill.edit(&mut plan, Edit::RemoveSkill)?;
        if plan.steps.len() > before {
            let folders = self.skill.path.ancestors().skip(1).take(3);
            plan.steps.extend(folders.map(|folder| Step::RemoveIfEmpty(folder.to_owned())));
        }
        Ok(plan)
    }
}

/// A file, and what is in it now.
#[derive(Debug, Clone)]
struct Known {
    path: PathBuf,
    text: Option<String>,
}

impl Known {
    fn read(path: PathBuf) -> Result<Self> {
        Ok(Self { text: shared_file::read(&path)?, path })
    }

    fn edit(&self, plan: &mut Plan, change: Edit) -> Result<()> {
        edit(plan, &self.path, self.text.as_deref(), change)
    }
}
