//! One plugin of the marketplace: all jobs, or one job with only what it needs.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use longhaul_core::catalog::{self, Job};

use super::{manifest, put};
use crate::codegen::{self, hooks};
use crate::static_model;
use crate::workspace::{PACKAGE, Workspace};

/// A file that is shipped beside the executables, and the jobs that need it.
struct Piece {
    name: &'static str,
    jobs: &'static [Job],
}

/// Files in `plugin/` that are copied.
const CONTENT: &[Piece] = &[
    Piece { name: ".claude-plugin/icon.png", jobs: &Job::ALL },
    Piece { name: ".mcp.json", jobs: &[Job::Memory] },
    Piece { name: "commands/bookmark.md", jobs: &[Job::Bookmarks] },
    Piece { name: "commands/bookmarks.md", jobs: &[Job::Bookmarks] },
    Piece { name: "commands/detail.md", jobs: &[Job::Handoff] },
    Piece { name: "commands/restore.md", jobs: &[Job::Bookmarks] },
    Piece { name: "commands/tl.md", jobs: &[Job::Handoff] },
    Piece { name: "hooks/bridge.ts", jobs: hooks::BRIDGED },
    Piece { name: "skills/memory/SKILL.md", jobs: &[Job::Memory] },
    Piece { name: "skills/rewind-points/SKILL.md", jobs: &[Job::Bookmarks] },
    Piece { name: "skills/session-states/SKILL.md", jobs: &[Job::Tracker] },
];

/// Files in `plugin/` that are generated for each bundle, not copied.
const GENERATED: &[&str] = &[".codex-plugin/plugin.json", "config.schema.json", "hooks/codex.json", "hooks/hooks.json"];

/// Description of the plugin with all jobs.
const WHOLE: &str = "For long sessions: automatic bookmarks for /rewind, the state of every session in tmux, handoffs to a \
    new session at the context limit, and a memory of what every session did";

/// A plugin to be shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bundle {
    /// Every job.
    Whole,
    /// One job, for users who want no other.
    Only(Job),
}

impl Bundle {
    /// Returns every bundle, the whole one first.
    pub(crate) fn all() -> Vec<Self> {
        std::iter::once(Self::Whole).chain(Job::ALL.map(Self::Only)).collect()
    }

    /// Returns the plugin's name.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Whole => PACKAGE.to_owned(),
            Self::Only(job) => format!("{PACKAGE}-{}", job.name()),
        }
    }

    /// Returns the plugin's description.
    pub(crate) fn about(self) -> String {
        match self {
            Self::Whole => WHOLE.to_owned(),
            Self::Only(job) => format!("{} ({PACKAGE}'s {} alone)", job.about(), job.name()),
        }
    }

    /// Returns the only job of the bundle, or `None` if it has all.
    pub(crate) fn job(self) -> Option<Job> {
        match self {
            Self::Whole => None,
            Self::Only(job) => Some(job),
        }
    }

    fn takes(self, piece: &Piece) -> bool {
        self.job().is_none_or(|job| piece.jobs.contains(&job))
    }

    /// Returns the names of the executables in the bundle's `bin/`, each once, in order.
    pub(crate) fn executables(self) -> impl Iterator<Item = &'static str> {
        catalog::executables(self.job())
    }

    /// Writes the plugin to `folder`, with executables from `built`.
    pub(crate) fn lay_out(self, workspace: &Workspace, built: &Path, folder: &Path) -> Result<()> {
        self.lay_out_content(workspace, folder)?;
        self.copy_executables(built, &folder.join("bin"))
    }

    /// Copies the plugin's executables from `built` to `to`.
    pub(crate) fn copy_executables(self, built: &Path, to: &Path) -> Result<()> {
        self.executables().try_for_each(|name| copy(&built.join(name), &to.join(name), 0o755))
    }

    /// Writes everything but the executables to `folder`.
    pub(crate) fn lay_out_content(self, workspace: &Workspace, folder: &Path) -> Result<()> {
        let plugin = workspace.root.join("plugin");
        nothing_is_forgotten(workspace, &plugin)?;
        put(&folder.join(".claude-plugin/plugin.json"), &manifest::plugin(self, workspace)?)?;
        put(&folder.join("hooks/hooks.json"), &hooks::json(self.job())?)?;
        if self == Self::Whole {
            put(&folder.join(".codex-plugin/plugin.json"), &manifest::codex_plugin(workspace)?)?;
            put(&folder.join("hooks/codex.json"), &hooks::codex_json()?)?;
        }
        put(&folder.join("config.schema.json"), &codegen::config_schema()?)?;
        for piece in CONTENT.iter().filter(|piece| self.takes(piece)) {
            let (from, to) = (plugin.join(piece.name), folder.join(piece.name));
            if piece.name.ends_with(".md") {
                let text = fs::read_to_string(&from).with_context(|| format!("cannot read {}", from.display()))?;
                // The name of a command starts with the name of its plugin.
                put(&to, &text.replace("/longhaul:", &format!("/{}:", self.name())))?;
            } else {
                copy(&from, &to, 0o644)?;
            }
        }
        if self.job().is_none_or(|job| job == Job::Memory) {
            for path in static_model::files(workspace) {
                copy(&path, &folder.join("model").join(path.file_name().unwrap_or_default()), 0o644)?;
            }
        }
        copy(&workspace.root.join("LICENSE"), &folder.join("LICENSE"), 0o644)?;
        match self {
            Self::Whole => copy(&workspace.root.join("README.md"), &folder.join("README.md"), 0o644),
            Self::Only(job) => put(&folder.join("README.md"), &manifest::readme(job)),
        }
    }
}

/// Fails if an executable or a file of `plugin/` is in no bundle, or an executable of the catalogue does not exist.
fn nothing_is_forgotten(workspace: &Workspace, plugin: &Path) -> Result<()> {
    let shipped: BTreeSet<&str> = Bundle::Whole.executables().collect();
    let built: BTreeSet<&str> = workspace.executables.iter().map(String::as_str).collect();
    if let Some(name) = shipped.difference(&built).next() {
        bail!("the catalogue names {name}, which bins/ does not build: add bins/src/bin/{name}.rs");
    }
    if let Some(name) = built.difference(&shipped).next() {
        bail!(
            "bins/ builds {name}, which no bundle ships: name it in core's catalogue, as a registration or a companion"
        );
    }
    for path in files(plugin)? {
        let known = CONTENT.iter().any(|piece| piece.name == path) || GENERATED.contains(&path.as_str());
        ensure!(known, "plugin/{path} is in no bundle: name it in xtask's CONTENT");
    }
    Ok(())
}

/// Returns the files below `folder`, relative to it.
fn files(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).with_context(|| format!("cannot read {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder)?.to_string_lossy().into_owned());
            }
        }
    }
    Ok(found)
}

/// Copies a file with the permissions `mode`, and creates its folder.
pub(crate) fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    fs::set_permissions(to, Permissions::from_mode(mode)).with_context(|| format!("cannot change {}", to.display()))
}

#[cfg(test)]
mod tests {
    use super::CONTENT;

    /// Both are typed as `/longhaul:NAME`: the client takes the command and never shows the skill.
    #[test]
    fn no_skill_is_hidden_by_a_command_of_its_name() {
        let names =
            |folder, file| CONTENT.iter().filter_map(move |piece| piece.name.strip_prefix(folder)?.strip_suffix(file));
        let skills: Vec<_> = names("skills/", "/SKILL.md").collect();
        assert!(!skills.is_empty());
        assert!(names("commands/", ".md").all(|command| !skills.contains(&command)));
    }
}
