//! `cargo xtask release`: checks before a release that everything has the version of `[workspace.package]`, the changelog
//! too.

pub mod marketplace_branch;
#[cfg(test)]
mod workflow_tests;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::codegen::{self, Mode};
use crate::dist::manifest;
use crate::run;
use crate::workspace::Workspace;

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
    let mut found = vec![("marketplace.json".to_owned(), manifest::marketplace_of_all(workspace)?)];
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

#[cfg(test)]
mod tests {
    use super::{check, section, versions};
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
}
