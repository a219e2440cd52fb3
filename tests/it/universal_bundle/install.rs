//! `longhaul install` and `longhaul doctor` of a universal bundle.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::{ALL, Universal, native};
use crate::sandbox::{Outcome, Sandbox};

/// A `claude` that has the plugin from a marketplace that is a repository, and records what it is asked.
const CLIENT: &str = r#"#!/bin/sh
echo "$*" >> "@STATE@"
case "$*" in
"plugin list --json")
    echo '[{"id":"longhaul@longhaul","version":"1.0.0","scope":"user","enabled":true,"installPath":"@BUNDLE@"}]' ;;
"plugin marketplace list --json") echo '[{"name":"longhaul","source":"github","repo":"owner/repo"}]' ;;
"--version") echo "2.1.325 (Claude Code)" ;;
esac
"#;

/// Makes a sandbox whose client has the plugin of a universal bundle in its cache.
fn installed() -> (Sandbox, Universal) {
    let sandbox = Sandbox::new();
    let universal = Universal::new(sandbox.home().join(".claude/plugins/cache/longhaul/longhaul/1.0.0"), &ALL);
    let tools = sandbox.path("tools");
    fs::create_dir(&tools).unwrap();
    let client = CLIENT.replace("@STATE@", sandbox.path("asked").to_str().unwrap());
    fs::write(tools.join("claude"), client.replace("@BUNDLE@", universal.folder.to_str().unwrap())).unwrap();
    fs::set_permissions(tools.join("claude"), Permissions::from_mode(0o755)).unwrap();
    let own = sandbox.home().join(".local/bin");
    (sandbox.with_programs(&tools).with_programs(&own), universal)
}

#[test]
fn only_the_executables_of_this_machine_are_installed_and_the_marketplace_stays() {
    let (sandbox, universal) = installed();
    let install = || Outcome::of(universal.command(&sandbox, "longhaul").args(["install", "--no-keybinding"]), b"");
    let first = install();
    assert_eq!(first.status, Some(0), "{first:?}");
    assert!(first.stderr.contains("claude plugin update longhaul@longhaul"), "{first:?}");
    let asked = fs::read_to_string(sandbox.path("asked")).unwrap();
    assert!(asked.lines().all(|line| line.contains(" list ")), "{asked}");
    let program = fs::canonicalize(sandbox.home().join(".local/bin/longhaul")).unwrap();
    assert!(program.starts_with(fs::canonicalize(sandbox.home().join(".local/lib/longhaul")).unwrap()), "{program:?}");
    let bin = program.parent().unwrap();
    let mut names: Vec<_> =
        fs::read_dir(bin).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ALL);
    for name in ALL {
        let expected = fs::read(universal.bin().join(native()).join(name)).unwrap();
        assert!(fs::read(bin.join(name)).unwrap() == expected, "{name}");
    }
    // With links in place of the launchers, it is the same bundle.
    universal.replace_launchers(&sandbox);
    assert_eq!(universal.linked(&ALL), ALL);
    let second = install();
    assert_eq!((second.status, second.stdout.as_str()), (Some(0), ""), "{second:?}");
}

#[test]
fn the_doctor_names_launchers_and_why_they_are_still_there() {
    let (sandbox, universal) = installed();
    let found = || {
        let doctor = Outcome::of(universal.command(&sandbox, "longhaul").args(["doctor", "--json"]), b"").json();
        let found = doctor.as_array().unwrap().iter().filter(|one| one["check"] == "launchers").cloned();
        found.map(|one| format!("{}: {}", one["level"].as_str().unwrap(), one["what"].as_str().unwrap())).collect()
    };
    let before: Vec<String> = found();
    assert_eq!(before.len(), 1, "{before:?}");
    assert!(
        before[0].starts_with("note: plugin longhaul@longhaul 1.0.0 starts its hooks through launchers"),
        "{before:?}"
    );
    let sums = fs::read(universal.bin().join("SHA256SUMS")).unwrap();
    fs::write(universal.bin().join("SHA256SUMS"), "damaged").unwrap();
    universal.start_session(&sandbox);
    let problem: Vec<String> = found();
    assert!(problem[0].starts_with("warning: ") && problem[0].contains("SHA256SUMS"), "{problem:?}");
    fs::write(universal.bin().join("SHA256SUMS"), sums).unwrap();
    universal.replace_launchers(&sandbox);
    assert_eq!(found(), [""; 0]);
}
