//! `cargo xtask package`: packs the crates that can be published, and checks that the packed files can be used.
//!
//! The packed crates are unpacked into a temporary folder outside of the workspace, beside `tests/embedder`, a small program
//! that depends on all of them. It is built and run there with the versions of the workspace's `Cargo.lock`. The network is
//! used only for dependencies that have not been downloaded yet.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use serde_json::Value;
use tar::Archive;

use crate::run;
use crate::workspace::Workspace;

/// Whether the tests of the packed crates are built, too. They need more dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    /// Only the program is built and run.
    Skip,
    /// The unit tests are built from the packed files, the examples in the documentation are run, and so are the tests that
    /// read a file when they run. `cargo xtask test` runs the others, with optimisation: without it, some of them take minutes
    /// and exceed their own time limit.
    Check,
}

/// The part of a name that all tests have that read a file when they run.
const READS_FILES: &str = "tests::event::";

/// Packs the crates, then builds and runs the program against them.
pub fn run(workspace: &Workspace, tests: Tests) -> Result<()> {
    let packages = published(workspace)?;
    let manifest = workspace.root.join("tests/embedder/Cargo.toml");
    let manifest = fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let mut problems: Vec<String> = packages.iter().flat_map(|package| package.problems(&workspace.version)).collect();
    problems.extend(missing_lines(&manifest, &packages, &workspace.version));
    ensure!(problems.is_empty(), "these crates cannot be published:\n- {}", problems.join("\n- "));
    let outside = tempfile::tempdir().context("cannot create a temporary folder")?;
    pack(workspace, &packages, outside.path())?;
    lay_out(workspace, &packages, outside.path())?;
    build(outside.path(), &["run", "--package", "embedder"])?;
    if tests == Tests::Check {
        build(outside.path(), &["test", "--workspace", "--lib", READS_FILES])?;
        build(outside.path(), &["test", "--workspace", "--doc"])?;
    }
    check_versions(&workspace.root.join("Cargo.lock"), &outside.path().join("Cargo.lock"))?;
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    writeln!(io::stdout(), "{} are packed in {}", names.join(", "), workspace.target.join("package").display())?;
    Ok(())
}

/// Returns a problem for each crate that the program's manifest does not require in this version.
fn missing_lines(manifest: &str, packages: &[Package], version: &str) -> Vec<String> {
    let lines = packages.iter().map(|package| format!("{} = \"{version}\"", package.name));
    let missing = lines.filter(|line| !manifest.lines().any(|present| present == line));
    missing.map(|line| format!("tests/embedder/Cargo.toml has no line `{line}`")).collect()
}

/// Packs all crates at once, so that cargo finds those that depend on one another, and unpacks them into `outside`.
fn pack(workspace: &Workspace, packages: &[Package], outside: &Path) -> Result<()> {
    // Everything after this works without a network.
    run::aloud(run::cargo().current_dir(&workspace.root).args(["fetch", "--locked"]))?;
    let mut package = run::cargo();
    // Building each of them is left to the program, which needs all of them.
    package.current_dir(&workspace.root).args(["package", "--offline", "--locked", "--no-verify", "--allow-dirty"]);
    run::aloud(package.args(packages.iter().flat_map(|package| ["--package", &package.name])))?;
    for package in packages {
        let path = workspace.target.join("package").join(format!("{}.crate", package.folder_name()));
        let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        let unpacked = Archive::new(GzDecoder::new(file)).unpack(outside.join("crates"));
        unpacked.with_context(|| format!("cannot unpack {}", path.display()))?;
        package.check_files(&outside.join("crates").join(package.folder_name()))?;
    }
    Ok(())
}

/// Adds the program, the versions of the workspace's dependencies, and where to find the crates in place of a registry.
fn lay_out(workspace: &Workspace, packages: &[Package], outside: &Path) -> Result<()> {
    let source = workspace.root.join("tests/embedder");
    let target = outside.join("embedder");
    fs::create_dir_all(target.join("src"))?;
    for name in ["Cargo.toml", "src/main.rs", "src/transcript.jsonl"] {
        fs::copy(source.join(name), target.join(name)).with_context(|| format!("cannot copy tests/embedder/{name}"))?;
    }
    fs::copy(workspace.root.join("Cargo.lock"), outside.join("Cargo.lock")).context("cannot copy Cargo.lock")?;
    let mut manifest = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\", \"embedder\"]\n\n".to_owned();
    manifest.push_str("[patch.crates-io]\n");
    for package in packages {
        writeln!(manifest, "{} = {{ path = \"crates/{}\" }}", package.name, package.folder_name())?;
    }
    fs::write(outside.join("Cargo.toml"), manifest).context("cannot write the manifest of the temporary folder")
}

/// Runs cargo in the temporary folder. Debug information would double the time to link.
fn build(outside: &Path, arguments: &[&str]) -> Result<()> {
    let mut cargo = run::cargo();
    cargo.current_dir(outside).args(arguments).arg("--offline");
    run::aloud(cargo.env("CARGO_TARGET_DIR", outside.join("target")).env("CARGO_PROFILE_DEV_DEBUG", "0"))
}

/// Fails if the program was built with another version of a dependency than the workspace has.
fn check_versions(ours: &Path, theirs: &Path) -> Result<()> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let others = other_versions(&read(ours)?, &read(theirs)?);
    ensure!(others.is_empty(), "built with versions that Cargo.lock does not have: {}", others.join(", "));
    Ok(())
}

/// Returns the packages from a registry in the lock file `theirs` that are not in `ours`.
fn other_versions(ours: &str, theirs: &str) -> Vec<String> {
    let known: HashSet<String> = registry_packages(ours).collect();
    registry_packages(theirs).filter(|package| !known.contains(package)).collect()
}

/// Returns name and version of each package in a lock file that comes from a registry.
fn registry_packages(lock: &str) -> impl Iterator<Item = String> {
    lock.split("[[package]]").filter(|entry| entry.contains("\nsource = ")).map(|entry| {
        let value = |key: &str| entry.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        format!("{} {}", value("name = ").trim_matches('"'), value("version = ").trim_matches('"'))
    })
}

/// The files that every packed crate has.
const FILES: [&str; 4] = ["Cargo.toml", "LICENSE", "README.md", "src/lib.rs"];

/// A crate of the workspace that can be published.
struct Package {
    name: String,
    version: String,
    metadata: Value,
}

/// Returns the crates with `publish = true`, ordered by name.
fn published(workspace: &Workspace) -> Result<Vec<Package>> {
    let mut metadata = run::metadata(&workspace.root.join("Cargo.toml"), &["--no-deps"])?;
    let packages = metadata["packages"].as_array_mut().map(std::mem::take).unwrap_or_default();
    // `null` stands for every registry, a list for the registries in it.
    let mut published: Vec<Package> =
        packages.into_iter().filter(|package| package["publish"].is_null()).filter_map(Package::new).collect();
    published.sort_by(|a, b| a.name.cmp(&b.name));
    ensure!(!published.is_empty(), "no crate of the workspace has `publish = true`");
    Ok(published)
}

impl Package {
    fn new(metadata: Value) -> Option<Self> {
        let text = |key: &str| metadata[key].as_str().map(str::to_owned);
        Some(Self { name: text("name")?, version: text("version")?, metadata })
    }

    /// Returns the name of the folder in the packed file.
    fn folder_name(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// Returns what is missing or wrong in the manifest. `version` is the version of the workspace.
    fn problems(&self, version: &str) -> Vec<String> {
        let name = &self.name;
        let mut problems = Vec::new();
        for key in ["description", "license", "readme", "rust_version"] {
            if self.metadata[key].as_str().is_none_or(str::is_empty) {
                problems.push(format!("{name} has no `{}`", key.replace('_', "-")));
            }
        }
        for key in ["keywords", "categories"] {
            // A registry accepts up to five of each.
            if !self.metadata[key].as_array().is_some_and(|words| (1..=5).contains(&words.len())) {
                problems.push(format!("{name} needs one to five `{key}`"));
            }
        }
        let dependencies = self.metadata["dependencies"].as_array().into_iter().flatten();
        for dependency in dependencies.filter(|dependency| dependency["path"].is_string()) {
            if dependency["req"] != format!("^{version}").as_str() {
                let other = dependency["name"].as_str().unwrap_or_default();
                problems.push(format!(
                    "{name} requires {other} {}: write version = \"{version}\" in [workspace.dependencies]",
                    dependency["req"]
                ));
            }
        }
        problems
    }

    /// Fails unless the unpacked crate in `folder` has the files that it must have.
    fn check_files(&self, folder: &Path) -> Result<()> {
        for file in FILES {
            ensure!(folder.join(file).is_file(), "the packed {} has no {file}", self.name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
