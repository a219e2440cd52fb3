//! One plugin of the marketplace: all jobs, or one job with only what it needs; for one target, or universal, with the
//! executables of several targets and launchers.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use flate2::{Compression, GzBuilder};
use longhaul_core::catalog::{self, Job};
use longhaul_universal_bundle::{CHECKSUMS, Checksums, PACKED, choose, launcher};

use super::{archive, put, replace};
use crate::codegen;
use crate::workspace::{PACKAGE, Workspace};

/// Files in `plugin/` that are copied, each with the jobs that need it.
const CONTENT: &[(&str, &[Job])] = &[
    (".claude-plugin/icon.png", &Job::ALL),
    (".mcp.json", &[Job::Memory]),
    ("commands/bookmark.md", &[Job::Bookmarks]),
    ("commands/bookmarks.md", &[Job::Bookmarks]),
    ("commands/detail.md", &[Job::Handoff]),
    ("commands/restore.md", &[Job::Bookmarks]),
    ("commands/tl.md", &[Job::Handoff]),
    ("hooks/bridge.ts", codegen::BRIDGED),
    ("model/LICENSE", &[Job::Memory]),
    ("model/PROVENANCE.md", &[Job::Memory]),
    ("model/static.lhvec", &[Job::Memory]),
    ("skills/memory/SKILL.md", &[Job::Memory]),
    ("skills/rewind-points/SKILL.md", &[Job::Bookmarks]),
    ("skills/session-states/SKILL.md", &[Job::Tracker]),
];

/// Files in `plugin/` that are generated for each bundle, not copied.
const GENERATED: &[&str] = &[".codex-plugin/plugin.json", "config.schema.json", "hooks/codex.json", "hooks/hooks.json"];

/// Description of the plugin with all jobs.
const WHOLE: &str = "For long sessions: automatic bookmarks for /rewind, the state of every session in tmux, handoffs to a \
    new session at the context limit, and a memory of what every session did";

/// A plugin to be shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bundle {
    Whole,
    /// For users who want no other job.
    Only(Job),
}

impl Bundle {
    /// Returns every bundle, the whole one first.
    pub(crate) fn all() -> Vec<Self> {
        std::iter::once(Self::Whole).chain(Job::ALL.map(Self::Only)).collect()
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Whole => PACKAGE.to_owned(),
            Self::Only(job) => format!("{PACKAGE}-{}", job.as_str()),
        }
    }

    pub(crate) fn about(self) -> String {
        match self {
            Self::Whole => WHOLE.to_owned(),
            Self::Only(job) => format!("{} ({PACKAGE}'s {} alone)", job.about(), job.as_str()),
        }
    }

    pub(crate) fn job(self) -> Option<Job> {
        match self {
            Self::Whole => None,
            Self::Only(job) => Some(job),
        }
    }

    /// Returns the names of the executables in the bundle's `bin/`, each once, in order.
    pub(crate) fn executables(self) -> impl Iterator<Item = &'static str> {
        catalog::executables(self.job())
    }

    /// Writes the plugin to `folder`, with executables from `built`. The whole bundle is written first, beside the others.
    pub(crate) fn lay_out(self, workspace: &Workspace, built: &Path, folder: &Path) -> Result<()> {
        self.lay_out_content(workspace, folder)?;
        let bin = folder.join("bin");
        fs::create_dir_all(&bin).with_context(|| format!("cannot create {}", bin.display()))?;
        let whole = folder.with_file_name(Self::Whole.name()).join("bin");
        for name in self.executables() {
            // The same file as in the whole bundle: a copy would take its space again.
            if self == Self::Whole || fs::hard_link(whole.join(name), bin.join(name)).is_err() {
                copy(&built.join(name), &bin.join(name), 0o755)?;
            }
        }
        Ok(())
    }

    /// Writes everything but the executables to `folder`.
    fn lay_out_content(self, workspace: &Workspace, folder: &Path) -> Result<()> {
        let plugin = workspace.root.join("plugin");
        nothing_is_forgotten(workspace, &plugin)?;
        put(&folder.join(".claude-plugin/plugin.json"), &super::plugin(self, workspace)?)?;
        put(&folder.join("hooks/hooks.json"), &codegen::hooks_json(self.job())?)?;
        if self == Self::Whole {
            put(&folder.join(".codex-plugin/plugin.json"), &super::codex_plugin(workspace)?)?;
            put(&folder.join("hooks/codex.json"), &codegen::codex_json()?)?;
        }
        put(&folder.join("config.schema.json"), &codegen::config_schema()?)?;
        let is_taken = |(_, jobs): &&(&str, &[Job])| self.job().is_none_or(|job| jobs.contains(&job));
        for (name, _) in CONTENT.iter().filter(is_taken) {
            let (from, to) = (plugin.join(name), folder.join(name));
            if name.ends_with(".md") {
                let text = fs::read_to_string(&from).with_context(|| format!("cannot read {}", from.display()))?;
                // The name of a command starts with the name of its plugin.
                put(&to, &text.replace("/longhaul:", &format!("/{}:", self.name())))?;
            } else {
                copy(&from, &to, 0o644)?;
            }
        }
        copy(&workspace.root.join("LICENSE"), &folder.join("LICENSE"), 0o644)?;
        match self {
            Self::Whole => copy(&workspace.root.join("README.md"), &folder.join("README.md"), 0o644),
            Self::Only(job) => put(&folder.join("README.md"), &super::readme(job)),
        }
    }
}

/// Fails if an executable or a file of `plugin/` is in no bundle, or an executable of the catalogue does not exist.
fn nothing_is_forgotten(workspace: &Workspace, plugin: &Path) -> Result<()> {
    let shipped: BTreeSet<&str> = Bundle::Whole.executables().collect();
    let built: BTreeSet<&str> = workspace.executables.iter().map(String::as_str).collect();
    if let Some(name) = shipped.difference(&built).next() {
        bail!("the catalogue names {name}, which bins/ does not build");
    }
    if let Some(name) = built.difference(&shipped).next() {
        bail!("bins/ builds {name}, which no bundle ships: name it in core's catalogue");
    }
    for path in files(plugin)? {
        let known = CONTENT.iter().any(|(name, _)| *name == path) || GENERATED.contains(&path.as_str());
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

// `cargo xtask dist --universal`: a marketplace with one bundle that has the executables of several targets.
//
// The launchers in it start the executables of the machine that they run on; see `longhaul-universal-bundle`.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetExecutables {
    pub target: String,
    pub folder: PathBuf,
}

pub fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("universal")
}

/// Lays out `target/universal` from the archives of this version in `from`.
pub fn from_archives(workspace: &Workspace, from: &Path) -> Result<()> {
    let unpacked = tempfile::Builder::new().prefix(".unpacked-").tempdir_in(&workspace.target)?;
    let beginning = format!("{PACKAGE}-{}-", workspace.version);
    let mut built = Vec::new();
    for path in archive::list(from)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(name) = name.strip_suffix(".tar.xz").filter(|name| name.starts_with(&beginning)) else { continue };
        archive::unpack(&path, unpacked.path())?;
        let folder = unpacked.path().join(name).join(PACKAGE).join("bin");
        built.push(TargetExecutables { target: name[beginning.len()..].to_owned(), folder });
    }
    if built.is_empty() {
        bail!("{} has no archive {beginning}TARGET.tar.xz: make one with cargo xtask dist", from.display());
    }
    finish(workspace, &built)
}

/// Lays out `target/universal` with the executables in `target/dist`, which are for `target` or this machine.
pub fn from_dist(workspace: &Workspace, target: Option<&str>) -> Result<()> {
    let target = target.map_or_else(Workspace::host_triple, |target| Ok(target.to_owned()))?;
    let folder = workspace.target.join("dist").join(PACKAGE).join("bin");
    finish(workspace, &[TargetExecutables { target, folder }])
}

fn finish(workspace: &Workspace, built: &[TargetExecutables]) -> Result<()> {
    let staging = tempfile::Builder::new().prefix(".universal-").tempdir_in(&workspace.target)?;
    fs::set_permissions(staging.path(), Permissions::from_mode(0o755))?;
    lay_out(workspace, built, staging.path())?;
    let marketplace = folder(workspace);
    replace(&marketplace, staging)?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", marketplace.display())?;
    for TargetExecutables { target, .. } in built {
        writeln!(stdout, "  executables for {target}")?;
    }
    let add = format!("claude plugin marketplace add {}", marketplace.display());
    writeln!(stdout, "\nto install:\n  {add}\n  claude plugin install {PACKAGE}@{PACKAGE}")?;
    Ok(())
}

/// Returns a packed executable. Of the executables for four targets, a machine needs those of one, which its launchers unpack.
fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    const ANY_SYSTEM: u8 = 255;
    let mut gzip = GzBuilder::new().mtime(0).operating_system(ANY_SYSTEM).write(Vec::new(), Compression::best());
    gzip.write_all(bytes)?;
    Ok(gzip.finish()?)
}

/// Writes the marketplace to `folder`.
pub fn lay_out(workspace: &Workspace, built: &[TargetExecutables], folder: &Path) -> Result<()> {
    let targets = || built.iter().map(|built| built.target.as_str());
    let chosen = choose(targets());
    for target in targets() {
        ensure!(
            chosen.iter().any(|(_, chosen)| *chosen == target),
            "{target} cannot be in a universal bundle: launchers do not know it, or there is another target for the same machine"
        );
    }
    let plugin = folder.join(PACKAGE);
    let bin = plugin.join("bin");
    Bundle::Whole.lay_out_content(workspace, &plugin)?;
    let mut checksums = Checksums::default();
    for TargetExecutables { target, folder } in built {
        let to = bin.join(target);
        fs::create_dir_all(&to).with_context(|| format!("cannot create {}", to.display()))?;
        for name in Bundle::Whole.executables() {
            let from = folder.join(name);
            let bytes = fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
            checksums.insert(target, name, &archive::sum(&bytes));
            fs::write(to.join(format!("{name}.{PACKED}")), pack(&bytes)?)?;
        }
    }
    put(&bin.join(CHECKSUMS), &checksums.to_string())?;
    for name in Bundle::Whole.executables() {
        put(&bin.join(name), &launcher(name, targets()))?;
        fs::set_permissions(bin.join(name), Permissions::from_mode(0o755))?;
    }
    put(&folder.join(".claude-plugin/marketplace.json"), &super::marketplace_json(&[Bundle::Whole], workspace)?)?;
    put(&folder.join("README.md"), &super::marketplace_readme(workspace))?;
    copy(&workspace.root.join("LICENSE"), &folder.join("LICENSE"), 0o644)?;
    // TPM runs it in a clone of the branch.
    copy(&workspace.root.join("longhaul.tmux"), &folder.join("longhaul.tmux"), 0o755)
}

#[cfg(test)]
mod tests;
