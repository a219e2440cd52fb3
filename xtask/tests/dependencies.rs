//! What is built before the first task of `cargo xtask` starts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Every package of these takes seconds of each first installation, before anything else starts.
const MOST: usize = 60;

/// What the tasks of the workbench need, and takes minutes to build.
const HEAVY: [&str; 7] =
    ["libsqlite3-sys", "longhaul-memory", "longhaul-runtime", "longhaul-setup", "longhaul-store", "rusqlite", "tokio"];

#[test]
fn xtask_itself_is_quick_to_build() {
    let built = built_for("xtask");
    for package in HEAVY {
        assert!(!built.contains(package), "xtask needs {package}: move what needs it to xtask/workbench");
    }
    assert!(built.len() <= MOST, "{} packages: {built:?}", built.len());
}

/// Returns the names of the packages that are compiled for `package` on this machine, build scripts included.
#[expect(clippy::disallowed_methods, reason = "the test asks cargo")]
fn built_for(package: &str) -> BTreeSet<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--locked", "--offline", "--package", package, "--edges", "normal,build"]);
    tree.args(["--prefix", "none", "--format", "{p}", "--manifest-path"]).arg(manifest);
    let output = tree.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).filter(|name| !name.is_empty()).collect()
}
