//! The workspace's folders, version and executables, and how they are built; where the static model is.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use longhaul_core::catalog::COMMAND_LINE;
use serde_json::Value;

use crate::run::{self, Progress};

/// The package whose executables are shipped.
pub const PACKAGE: &str = "longhaul";

/// The time for compilers that embed one in their output: 2000-01-01, as in the archive.
const SOURCE_DATE: &str = "946684800";

/// Links the C library statically, with address randomisation.
const STATIC: &str = "-Ctarget-feature=+crt-static";

/// How executables are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// For download: fat LTO, stripped.
    Release,
    /// For installing from a clone: the same without fat LTO, which takes minutes.
    Install,
    /// For tests and the demo: builds quickly.
    Dev,
}

impl Profile {
    /// Returns how many steps [`Workspace::build_to_ship`] has.
    pub(crate) fn builds(self) -> usize {
        if self == Self::Dev { 1 } else { 2 }
    }

    fn flag(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Install => "quick-release",
            Self::Dev => "dev",
        }
    }

    fn folder(self) -> &'static str {
        if self == Self::Dev { "debug" } else { self.flag() }
    }
}

/// The workspace that this xtask belongs to.
pub struct Workspace {
    /// The folder with the workspace's Cargo.toml.
    pub root: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
    /// The version of the package that is shipped.
    pub version: String,
    pub executables: Vec<String>,
}

impl Workspace {
    /// Reads them from `cargo metadata`.
    pub fn load() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        Self::from_metadata(&run::metadata(&manifest, &["--no-deps"])?)
            .context("cargo metadata lacks an expected field")
    }

    fn from_metadata(metadata: &Value) -> Option<Self> {
        let path = |key: &str| metadata[key].as_str().map(PathBuf::from);
        let package = metadata["packages"].as_array()?.iter().find(|package| package["name"] == PACKAGE)?;
        let targets = package["targets"].as_array()?.iter();
        let executables = targets
            .filter(|target| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "bin")))
            .filter_map(|target| Some(target["name"].as_str()?.to_owned()));
        Some(Self {
            root: path("workspace_root")?,
            target: path("target_directory")?,
            version: package["version"].as_str()?.to_owned(),
            executables: executables.collect(),
        })
    }

    /// Builds executables of `package`, named by cargo's own flags (`--bin NAME`, `--example NAME`), and returns their folder.
    pub fn build(&self, package: &str, targets: &[&str], profile: Profile, triple: Option<&str>) -> Result<PathBuf> {
        if profile == Profile::Dev && triple.is_none() {
            // Crates are built with the features that the chosen packages need: with the same choice as in `cargo xtask test`,
            // they are built once for both. The example makes the dependencies of tests a part of it.
            let mut cargo = run::cargo();
            cargo.current_dir(&self.root).args(["build", "--workspace", "--example", "standin"]).args(targets);
            run::aloud(&mut cargo)?;
            return Ok(self.target.join(profile.folder()));
        }
        run::aloud(&mut self.command(run::cargo(), "build", package, targets, profile, triple))?;
        let folder = triple.map_or_else(|| self.target.clone(), |triple| self.target.join(triple));
        Ok(folder.join(profile.folder()))
    }

    /// Returns the flags that choose the executables of [`PACKAGE`].
    pub fn bins(&self) -> Vec<&str> {
        self.executables.iter().flat_map(|name| ["--bin", name]).collect()
    }

    /// Builds the executables that users get, and returns their folder.
    ///
    /// The folders of the workspace and of cargo are replaced in the executables, so that the same sources give the
    /// same bytes in any folder. They have a separate target folder, because changed flags would rebuild everything
    /// each time.
    ///
    /// On Linux with glibc they are linked statically, because loading the C library dynamically takes a third of a
    /// hook's time. The command line is not: it resolves host names, for which glibc loads libraries of the machine it
    /// runs on.
    pub fn build_to_ship(&self, profile: Profile, triple: Option<&str>) -> Result<PathBuf> {
        self.build_to_ship_and_tell(profile, triple, &mut Progress::of(profile.builds()))
    }

    pub(crate) fn build_to_ship_and_tell(
        &self,
        profile: Profile,
        triple: Option<&str>,
        progress: &mut Progress,
    ) -> Result<PathBuf> {
        if profile == Profile::Dev {
            progress.step("compile the executables")?;
            return self.build(PACKAGE, &self.bins(), profile, triple);
        }
        let host = Self::host_triple()?;
        let triple = triple.unwrap_or(&host);
        let link = triple.ends_with("-linux-gnu").then_some(STATIC);
        let folder = self.target.join("ship");
        let cargo = || -> Result<Command> {
            let mut cargo = run::cargo();
            cargo.env("CARGO_ENCODED_RUSTFLAGS", self.ship_flags(link)?).env("SOURCE_DATE_EPOCH", SOURCE_DATE);
            cargo.env("CARGO_TARGET_DIR", &folder);
            Ok(cargo)
        };
        let others = self.executables.iter().filter(|name| *name != COMMAND_LINE);
        progress.step("compile the dependencies and the hooks")?;
        let bins: Vec<&str> = others.flat_map(|name| ["--bin", name]).collect();
        let mut build = self.command(cargo()?, "build", PACKAGE, &bins, profile, Some(triple));
        run::aloud(build.arg("--locked"))?;
        progress.step("compile the command line")?;
        let mut build = self.command(cargo()?, "rustc", PACKAGE, &["--bin", COMMAND_LINE], profile, Some(triple));
        build.arg("--locked");
        if link.is_some() {
            // The flag applies only to this executable; the crates are shared with the other build.
            build.args(["--", "-Ctarget-feature=-crt-static"]);
        }
        run::aloud(&mut build)?;
        Ok(folder.join(triple).join(profile.folder()))
    }

    /// Builds the empty program that hooks are compared with, and copies it to `folder`.
    ///
    /// It is linked as cargo links any program.
    pub fn add_empty_program(&self, folder: &Path, profile: Profile) -> Result<()> {
        let name = "longhaul-empty";
        let built = self.build(name, &["--bin", name], profile, None)?.join(name);
        let place = folder.join("empty");
        fs::copy(&built, &place).with_context(|| format!("cannot copy {} to {}", built.display(), place.display()))?;
        Ok(())
    }

    /// Returns the compiler's flags, separated as `CARGO_ENCODED_RUSTFLAGS` requires.
    fn ship_flags(&self, link: Option<&str>) -> Result<OsString> {
        let cargo_home = run::var("CARGO_HOME").map(PathBuf::from);
        let cargo_home = cargo_home.or_else(|| run::var("HOME").map(|home| PathBuf::from(home).join(".cargo")));
        let cargo_home = cargo_home.context("no home directory: set CARGO_HOME or HOME")?;
        let mut flags: Vec<OsString> = run::var("RUSTFLAGS")
            .map(|flags| flags.to_string_lossy().split_whitespace().map(OsString::from).collect())
            .unwrap_or_default();
        for (from, to) in [(cargo_home.as_path(), "/cargo"), (self.root.as_path(), "/longhaul")] {
            flags.push(
                [OsStr::new("--remap-path-prefix="), from.as_os_str(), OsStr::new("="), OsStr::new(to)]
                    .join(OsStr::new("")),
            );
        }
        flags.extend(link.map(OsString::from));
        Ok(flags.join(OsStr::new("\u{1f}")))
    }

    /// Returns a command that builds some targets of a package.
    fn command(
        &self,
        mut cargo: Command,
        subcommand: &str,
        package: &str,
        targets: &[&str],
        profile: Profile,
        triple: Option<&str>,
    ) -> Command {
        cargo.current_dir(&self.root).args([subcommand, "--package", package]).args(targets);
        cargo.args(["--profile", profile.flag()]);
        if let Some(triple) = triple {
            cargo.args(["--target", triple]);
        }
        cargo
    }

    /// Returns the triple of this machine, as rustc names it.
    pub fn host_triple() -> Result<String> {
        let version = run::output(run::program(run::var("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV"))?;
        match version.lines().find_map(|line| line.strip_prefix("host: ")) {
            Some(triple) => Ok(triple.to_owned()),
            None => bail!("rustc -vV prints no host"),
        }
    }
}

/// The file of the model that compares texts by meaning, in the folder of the plugin.
pub const MODEL_FILE: &str = "model/static.lhvec";
