//! The domain crates do no input or output, so that other programs can use them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The domain crates.
const PURE: [&str; 11] = [
    "core",
    "agents",
    "activity-log",
    "cost",
    "handoff",
    "inject",
    "memory",
    "sync",
    "tracker",
    "transcript",
    "universal-bundle",
];

/// What is decided in crates that also read and write: these files name nothing of [`IMPURE`] either.
const PURE_FILES: [&str; 5] = [
    "bins/src/cli/view/layout.rs",
    "bins/src/cli/view/rows.rs",
    "bins/src/cli/view/state.rs",
    "crates/notifications/src/decision.rs",
    "crates/notifications/src/message.rs",
];

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
const DEPENDENCIES: [&str; 14] = [
    "bip39",
    "chacha20poly1305",
    "data-encoding",
    "longhaul-core",
    "memchr",
    "rust-stemmers",
    "saphyr",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "unicode-normalization",
    "uuid",
    "zeroize",
];

/// What none of them may need, also not through another crate.
const HEAVY: [&str; 6] = ["libsqlite3-sys", "longhaul-runtime", "longhaul-store", "rusqlite", "rustix", "tokio"];

/// A struct with up to this many public fields may be complete, so that it is written as a literal.
const FEW_FIELDS: usize = 3;

#[test]
fn no_domain_crate_reads_or_changes_the_world() {
    for name in PURE {
        for path in sources(&crate_dir(name).join("src")) {
            let found = impure_names(&fs::read_to_string(&path).unwrap());
            assert!(found.is_empty(), "{} names {found:?}: take it as an argument", path.display());
        }
    }
    for path in PURE_FILES {
        let found = impure_names(&fs::read_to_string(crate_dir("..").join(path)).unwrap());
        assert!(found.is_empty(), "{path} names {found:?}: take it as an argument");
    }
}

#[test]
fn no_domain_crate_depends_on_another_or_on_what_touches_the_world() {
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    for name in PURE {
        let package = packages.iter().find(|package| package["name"] == format!("longhaul-{name}")).unwrap();
        let dependencies = package["dependencies"].as_array().unwrap();
        // A type of a test's dependency is in no API.
        for dependency in dependencies.iter().filter(|dependency| dependency["kind"] != "dev") {
            let dependency = dependency["name"].as_str().unwrap();
            assert!(DEPENDENCIES.contains(&dependency), "{name} depends on {dependency}");
        }
    }
}

#[test]
fn no_domain_crate_brings_a_database_or_a_runtime_along() {
    for name in PURE {
        let package = format!("longhaul-{name}");
        let tree =
            cargo(&["tree", "--package", &package, "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]);
        let built: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(built.contains(&package.as_str()), "{tree}");
        for heavy in HEAVY {
            assert!(!built.contains(&heavy), "{name} needs {heavy}");
        }
    }
}

#[test]
fn a_struct_with_many_public_fields_can_get_more_of_them() {
    for name in PURE {
        for path in sources(&crate_dir(name).join("src")) {
            let source = fs::read_to_string(&path).unwrap();
            let closed = closed_structs(&source);
            assert!(closed.is_empty(), "{}: add #[non_exhaustive] and a constructor to {closed:?}", path.display());
        }
    }
    let field = |number: usize| format!("    /// Field.\n    pub field_{number}: u8,\n");
    let closed = |fields: usize| format!("pub struct Wide {{\n{}}}\n", (0..fields).map(field).collect::<String>());
    assert_eq!(closed_structs(&closed(FEW_FIELDS)), [""; 0]);
    assert_eq!(closed_structs(&closed(FEW_FIELDS + 1)), ["Wide"]);
    assert_eq!(closed_structs(&format!("#[non_exhaustive]\n{}", closed(FEW_FIELDS + 1))), [""; 0]);
}

/// Returns the public structs that have more than [`FEW_FIELDS`] public fields and are not `#[non_exhaustive]`.
fn closed_structs(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut before = "";
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("pub struct ").filter(|_| line.ends_with('{') && !is_open(before)) {
            let fields = lines.by_ref().take_while(|line| *line != "}");
            if fields.filter(|line| line.trim_start().starts_with("pub ")).count() > FEW_FIELDS {
                found.extend(name.split(['<', ' ']).next());
            }
        }
        before = line;
    }
    found
}

/// Returns whether the line before a struct is the attribute. Longhaul's sources have it last.
fn is_open(line: &str) -> bool {
    line == "#[non_exhaustive]"
}

/// Returns what cargo prints about the workspace.
#[expect(clippy::disallowed_methods, reason = "the test asks cargo")]
fn cargo(arguments: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let output =
        cargo.args(arguments).args(["--locked", "--offline", "--manifest-path"]).arg(manifest).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
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
    // A folder below may hold the tests of a file only.
    assert!(!found.is_empty() || !folder.ends_with("src"), "{} has no sources", folder.display());
    found
}

fn crate_dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(name)
}
