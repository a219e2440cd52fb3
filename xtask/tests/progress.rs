//! `cargo xtask install` tells how far it is. A script stands in for cargo, and its builds make executables that do nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use longhaul_core::catalog;

const CARGO: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$1" = metadata ]; then
  cat "$here/metadata.json"
  exit
fi
mkdir -p "$here/target/debug"
for name in longhaul longhaul-hook longhaul-post-tool-use; do
  printf '#!/bin/sh\nif [ "$1" = man ]; then mkdir -p "$2"; echo page >"$2/longhaul.1"; else echo "$@"; fi\n' > "$here/target/debug/$name"
  chmod 755 "$here/target/debug/$name"
done
"#;

#[test]
#[expect(clippy::disallowed_methods, reason = "the test starts the program that it tests")]
fn every_step_is_named_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("cargo"), CARGO).unwrap();
    fs::set_permissions(path.join("cargo"), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(path.join("target")).unwrap();
    let targets: Vec<_> =
        catalog::executables(None).map(|name| serde_json::json!({ "name": name, "kind": ["bin"] })).collect();
    let package =
        serde_json::json!({ "id": "l", "name": "longhaul", "version": "1.0.0", "license": "MIT", "targets": targets });
    let metadata = serde_json::json!({
        "workspace_root": Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap(),
        "target_directory": path.join("target"),
        "packages": [package],
        "workspace_members": ["l"],
        "resolve": { "nodes": [{ "id": "l", "deps": [] }] },
    });
    fs::write(path.join("metadata.json"), metadata.to_string()).unwrap();
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = xtask.args(["install", "--quick", "--dry-run"]).env("CARGO", path.join("cargo")).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    let steps: Vec<&str> = printed.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(steps.len(), 3, "{printed}");
    assert_eq!(steps[0], "[1/3] compile the executables");
    assert!(steps[1].starts_with("[2/3] lay out the bundles, after 0 min "), "{printed}");
    assert!(steps[2].starts_with("[3/3] install, after 0 min "), "{printed}");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("install --dry-run\n"), "{output:?}");
}
