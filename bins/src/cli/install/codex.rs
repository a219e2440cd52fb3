//! Codex's hooks.json and the skill in `~/.agents/skills`: put there, kept up to date, taken away.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use longhaul_core::Env;
use longhaul_setup::shared_file::{self, Backup};

use super::codex_hooks::{Refusal, with_hooks, without_hooks};
use crate::cli::{Exit, out};

/// `longhaul` on the path, below `$HOME`: the same from version to version.
const LINK: &str = ".local/bin/longhaul";

/// The skill, below `$HOME`.
const SKILL: &str = ".agents/skills/longhaul-memory/SKILL.md";

/// What the skill says.
const SKILL_TEXT: &str = include_str!("../../../../plugin/skills/memory/SKILL.md");

/// By what a skill that we put there is known.
const SKILL_MARK: &str = "<!-- put here by `longhaul install --codex` -->";

/// What a file becomes: `None` leaves it as it is, an empty text removes it.
type Edit<'a> = &'a dyn Fn(Option<&str>) -> Result<Option<String>, Refusal>;

/// Puts hooks and skill where Codex finds them.
pub(crate) fn install(env: &Env, dry_run: bool) -> Result<Exit> {
    let places = Places::of(env)?;
    let program = places.program()?;
    let hooks: Edit<'_> = &|text| with_hooks(text, &program.to_string_lossy());
    let skill: Edit<'_> = &|text| Ok(Some(skill()).filter(|skill| text != Some(skill.as_str())));
    let is_new = change(&places.hooks, hooks, dry_run)?;
    change(&places.skill, skill, dry_run)?;
    if is_new && !dry_run {
        out::message("Codex runs no hook that you have not trusted: start codex, which asks (or type /hooks there).");
    }
    if program != places.link {
        out::message(&format!(
            "The hooks start {}. When that file moves, run this again, and Codex will ask again.",
            program.display()
        ));
    }
    if fs::read_to_string(places.codex.join("config.toml")).is_ok_and(|text| text.contains("\"longhaul@")) {
        out::message("Codex also has longhaul as a plugin: remove one of the two, or every event is told twice.");
    }
    Ok(Exit::Success)
}

/// Returns whether there is a Codex that may have any of it.
pub(crate) fn is_there(env: &Env) -> bool {
    env.codex_dir.as_ref().is_some_and(|dir| dir.is_dir())
}

/// Takes away what [`install`] has put anywhere, and nothing else.
pub(crate) fn uninstall(env: &Env, dry_run: bool) -> Result<Exit> {
    let places = Places::of(env)?;
    change(&places.hooks, &without_hooks, dry_run)?;
    let is_ours = |text: &str| text.contains(SKILL_MARK);
    let is_gone = change(&places.skill, &|text| Ok(text.filter(|text| is_ours(text)).map(|_| String::new())), dry_run)?;
    if is_gone && !dry_run {
        // Those that hold anything else stay.
        let folders = places.skill.ancestors().skip(1).take(3);
        folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
    }
    Ok(Exit::Success)
}

fn skill() -> String {
    // A skill is called like its folder, and that is one among many people's.
    let text = SKILL_TEXT.replacen("name: memory\n", "name: longhaul-memory\n", 1);
    format!("{}\n\n{SKILL_MARK}\n", text.trim_end())
}

struct Places {
    codex: PathBuf,
    hooks: PathBuf,
    skill: PathBuf,
    link: PathBuf,
}

impl Places {
    fn of(env: &Env) -> Result<Self> {
        let home = env.home_dir.as_ref().context("no home directory: set HOME")?;
        let codex = env.codex_dir.clone().context("no home directory: set HOME or CODEX_HOME")?;
        if !codex.is_dir() {
            bail!("there is no {}: start codex once, or set CODEX_HOME to the folder of its settings", codex.display());
        }
        Ok(Self { hooks: codex.join("hooks.json"), skill: home.join(SKILL), link: home.join(LINK), codex })
    }

    /// Returns the path of this executable that stays the same from version to version, where there is one.
    fn program(&self) -> Result<PathBuf> {
        let exe = std::env::current_exe().context("cannot tell where this executable lies")?;
        let leads_here = fs::canonicalize(&self.link).is_ok_and(|target| Some(target) == fs::canonicalize(&exe).ok());
        Ok(if leads_here { self.link.clone() } else { exe })
    }
}

/// Changes a file, and says so; returns whether there was anything to change.
fn change(path: &Path, edit: Edit<'_>, dry_run: bool) -> Result<bool> {
    let edit = |old: Option<&str>| edit(old).with_context(|| format!("cannot change {}", path.display()));
    let old = shared_file::read(path)?;
    let Some(new) = edit(old.as_deref())? else { return Ok(false) };
    let did = match (old.is_some(), new.is_empty()) {
        (_, true) => "remove",
        (true, false) => "change",
        (false, false) => "create",
    };
    if dry_run {
        out::message(&format!("would {did} {}", path.display()));
        return Ok(true);
    }
    let changed = shared_file::change(path, Backup::None, edit)?;
    if changed {
        out::message(&format!("{did}d {}", path.display()));
    }
    Ok(changed)
}
