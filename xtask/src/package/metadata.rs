//! What a crate must have before it can be published.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run;
use crate::workspace::Workspace;

/// The files that every packed crate has.
const FILES: [&str; 4] = ["Cargo.toml", "LICENSE", "README.md", "src/lib.rs"];

/// A crate of the workspace that can be published.
pub(super) struct Package {
    pub(super) name: String,
    version: String,
    metadata: Value,
}

/// Returns the crates with `publish = true`, ordered by name.
pub(super) fn published(workspace: &Workspace) -> Result<Vec<Package>> {
    let mut metadata = run::cargo();
    metadata.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]);
    let text = run::output(metadata.arg(workspace.root.join("Cargo.toml")))?;
    let mut metadata: Value = serde_json::from_str(&text).context("cannot read cargo metadata")?;
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

    /// Returns the name of the packed file.
    pub(super) fn file_name(&self) -> String {
        format!("{}.crate", self.folder_name())
    }

    /// Returns the name of the folder in the packed file.
    pub(super) fn folder_name(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// Returns what is missing or wrong in the manifest. `version` is the version of the workspace.
    pub(super) fn problems(&self, version: &str) -> Vec<String> {
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
    pub(super) fn check_files(&self, folder: &Path) -> Result<()> {
        for file in FILES {
            ensure!(folder.join(file).is_file(), "the packed {} has no {file}", self.name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Package, published};
    use crate::workspace::Workspace;

    fn complete() -> Value {
        json!({
            "name": "a", "version": "1.2.3", "description": "A crate", "license": "MIT", "readme": "README.md",
            "rust_version": "1.95", "keywords": ["one"], "categories": ["development-tools"],
            "dependencies": [
                { "name": "serde", "req": "^1" },
                { "name": "b", "req": "^1.2.3", "path": "/b" },
            ],
        })
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Value), expected: &[&str]) {
        let mut metadata = complete();
        change(&mut metadata);
        assert_eq!(Package::new(metadata).unwrap().problems("1.2.3"), expected);
    }

    #[test]
    fn a_complete_manifest_has_no_problem() {
        check(|_| {}, &[]);
    }

    #[test]
    fn what_a_registry_requires_is_named_where_it_is_missing() {
        check(|it| it["description"] = Value::Null, &["a has no `description`"]);
        check(|it| it["rust_version"] = Value::Null, &["a has no `rust-version`"]);
        check(|it| it["keywords"] = json!([]), &["a needs one to five `keywords`"]);
        check(|it| it["categories"] = json!(["1", "2", "3", "4", "5", "6"]), &["a needs one to five `categories`"]);
    }

    #[test]
    fn a_dependency_on_an_earlier_version_or_on_none_is_a_problem() {
        for requirement in ["*", "^1.2.2", "^1.2"] {
            let problem =
                format!("a requires b \"{requirement}\": write version = \"1.2.3\" in [workspace.dependencies]");
            check(|it| it["dependencies"][1]["req"] = json!(requirement), &[&problem]);
        }
    }

    #[test]
    fn every_domain_crate_is_published_and_nothing_else() {
        let workspace = Workspace::load().unwrap();
        let packages = published(&workspace).unwrap();
        let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        let expected = [
            "longhaul-activity-log",
            "longhaul-core",
            "longhaul-embedding",
            "longhaul-handoff",
            "longhaul-inject",
            "longhaul-memory",
            "longhaul-tracker",
            "longhaul-transcript",
        ];
        assert_eq!(names, expected);
        for package in packages {
            assert_eq!(package.problems(&workspace.version), [""; 0]);
        }
    }
}
