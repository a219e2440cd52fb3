//! `cargo xtask dist`: the marketplace that users add, the bundles in it, and an archive to download.

mod archive;
mod bundle;
pub(crate) mod manifest;

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

use self::bundle::Bundle;
use crate::workspace::{PACKAGE, Profile, Workspace};

/// Builds the executables and lays out `target/dist/`, which is complete at every moment or not there.
///
/// The dev profile makes no archive: it is for tests, and must not be mistaken for a release.
pub(crate) fn run(workspace: &Workspace, profile: Profile, triple: Option<&str>) -> Result<()> {
    let executables = workspace.build(PACKAGE, &["--bins"], profile, triple)?;
    let dist = workspace.target.join("dist");
    let staging = tempfile::Builder::new().prefix(".dist-").tempdir_in(&workspace.target)?;
    let marketplace = staging.path();
    fs::set_permissions(marketplace, Permissions::from_mode(0o755))?;

    let bundles = Bundle::all();
    for bundle in &bundles {
        let name = bundle.name();
        bundle.lay_out(workspace, &executables, &marketplace.join(&name)).with_context(|| format!("bundle {name}"))?;
    }
    put(&marketplace.join(".claude-plugin/marketplace.json"), &manifest::marketplace(&bundles, workspace)?)?;
    if profile == Profile::Release {
        let triple = triple.map_or_else(Workspace::host_triple, |triple| Ok(triple.to_owned()))?;
        let name = format!("{PACKAGE}-{}-{triple}", workspace.version);
        let packed = archive::pack(marketplace, &name)?;
        keep_other_targets(&dist, marketplace, &workspace.version)?;
        fs::write(marketplace.join(format!("{name}.tar.gz")), packed).context("cannot write the archive")?;
        archive::write_sums(marketplace)?;
    }
    replace(&dist, staging)?;
    report(&dist, &bundles)
}

/// Takes over the archives of the same version that were made for other targets.
fn keep_other_targets(old: &Path, new: &Path, version: &str) -> Result<()> {
    for archive in archive::list(old)? {
        let name = archive.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with(&format!("{PACKAGE}-{version}-")) {
            fs::copy(&archive, new.join(name)).with_context(|| format!("cannot copy {}", archive.display()))?;
        }
    }
    Ok(())
}

/// Puts `staging` in the place of `dist`. The old one is moved aside first: a folder cannot be replaced in one step.
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
    writeln!(stdout, "\nto install:\n  claude plugin marketplace add {}", dist.display())?;
    writeln!(stdout, "  claude plugin install {PACKAGE}@{}", manifest::MARKETPLACE)?;
    Ok(())
}

/// Writes `text` to a file that everybody may read, its folder included.
fn put(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
