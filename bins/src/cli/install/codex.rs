//! Codex's hooks.json and the skill in `~/.agents/skills`: put there, kept up to date, taken away.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use longhaul_core::Env;
use longhaul_runtime::replace_shared;

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

/// How often a change is tried when others write in between.
const TRIES: usize = 20;

/// What a file becomes: `None` leaves it as it is, an empty text removes it.
type Edit<'a> = &'a dyn Fn(Option<&str>) -> Result<Option<String>, Refusal>;

/// Puts hooks and skill where Codex finds them.
pub(super) fn install(env: &Env, dry_run: bool) -> Result<Exit> {
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

/// Takes away what [`install`] has put anywhere, and nothing else.
pub(super) fn uninstall(env: &Env, dry_run: bool) -> Result<Exit> {
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
///
/// What others write in between is not lost: the change is then made anew, to what they have written.
fn change(path: &Path, edit: Edit<'_>, dry_run: bool) -> Result<bool> {
    for _ in 0..TRIES {
        let old = read(path)?;
        let new = edit(old.as_deref()).with_context(|| format!("cannot change {}", path.display()))?;
        let Some(new) = new else { return Ok(false) };
        let did = match (old.is_some(), new.is_empty()) {
            (_, true) => "remove",
            (true, false) => "change",
            (false, false) => "create",
        };
        if dry_run {
            out::message(&format!("would {did} {}", path.display()));
            return Ok(true);
        }
        let is_read_only = fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o200 == 0);
        if is_read_only {
            bail!("{} may not be written: make it writable (chmod u+w), or change it by hand", path.display());
        }
        if read(path)? != old {
            continue;
        }
        if new.is_empty() {
            fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
        } else {
            replace_shared(path, new.as_bytes())?;
        }
        out::message(&format!("{did}d {}", path.display()));
        return Ok(true);
    }
    bail!("{} is written to again and again by somebody else: try later", path.display())
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        text => text.map(Some).with_context(|| format!("cannot read {}", path.display())),
    }
}
