//! The domain crates do no input or output: that is what makes them fit for other people's programs.

use std::fs;
use std::path::{Path, PathBuf};

/// The domain crates.
const PURE: [&str; 8] = ["core", "activity-log", "embedding", "handoff", "inject", "memory", "tracker", "transcript"];

/// What they may not name: whatever reads or changes the world outside of their arguments.
const IMPURE: [&str; 10] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::os",
    "std::thread",
    "std::io",
    "SystemTime",
    "Instant",
    "rusqlite",
];

/// What they may depend on, beside each other's base.
const DEPENDENCIES: [&str; 8] =
    ["longhaul-core", "memchr", "rust-stemmers", "saphyr", "serde", "serde_json", "thiserror", "unicode-normalization"];

#[test]
fn no_domain_crate_reads_or_changes_the_world() {
    for name in PURE {
        for path in sources(&crate_dir(name).join("src")) {
            let found = impure_names(&fs::read_to_string(&path).unwrap());
            assert!(found.is_empty(), "{} names {found:?}: take it as an argument", path.display());
        }
    }
}

#[test]
fn no_domain_crate_depends_on_another_or_on_what_touches_the_world() {
    for name in PURE {
        let manifest = fs::read_to_string(crate_dir(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("\n[").find_map(|table| table.strip_prefix("dependencies]")).unwrap();
        for dependency in dependencies.lines().filter_map(|line| line.split(['.', ' ', '=']).next()) {
            assert!(dependency.is_empty() || DEPENDENCIES.contains(&dependency), "{name} depends on {dependency}");
        }
    }
}

#[test]
fn every_domain_crate_has_a_readme_with_an_example_which_is_its_documentation() {
    for name in PURE {
        let code = fs::read_to_string(crate_dir(name).join("src/lib.rs")).unwrap();
        assert!(code.starts_with("#![doc = include_str!(\"../README.md\")]"), "{name}: its README is compiled");
        let readme = fs::read_to_string(crate_dir(name).join("README.md")).unwrap();
        assert!(readme.starts_with(&format!("# longhaul-{name}\n")), "{name}: its README names the crate");
        assert!(readme.contains("\n```rust"), "{name}: its README has an example");
        let manifest = fs::read_to_string(crate_dir(name).join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("doctest = false"), "{name}: its example is tested");
    }
}

#[test]
fn names_are_found_however_they_are_imported_and_not_in_comments_or_tests() {
    for text in
        ["let x = std::fs::read(p);", "use std::{fmt, fs};", "use std::{fmt,\n    net::TcpStream};", "Instant::now()"]
    {
        assert!(!impure_names(text).is_empty(), "{text}");
    }
    for text in ["/// Like std::fs.\nfn f() {}", "let x = 1; // std::env", "#[cfg(test)]\nmod tests { use std::fs; }"] {
        assert_eq!(impure_names(text), [""; 0], "{text}");
    }
}

/// Returns what of [`IMPURE`] a source names, comments and tests apart.
fn impure_names(source: &str) -> Vec<&'static str> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    // `use std::{fmt, fs}` names std::fs too.
    let grouped: Vec<String> = code
        .split("std::{")
        .skip(1)
        .flat_map(|group| group.split(';').next().unwrap_or_default().split([',', '{', '}']))
        .map(|name| format!("std::{}", name.trim()))
        .collect();
    IMPURE.into_iter().filter(|name| code.contains(name) || grouped.iter().any(|used| used.starts_with(name))).collect()
}

/// Returns every source below `folder`, tests apart.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.file_stem().and_then(|stem| stem.to_str()) {
            Some("tests") => {}
            _ if path.is_dir() => found.extend(sources(&path)),
            _ => found.push(path),
        }
    }
    assert!(!found.is_empty(), "{} has no sources", folder.display());
    found
}

fn crate_dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(name)
}
