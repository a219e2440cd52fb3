//! Where things are, as cargo tells it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run;

/// The package whose executables are shipped.
pub(crate) const PACKAGE: &str = "longhaul";

/// What a compiler that writes the time into its output is told: 2000-01-01, as in the archive.
const SOURCE_DATE: &str = "946684800";

/// How executables are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// What users get: fat LTO, stripped.
    Release,
    /// Quick to build: for tests and the demo.
    Dev,
}

impl Profile {
    fn flag(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "dev",
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }
}

/// The workspace that this xtask belongs to.
pub(crate) struct Workspace {
    /// The folder with the workspace's Cargo.toml.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    /// The version of the package that is shipped.
    pub(crate) version: String,
    /// The names of its executables.
    pub(crate) executables: Vec<String>,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn load() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let mut metadata = run::cargo();
        metadata.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(manifest);
        let metadata: Value =
            serde_json::from_str(&run::output(&mut metadata)?).context("cannot read cargo metadata")?;
        Self::from_metadata(&metadata).context("cargo metadata lacks what is expected of it")
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

    /// Builds `targets` (cargo's own flags, such as `--bins`) of `package` and returns the folder with the executables.
    pub(crate) fn build(
        &self,
        package: &str,
        targets: &[&str],
        profile: Profile,
        triple: Option<&str>,
    ) -> Result<PathBuf> {
        self.build_in(run::cargo(), self.target.clone(), package, targets, profile, triple)
    }

    /// Builds what users get, and returns the folder with the executables.
    ///
    /// A release does not tell where it was built: the folders of the workspace and of cargo are replaced in it, so that
    /// the same sources make the same bytes elsewhere. It has a target folder of its own, because other flags would have
    /// everything built anew each time.
    pub(crate) fn build_to_ship(&self, profile: Profile, triple: Option<&str>) -> Result<PathBuf> {
        if profile == Profile::Dev {
            return self.build(PACKAGE, &["--bins"], profile, triple);
        }
        let mut cargo = run::cargo();
        let folder = self.target.join("ship");
        cargo.env("CARGO_ENCODED_RUSTFLAGS", self.ship_flags()?).env("SOURCE_DATE_EPOCH", SOURCE_DATE);
        cargo.env("CARGO_TARGET_DIR", &folder).arg("--locked");
        self.build_in(cargo, folder, PACKAGE, &["--bins"], profile, triple)
    }

    /// Returns the compiler's flags for a release, parted as cargo wants them.
    fn ship_flags(&self) -> Result<OsString> {
        let cargo_home = run::var("CARGO_HOME").map(PathBuf::from);
        let cargo_home = cargo_home.or_else(|| run::var("HOME").map(|home| PathBuf::from(home).join(".cargo")));
        let cargo_home = cargo_home.context("no home directory: set CARGO_HOME or HOME")?;
        let mut flags: Vec<OsString> = run::var("RUSTFLAGS")
            .map(|flags| flags.to_string_lossy().split_whitespace().map(OsString::from).collect())
            .unwrap_or_default();
        for (from, to) in [(cargo_home.as_path(), "/cargo"), (self.root.as_path(), "/longhaul")] {
            let mut flag = OsString::from("--remap-path-prefix=");
            flag.push(from);
            flag.push("=");
            flag.push(to);
            flags.push(flag);
        }
        Ok(flags.join(OsStr::new("\u{1f}")))
    }

    fn build_in(
        &self,
        mut build: Command,
        mut folder: PathBuf,
        package: &str,
        targets: &[&str],
        profile: Profile,
        triple: Option<&str>,
    ) -> Result<PathBuf> {
        build.current_dir(&self.root).args(["build", "--package", package]).args(targets);
        build.args(["--profile", profile.flag()]);
        if let Some(triple) = triple {
            build.args(["--target", triple]);
            folder.push(triple);
        }
        run::aloud(&mut build)?;
        Ok(folder.join(profile.folder()))
    }

    /// Returns the triple of this machine, as rustc names it.
    pub(crate) fn host_triple() -> Result<String> {
        let version = run::output(run::program(run::var("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV"))?;
        match version.lines().find_map(|line| line.strip_prefix("host: ")) {
            Some(triple) => Ok(triple.to_owned()),
            None => bail!("rustc -vV names no host"),
        }
    }
}
