//! `cargo xtask dist`: builds the marketplace that users add, the bundles in it, and an archive to download. `cargo xtask
//! install` builds the same from a clone and installs it.

mod archive;
pub mod bundle;

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use longhaul_core::catalog::{Job, MARKETPLACE};
use serde_json::{Value, json};

use self::bundle::Bundle;
use crate::codegen::{hook_table, pretty};
use crate::run::{self, Progress};
use crate::workspace::{PACKAGE, Profile, Workspace};

/// The archive to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Nothing,
    Release,
    /// One whose name marks it as a trial, not for users.
    Trial,
}

/// Builds the executables and lays out `target/dist/`, which is always complete or absent.
///
/// With the dev profile no archive is made unless requested, so that a test build is not mistaken for a release.
pub fn run(workspace: &Workspace, profile: Profile, triple: Option<&str>, packing: Packing) -> Result<()> {
    let steps = profile.builds() + if packing == Packing::Nothing { 1 } else { 2 };
    build(workspace, profile, triple, packing, &mut Progress::of(steps))
}

fn build(
    workspace: &Workspace,
    profile: Profile,
    triple: Option<&str>,
    packing: Packing,
    progress: &mut Progress,
) -> Result<()> {
    let executables = workspace.build_to_ship_and_tell(profile, triple, progress)?;
    progress.step("lay out the bundles")?;
    let host = Workspace::host_triple()?;
    let triple = triple.unwrap_or(&host);
    // An executable for another target cannot run here, but man pages and completions are written by running one.
    let command_line = match triple == host {
        true => executables.join(PACKAGE),
        false => workspace.build(PACKAGE, &["--bin", PACKAGE], Profile::Dev, None)?.join(PACKAGE),
    };
    let dist = workspace.target.join("dist");
    let staging = tempfile::Builder::new().prefix(".dist-").tempdir_in(&workspace.target)?;
    let marketplace = staging.path();
    fs::set_permissions(marketplace, Permissions::from_mode(0o755))?;
    lay_out(workspace, &executables, &command_line, triple, marketplace)?;
    if packing != Packing::Nothing {
        progress.step("pack the archive")?;
        let mark = if packing == Packing::Trial { "trial-" } else { "" };
        let name = format!("{mark}{PACKAGE}-{}-{triple}", workspace.version);
        let packed = archive::pack(marketplace, &name)?;
        keep_other_targets(&dist, marketplace, &workspace.version)?;
        fs::write(marketplace.join(format!("{name}.tar.xz")), packed).context("cannot write the archive")?;
        archive::write_sums(marketplace)?;
    }
    replace(&dist, staging)?;
    report(&dist, &Bundle::all())
}

/// Lays out the content of an archive: the bundles, completions and man pages, the bill of materials.
fn lay_out(
    workspace: &Workspace,
    executables: &Path,
    command_line: &Path,
    triple: &str,
    marketplace: &Path,
) -> Result<()> {
    let bundles = Bundle::all();
    for bundle in &bundles {
        let name = bundle.name();
        bundle.lay_out(workspace, executables, &marketplace.join(&name)).with_context(|| format!("bundle {name}"))?;
    }
    put(&marketplace.join(".claude-plugin/marketplace.json"), &marketplace_json(&bundles, workspace)?)?;
    put(&marketplace.join(format!("{PACKAGE}.cdx.json")), &archive::of(workspace, triple)?)?;
    lay_out_share(command_line, &marketplace.join("share"))
}

/// Copies the archives of the same version for other targets.
fn keep_other_targets(old: &Path, new: &Path, version: &str) -> Result<()> {
    for archive in archive::list(old)? {
        let name = archive.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with(&format!("{PACKAGE}-{version}-")) {
            fs::copy(&archive, new.join(name)).with_context(|| format!("cannot copy {}", archive.display()))?;
        }
    }
    Ok(())
}

/// Replaces `dist` by `staging`, which is in the same folder. The old folder is moved aside first, because a folder cannot be replaced in one step.
fn replace(dist: &Path, staging: tempfile::TempDir) -> Result<()> {
    let aside = tempfile::Builder::new().prefix(".dist-old-").tempdir_in(dist.parent().unwrap_or(dist))?;
    if dist.exists() {
        fs::rename(dist, aside.path().join("dist")).with_context(|| format!("cannot move {}", dist.display()))?;
    }
    fs::rename(staging.keep(), dist).with_context(|| format!("cannot put {} in place", dist.display()))
}

fn report(dist: &Path, bundles: &[Bundle]) -> Result<()> {
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", dist.display())?;
    for bundle in bundles {
        let executables = bundle.executables().count();
        writeln!(stdout, "  {:<22} {executables} executables", bundle.name())?;
    }
    for archive in archive::list(dist)? {
        let size = fs::metadata(&archive)?.len() as f64 / 1e6;
        let name = archive.file_name().unwrap_or_default().to_string_lossy();
        writeln!(stdout, "  {name} ({size:.1} MB), in SHA256SUMS")?;
    }
    writeln!(stdout, "\nto install:\n  {} install", dist.join(PACKAGE).join("bin").join(PACKAGE).display())?;
    Ok(())
}

/// Writes `text` to a file that every user may read, and creates its folder.
pub(crate) fn put(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Shells, and the file in which each expects completions.
const SHELLS: [(&str, &str); 3] = [("bash", "bash/longhaul"), ("fish", "fish/longhaul.fish"), ("zsh", "zsh/_longhaul")];

/// Writes completions and man pages to `folder`; `command_line` must run on this machine.
fn lay_out_share(command_line: &Path, folder: &Path) -> Result<()> {
    for (shell, file) in SHELLS {
        let script = run::output(run::program(command_line).args(["completions", shell]))
            .with_context(|| format!("completions for {shell}"))?;
        put(&folder.join("completions").join(file), &script)?;
    }
    let pages = folder.join("man/man1");
    run::output(run::program(command_line).arg("man").arg(&pages)).context("man pages")?;
    anyhow::ensure!(pages.join(format!("{PACKAGE}.1")).exists(), "{PACKAGE} man wrote no page of its own");
    Ok(())
}

const AUTHOR: &str = "The Longhaul contributors";

/// Returns `.claude-plugin/plugin.json`.
pub(crate) fn plugin(bundle: Bundle, workspace: &Workspace) -> Result<String> {
    pretty(&json!({
        "name": bundle.name(),
        "version": workspace.version,
        "description": bundle.about(),
        "author": { "name": AUTHOR },
        "license": "MIT",
        "keywords": ["rewind", "bookmarks", "long sessions", "tmux"],
    }))
}

/// Returns `.codex-plugin/plugin.json`: the same plugin for Codex, with hooks of its own.
pub(crate) fn codex_plugin(workspace: &Workspace) -> Result<String> {
    pretty(&json!({
        "name": PACKAGE,
        "version": workspace.version,
        "description": "Shows Codex sessions beside Claude Code's in tmux, and remembers what they did",
        "author": { "name": AUTHOR },
        "license": "MIT",
        "hooks": "./hooks/codex.json",
        // The other skills are about features that Codex does not have.
        "skills": "./skills/memory/",
    }))
}

/// Returns `.claude-plugin/marketplace.json`.
pub(crate) fn marketplace_json(bundles: &[Bundle], workspace: &Workspace) -> Result<String> {
    let plugins: Vec<Value> = bundles
        .iter()
        .map(|bundle| {
            let name = bundle.name();
            json!({
                "source": format!("./{name}"),
                "name": name,
                "version": workspace.version,
                "description": bundle.about(),
                "author": { "name": AUTHOR },
            })
        })
        .collect();
    pretty(&json!({
        "name": MARKETPLACE,
        "owner": { "name": AUTHOR },
        "metadata": { "description": "Longhaul, whole or one job at a time", "version": workspace.version },
        "plugins": plugins,
    }))
}

pub(crate) fn readme(job: Job) -> String {
    let (name, about) = (Bundle::Only(job).name(), job.about());
    let table = hook_table(Some(job));
    format!(
        "# {name}\n\n\
         {about}.\n\n\
         This is one job of {PACKAGE}, with only the hooks, executables, commands and skills that it needs. Install \
         either this or {PACKAGE}, not both: with both, every event would be handled twice.\n\n\
         ```\n\
         claude plugin marketplace add FOLDER\n\
         claude plugin install {name}@{MARKETPLACE}\n\
         ```\n\n\
         FOLDER is the folder that contains this bundle's folder.\n\n\
         {table}\n\
         Settings are read from `config.json` in the data folder. `bin/longhaul config path` prints its path; \
         `config.schema.json` describes all settings. Licence: MIT.\n"
    )
}

/// Returns the README of the marketplace with the universal bundle.
fn marketplace_readme(workspace: &Workspace) -> String {
    let version = &workspace.version;
    format!(
        "# {PACKAGE} {version}\n\n\
         {}.\n\n\
         This is a marketplace of Claude Code, generated by a release. `{PACKAGE}/` is the plugin, with executables for \
         several kinds of machines; it needs no compiler. If this is the branch BRANCH of OWNER/REPO:\n\n\
         ```\n\
         claude plugin marketplace add OWNER/REPO#BRANCH\n\
         claude plugin install {PACKAGE}@{MARKETPLACE}\n\
         ```\n\n\
         `longhaul.tmux` is the entry point for TPM: `set -g @plugin 'OWNER/REPO#BRANCH'`. Licence: MIT.\n",
        Bundle::Whole.about()
    )
}

/// Builds and lays out everything, then runs `longhaul install` of the new build.
pub fn install(workspace: &Workspace, profile: Profile, arguments: &[String]) -> Result<()> {
    let mut progress = Progress::of(profile.builds() + 2);
    build(workspace, profile, None, Packing::Nothing, &mut progress)?;
    progress.step("install")?;
    let program = workspace.target.join("dist").join(PACKAGE).join("bin").join(PACKAGE);
    run::aloud(run::program(program).arg("install").args(arguments))
}

#[cfg(test)]
mod tests;
