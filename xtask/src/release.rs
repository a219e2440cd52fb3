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
use crate::dist::{self, bundle};
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
    let mut metadata = run::cargo();
    metadata.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]);
    let text = run::output(metadata.arg(workspace.root.join("Cargo.toml")))?;
    let metadata: Value = serde_json::from_str(&text).context("cannot read cargo metadata")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let other = packages.filter(|package| package["version"] != workspace.version.as_str());
    Ok(other
        .map(|one| format!("{} has version {}: write version.workspace = true", one["name"], one["version"]))
        .collect())
}

/// Returns the manifests, generated or not, with a different version.
fn manifests(workspace: &Workspace) -> Result<Vec<String>> {
    let mut found = vec![("marketplace.json".to_owned(), dist::marketplace_of_all(workspace)?)];
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
    /// The name.
    pub name: String,
    /// The e-mail address.
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
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::{Author, check, commit, section, versions};
    use crate::run;
    use crate::workspace::Workspace;

    const RELEASED: &str = "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-01-02\n\n- one\n\n## 1.2.2\n\n- two\n";

    #[track_caller]
    fn refused(changelog: &str, version: &str, tag: Option<&str>, why: &str) {
        let problems = versions(changelog, version, tag);
        assert!(problems.iter().any(|problem| problem.contains(why)), "{problems:?}");
    }

    #[test]
    fn a_release_whose_parts_agree_goes_through() {
        assert_eq!(versions(RELEASED, "1.2.3", Some("v1.2.3")), [""; 0]);
        assert_eq!(versions(RELEASED, "1.2.3", None), [""; 0]);
        assert_eq!(versions("## Unreleased\n\n- new\n", "1.3.0", None), [""; 0]);
        assert_eq!(versions("## [2.0.0-rc.1]\n- new\n", "2.0.0-rc.1", Some("v2.0.0-rc.1")), [""; 0]);
    }

    #[test]
    fn a_tag_of_another_version_is_refused() {
        for tag in ["v1.2.4", "1.2.3", "v1.2.3 ", "", "v1.2.3-rc.1"] {
            refused(RELEASED, "1.2.3", Some(tag), "is not v1.2.3");
        }
        refused(RELEASED, "1.2", None, "is not a version");
    }

    #[test]
    fn a_version_that_the_changelog_does_not_know_is_refused() {
        refused("## Unreleased\n\n- new\n", "1.2.3", Some("v1.2.3"), "no section \"## 1.2.3\"");
        refused("## 1.2.3\n\n## 1.2.2\n- old\n", "1.2.3", Some("v1.2.3"), "no section \"## 1.2.3\"");
        refused("## 1.2.33\n- other\n", "1.2.3", Some("v1.2.3"), "no section \"## 1.2.3\"");
        refused("## Unreleased\n- new\n## 1.2.3\n- one\n", "1.2.3", Some("v1.2.3"), "still has something");
        refused("# Changelog\n", "1.2.3", None, "neither");
    }

    #[test]
    fn a_section_ends_where_the_next_begins() {
        assert_eq!(section(RELEASED, "1.2.3").unwrap().trim(), "- one");
        assert_eq!(section(RELEASED, "1.2.2").unwrap().trim(), "- two");
        assert_eq!(section(RELEASED, "1.2"), None);
    }

    #[test]
    fn this_very_tree_agrees_and_no_foreign_tag_passes() {
        let workspace = Workspace::load().unwrap();
        check(&workspace, None).unwrap();
        assert!(check(&workspace, Some("v99.0.0")).unwrap_err().to_string().contains("v99.0.0"));
    }

    fn git(repository: &Path, arguments: &[&str]) -> String {
        let mut git = run::program("git");
        run::output(git.env("GIT_CONFIG_GLOBAL", "/dev/null").arg("-C").arg(repository).args(arguments)).unwrap()
    }

    #[test]
    fn the_branch_has_the_files_of_the_folder_and_the_history_of_the_releases() {
        let temporary = tempfile::tempdir().unwrap();
        let (repository, folder) = (temporary.path().join("repository.git"), temporary.path().join("folder"));
        git(temporary.path(), &["init", "--quiet", "--bare", "repository.git"]);
        fs::create_dir_all(folder.join("longhaul/bin")).unwrap();
        fs::write(folder.join("longhaul/bin/longhaul"), "#!/bin/sh\r\n").unwrap();
        fs::set_permissions(folder.join("longhaul/bin/longhaul"), Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join(".gitignore"), "ignored\n").unwrap();
        fs::write(folder.join("ignored"), "is there all the same").unwrap();
        let [name, email, time] = ["A B", "a@b.c", "2026-01-02T03:04:05+01:00"].map(str::to_owned);
        let author = Author { name, email, time };
        let make = |message: &str| commit(&repository, &folder, "marketplace", message, &author);

        let first = make("longhaul 1.0.0").unwrap();
        assert_eq!(make("longhaul 1.0.0").unwrap(), first, "nothing has changed");
        let listed = git(&repository, &["ls-tree", "-r", "--format=%(objectmode) %(path)", "marketplace"]);
        assert_eq!(listed, "100644 .gitignore\n100644 ignored\n100755 longhaul/bin/longhaul\n");
        assert_eq!(git(&repository, &["show", "marketplace:longhaul/bin/longhaul"]), "#!/bin/sh\r\n");

        fs::remove_file(folder.join("ignored")).unwrap();
        make("longhaul 1.1.0").unwrap();
        let history = git(&repository, &["log", "--format=%s|%an|%ae|%cI", "marketplace"]);
        let who = "A B|a@b.c|2026-01-02T03:04:05+01:00";
        assert_eq!(
            history.lines().collect::<Vec<_>>(),
            [format!("longhaul 1.1.0|{who}"), format!("longhaul 1.0.0|{who}")]
        );
        let names = git(&repository, &["ls-tree", "-r", "--name-only", "marketplace"]);
        assert_eq!(names, ".gitignore\nlonghaul/bin/longhaul\n");

        assert!(commit(&repository, &folder, "not a name", "m", &author).is_err());
        symlink("longhaul", folder.join("longhaul/bin/used")).unwrap();
        assert!(make("longhaul 1.2.0").unwrap_err().to_string().contains("is a link"));
    }
}
