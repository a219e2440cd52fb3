//! Where things are, as cargo tells it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run;

/// The package whose executables are shipped.
pub(crate) const PACKAGE: &str = "longhaul";

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
        let mut build = run::cargo();
        build.current_dir(&self.root).args(["build", "--package", package]).args(targets);
        build.args(["--profile", profile.flag()]);
        let mut folder = self.target.clone();
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
