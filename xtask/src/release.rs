//! `cargo xtask release`: checks before a release that everything has the version of `[workspace.package]`, the changelog
//! too, and makes the branch that the marketplace is read from.

#[cfg(test)]
mod workflow_tests;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::codegen::{self, Mode};
use crate::dist;
use crate::dist::bundle::{self, Bundle};
use crate::run;
use crate::workspace::{PACKAGE, Workspace};

/// The heading of changes that are not in a release yet.
const UNRELEASED: &str = "Unreleased";

/// Fails unless the manifests, the changelog, the tag and the generated files agree.
pub fn check(workspace: &Workspace, tag: Option<&str>) -> Result<()> {
    let changelog = read(&workspace.root.join("CHANGELOG.md"))?;
    let mut problems = versions(&changelog, &workspace.version, tag);
    problems.extend(members(workspace)?);
    problems.extend(manifests(workspace)?);
    if let Err(error) = codegen::run(workspace, Mode::Check) {
        problems.push(format!("{error:#}"));
    }
    ensure!(problems.is_empty(), "{} cannot be released:\n- {}", workspace.version, problems.join("\n- "));
    writeln!(io::stdout(), "everything has version {}", workspace.version)?;
    Ok(())
}

/// Prints the changelog's section of this version.
pub fn notes(workspace: &Workspace) -> Result<()> {
    let changelog = read(&workspace.root.join("CHANGELOG.md"))?;
    match section(&changelog, &workspace.version) {
        Some(text) => Ok(writeln!(io::stdout(), "{}", text.trim())?),
        None => bail!("CHANGELOG.md has no section {0}: write \"## {0}\"", workspace.version),
    }
}

/// Returns the problems of version, changelog and tag.
fn versions(changelog: &str, version: &str, tag: Option<&str>) -> Vec<String> {
    let mut problems = Vec::new();
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let core = version.split('-').next().unwrap_or(version);
    if core.split('.').count() != 3 || !core.split('.').all(is_number) {
        problems.push(format!("{version} is not a version: [workspace.package] in Cargo.toml must have X.Y.Z"));
    }
    let has_said = |name: &str| section(changelog, name).is_some_and(|text| !text.trim().is_empty());
    let Some(tag) = tag else {
        if !has_said(UNRELEASED) && !has_said(version) {
            problems
                .push(format!("CHANGELOG.md has neither \"## {UNRELEASED}\" nor \"## {version}\" with anything in it"));
        }
        return problems;
    };
    if tag != format!("v{version}") {
        problems.push(format!("the tag {tag} is not v{version}: change [workspace.package] in Cargo.toml, or the tag"));
    }
    if !has_said(version) {
        problems.push(format!(
            "CHANGELOG.md has no section \"## {version}\" with anything in it: rename \"## {UNRELEASED}\""
        ));
    }
    if has_said(UNRELEASED) {
        problems
            .push(format!("CHANGELOG.md still has something under \"## {UNRELEASED}\": move it to \"## {version}\""));
    }
    problems
}

/// Returns the text under a heading, which may have a date after the version.
fn section<'a>(changelog: &'a str, name: &str) -> Option<&'a str> {
    let is_heading = |line: &str| {
        let title = line.strip_prefix("## ").map(str::trim).unwrap_or_default();
        let title = title.split_whitespace().next().unwrap_or_default();
        title.trim_matches(['[', ']']) == name
    };
    let mut at = 0;
    let mut start = None;
    for line in changelog.split_inclusive('\n') {
        match start {
            None if is_heading(line) => start = Some(at + line.len()),
            Some(start) if line.starts_with("## ") => return Some(&changelog[start..at]),
            None | Some(_) => {}
        }
        at += line.len();
    }
    start.map(|start| &changelog[start..])
}

/// Returns the packages with a different version.
fn members(workspace: &Workspace) -> Result<Vec<String>> {
    let metadata = run::metadata(&workspace.root.join("Cargo.toml"), &["--no-deps"])?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let other = packages.filter(|package| package["version"] != workspace.version.as_str());
    let problem = |package: &Value| {
        format!("{} has version {}: write version.workspace = true", package["name"], package["version"])
    };
    Ok(other.map(problem).collect())
}

/// Returns the manifests, generated or not, with a different version.
fn manifests(workspace: &Workspace) -> Result<Vec<String>> {
    let mut found = vec![("marketplace.json".to_owned(), dist::marketplace_json(&Bundle::all(), workspace)?)];
    for folder in fs::read_dir(workspace.root.join("plugin")).context("cannot read plugin/")? {
        let path = folder?.path().join("plugin.json");
        if path.exists() {
            let name = path.strip_prefix(&workspace.root).unwrap_or(&path).display().to_string();
            found.push((name, read(&path)?));
        }
    }
    let mut problems = Vec::new();
    for (name, text) in found {
        let json: Value = serde_json::from_str(&text).with_context(|| format!("{name} is not JSON"))?;
        let plugins = json["plugins"].as_array().into_iter().flatten();
        let versions = std::iter::once(&json["version"]).chain(plugins.map(|plugin| &plugin["version"]));
        let wrong = versions.filter(|version| version.is_string() && **version != workspace.version.as_str());
        problems.extend(wrong.map(|version| format!("{name} has version {version}")));
    }
    Ok(problems)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

// `cargo xtask release --branch`: commits the universal marketplace to a branch of its own.
//
// The commit is made without a checkout, and nothing is pushed.

/// Who has written a commit, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
    /// The time, as git reads it.
    pub time: String,
}

/// Commits `target/universal` to `branch`, in the name of the author of the commit that is released.
pub fn run(workspace: &Workspace, branch: &str) -> Result<()> {
    let folder = bundle::folder(workspace);
    let version = version_of(&folder).context("there is no marketplace: run cargo xtask dist --universal first")?;
    ensure!(
        version == workspace.version,
        "{} has version {version}, not {}: run cargo xtask dist --universal again",
        folder.display(),
        workspace.version
    );
    let git = |arguments: &[&str]| run::output(run::program("git").arg("-C").arg(&workspace.root).args(arguments));
    let repository = git(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    let written = git(&["log", "-1", "--format=%an%n%ae%n%aI", "HEAD"])?;
    let [name, email, time] = written.lines().collect::<Vec<_>>()[..] else {
        bail!("git log prints no author of the current commit");
    };
    let [name, email, time] = [name, email, time].map(str::to_owned);
    let author = Author { name, email, time };
    let message = format!("{PACKAGE} {version}");
    let commit = commit(&PathBuf::from(repository.trim_end()), &folder, branch, &message, &author)?;
    writeln!(io::stdout(), "{branch} is at {commit}: git push origin {branch}")?;
    Ok(())
}

/// Commits the content of `folder` to `branch` of a repository, and returns the branch's commit.
///
/// The earlier commit of the branch becomes the parent, so that a clone can be updated. If nothing has changed, no commit
/// is made.
pub fn commit(repository: &Path, folder: &Path, branch: &str, message: &str, author: &Author) -> Result<String> {
    // In a folder that Claude Code has used, links to this machine's executables have replaced the launchers.
    if let Some(link) = first_link(folder)? {
        bail!("{} is a link: run cargo xtask dist --universal again", link.display());
    }
    let reference = format!("refs/heads/{branch}");
    let temporary = tempfile::tempdir()?;
    let git = |arguments: &[&str]| -> Command {
        let mut git = run::program("git");
        git.current_dir(folder).env("GIT_INDEX_FILE", temporary.path().join("index"));
        // The bytes and permissions of the folder, whatever this user or the repository has configured.
        git.env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.args(["-c", "core.autocrlf=false", "-c", "core.fileMode=true", "-c", "core.excludesFile=/dev/null"]);
        git.arg("--git-dir").arg(repository).arg("--work-tree").arg(folder).args(arguments);
        git
    };
    let line = |command: &mut Command| run::output(command).map(|text| text.trim_end().to_owned());
    run::output(&mut git(&["check-ref-format", "--branch", branch]))?;
    let worktrees = line(&mut git(&["worktree", "list", "--porcelain"]))?;
    ensure!(
        !worktrees.lines().any(|line| line == format!("branch {reference}")),
        "{branch} is checked out: check out another branch first"
    );
    run::output(&mut git(&["add", "--all", "--force", "."]))?;
    let tree = line(&mut git(&["write-tree"]))?;
    let parent = line(&mut git(&["rev-parse", "--verify", "--quiet", &reference])).ok();
    if let Some(parent) = &parent
        && line(&mut git(&["rev-parse", &format!("{parent}^{{tree}}")]))? == tree
    {
        return Ok(parent.clone());
    }
    let mut commit = git(&["commit-tree", &tree, "-m", message]);
    commit.args(parent.iter().flat_map(|parent| ["-p", parent]));
    for who in ["AUTHOR", "COMMITTER"] {
        commit.env(format!("GIT_{who}_NAME"), &author.name).env(format!("GIT_{who}_EMAIL"), &author.email);
        commit.env(format!("GIT_{who}_DATE"), &author.time);
    }
    let commit = line(&mut commit)?;
    // Forty zeros mean that the branch must not exist yet.
    let before = parent.unwrap_or_else(|| "0".repeat(commit.len()));
    run::output(&mut git(&["update-ref", "-m", message, &reference, &commit, &before]))?;
    Ok(commit)
}

/// Returns the version in marketplace.json, if there is one.
fn version_of(marketplace: &Path) -> Option<String> {
    let text = fs::read(marketplace.join(".claude-plugin/marketplace.json")).ok()?;
    let list: Value = serde_json::from_slice(&text).ok()?;
    Some(list["metadata"]["version"].as_str()?.to_owned())
}

/// Returns a symbolic link below `folder`, if there is one.
fn first_link(folder: &Path) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            return Ok(Some(entry.path()));
        }
        if kind.is_dir()
            && let Some(link) = first_link(&entry.path())?
        {
            return Ok(Some(link));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
