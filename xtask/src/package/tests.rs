use serde_json::{Value, json};

use super::{Package, missing_lines, other_versions, published};
use crate::workspace::Workspace;

#[test]
fn the_program_requires_every_crate_in_its_current_version() {
    let workspace = Workspace::load().unwrap();
    let packages = super::published(&workspace).unwrap();
    let manifest = std::fs::read_to_string(workspace.root.join("tests/embedder/Cargo.toml")).unwrap();
    assert_eq!(missing_lines(&manifest, &packages, &workspace.version), [""; 0]);
    assert_eq!(missing_lines(&manifest, &packages, "99.0.0").len(), packages.len());
}

#[test]
fn another_version_of_a_dependency_is_found_and_a_path_dependency_is_not() {
    let entry = |name: &str, version: &str, source: &str| {
        format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}\n")
    };
    let registry = "source = \"registry\"";
    let ours = entry("serde", "1.0.1", registry) + &entry("memchr", "2.0.0", registry);
    let theirs = entry("serde", "1.0.1", registry) + &entry("embedder", "0.0.0", "dependencies = []");
    assert_eq!(other_versions(&ours, &theirs), [""; 0]);
    let theirs = theirs + &entry("memchr", "2.0.1", registry);
    assert_eq!(other_versions(&ours, &theirs), ["memchr 2.0.1"]);
}

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
        let problem = format!("a requires b \"{requirement}\": write version = \"1.2.3\" in [workspace.dependencies]");
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
