//! From version to version and back, with sessions that run.

use std::fs;

use longhaul_core::catalog::HOOK_EXECUTABLE;
use serde_json::json;

use super::{Machine, copy_folder, fill, succeeds};
use crate::sandbox::{Outcome, bin_dir, payload};
use crate::tmux::Tmux;

#[test]
fn a_session_that_runs_keeps_its_version_and_there_is_one_registration() {
    let machine = Machine::installed();
    let first = fs::read_link(machine.link()).unwrap();
    machine.start_session();
    let updated = machine.install("1.1.0", &[]);
    succeeds(&updated);
    assert!(updated.stderr.contains("Running sessions"), "{updated:?}");
    succeeds(&machine.install("1.2.0", &[]));
    assert_eq!(machine.versions(), ["1.0.0", "1.1.0", "1.2.0"]);
    assert!(first.exists(), "the session's executables");
    assert_eq!(machine.plugins().as_array().unwrap().len(), 1);
    assert_eq!(machine.plugins()[0]["version"], "1.2.0");
    machine.end_session();
    succeeds(&machine.longhaul(&["install"]));
    assert_eq!(machine.versions(), ["1.1.0", "1.2.0"], "the one before stays, those before it go");
}

#[test]
fn a_session_that_runs_alone_removes_what_an_update_has_replaced() {
    let machine = Machine::installed();
    machine.start_session();
    succeeds(&machine.install("1.1.0", &[]));
    // As Claude Code leaves its copies: of the old version, of the current one, and of one that is not complete.
    let copies = machine.sandbox.home().join(".claude/plugins/cache/longhaul/longhaul");
    for copy in ["1.0.0", "1.1.0", ".new"] {
        fs::create_dir_all(copies.join(copy).join("bin")).unwrap();
    }
    for old in ["1.0.0", ".new"] {
        fs::write(copies.join(old).join(".orphaned_at"), "1").unwrap();
    }
    let start = |client: u32| {
        let mut hook = machine.sandbox.executable("longhaul-session-start");
        let payload = payload("SessionStart", json!({ "session_id": "new" }));
        assert_eq!(Outcome::of(hook.env("CLAUDE_PID", client.to_string()), payload.as_bytes()).status, Some(0));
    };
    start(1);
    assert_eq!(machine.versions(), ["1.0.0", "1.1.0"], "another session may have begun with the old one");
    assert!(copies.join("1.0.0").exists());
    // With another configuration folder, as its process says.
    let mut elsewhere = machine.sandbox.program("sleep").arg("600").spawn().unwrap();
    let mut hook = machine.sandbox.executable("longhaul-session-start");
    hook.env("CLAUDE_CONFIG_DIR", machine.sandbox.path("work")).env("CLAUDE_PID", elsewhere.id().to_string());
    Outcome::of(&mut hook, payload("SessionStart", json!({ "session_id": "elsewhere" })).as_bytes());
    start(std::process::id());
    assert_eq!(machine.versions(), ["1.0.0", "1.1.0"], "the other one may have begun with it, too");
    elsewhere.kill().unwrap();
    elsewhere.wait().unwrap();
    start(std::process::id());
    assert_eq!(machine.versions(), ["1.1.0"]);
    assert_eq!([".new", "1.0.0", "1.1.0"].map(|copy| copies.join(copy).exists()), [true, false, true]);
    succeeds(&machine.longhaul(&["--version"]));
}

#[test]
fn tmux_calls_the_version_that_stays() {
    let machine = Machine::new();
    machine.start_session();
    let copies = machine.sandbox.home().join(".claude/plugins/cache/longhaul/longhaul");
    for version in ["1.0.0", "1.1.0"] {
        fs::create_dir_all(copies.join(version).join("bin")).unwrap();
        fill(&copies.join(version).join("bin"), None);
    }
    let hook = copies.join("1.1.0/bin").join(HOOK_EXECUTABLE);
    fs::copy(bin_dir().join(HOOK_EXECUTABLE), &hook).unwrap();
    let tmux = Tmux::start(&machine.sandbox);
    let pane = tmux.pane(&["sleep", "600"], &[]);
    let mut setup = machine.sandbox.program(copies.join("1.0.0/bin/longhaul"));
    succeeds(&Outcome::of(setup.args(["tmux", "setup"]).envs(tmux.variables(&pane)), b""));
    let command = || tmux.run(&["show-options", "-gv", "@longhaul-command"]);
    let old = copies.join("1.0.0/bin/longhaul").display().to_string();
    let before = command();
    assert!(before.contains(&old), "{before}");
    fs::write(copies.join("1.0.0/.orphaned_at"), "1").unwrap();
    let mut start = machine.sandbox.program(&hook);
    start.arg("session-start").envs(tmux.variables(&pane)).env("CLAUDE_PID", std::process::id().to_string());
    let payload = payload("SessionStart", json!({ "session_id": "new" }));
    assert_eq!(Outcome::of(&mut start, payload.as_bytes()).status, Some(0));
    assert!(!copies.join("1.0.0").exists());
    assert_eq!(command(), before.replace(&old, &copies.join("1.1.0/bin/longhaul").display().to_string()));
}

#[test]
fn the_copy_of_the_client_takes_no_space() {
    use std::os::unix::fs::MetadataExt;
    let machine = Machine::new();
    let bundle = machine.bundle("1.0.0").parent().unwrap().parent().unwrap().to_owned();
    let copy = machine.sandbox.home().join(".claude/plugins/cache/longhaul/longhaul/1.0.0");
    copy_folder(&bundle, &copy);
    fs::write(copy.join("hooks/hooks.json"), "changed").unwrap();
    succeeds(&machine.install("1.0.0", &[]));
    let installed = machine.link().canonicalize().unwrap();
    let inode = |path: &std::path::Path| path.metadata().unwrap().ino();
    assert_eq!(inode(&copy.join("bin/longhaul")), inode(&installed));
    assert_eq!(fs::read_to_string(copy.join("hooks/hooks.json")).unwrap(), "changed", "another file stays");
    // The doctor counts it once.
    let doctor = machine.longhaul(&["doctor", "--json"]).json();
    let space = doctor.as_array().unwrap().iter().find(|finding| finding["check"] == "space").unwrap();
    let space = space["what"].as_str().unwrap();
    let size = installed.metadata().unwrap().blocks() as f64 * 512.0 / 1e6;
    let all: f64 = space.split("Longhaul takes ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    // It says tenths.
    assert!(all >= size - 0.1 && all < size * 2.0, "{size}: {space}");
    for part in ["installed versions", "copies of Claude Code", ".local/lib/longhaul"] {
        assert!(space.contains(part), "{part}: {space}");
    }
}

#[test]
fn going_back_loses_nothing() {
    let machine = Machine::new();
    succeeds(&machine.install("2.0.0", &[]));
    machine.sandbox.hook("longhaul-session-start", payload("SessionStart", json!({ "session_id": "kept" })));
    let database = machine.sandbox.data_dir().join("longhaul.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.pragma_update(None, "user_version", 9_999).unwrap();
    drop(connection);
    let before = fs::read(&database).unwrap();
    let back = machine.install("1.0.0", &[]);
    succeeds(&back);
    assert!(back.stderr.contains("newer version"), "{back:?}");
    assert_eq!(machine.plugins()[0]["version"], "1.0.0");
    assert_eq!(machine.plugins().as_array().unwrap().len(), 1);
    assert_eq!(fs::read(&database).unwrap(), before);
    let doctor = machine.longhaul(&["doctor"]);
    assert_eq!(doctor.status, Some(1));
    assert!(doctor.stdout.contains("install the newer version again; nothing is lost"), "{doctor:?}");
}

#[test]
fn update_takes_what_lies_where_this_version_came_from() {
    let machine = Machine::new();
    succeeds(&machine.install("1.0.0", &["--hooks-only"]));
    let same = machine.longhaul(&["update"]);
    assert!(same.stderr.contains("is already installed"), "{same:?}");
    machine.bundle("1.1.0");
    let other = machine.sandbox.path("dist-1.1.0");
    succeeds(&machine.longhaul(&["update", "--from", other.to_str().unwrap()]));
    assert_eq!(machine.versions(), ["1.0.0", "1.1.0"]);
    assert!(machine.settings_text().contains("versions/1.1.0-"), "as hooks, as before");
    assert!(!machine.settings_text().contains("versions/1.0.0-"));
    fs::remove_dir_all(other).unwrap();
    let gone = machine.longhaul(&["update"]);
    assert_eq!(gone.status, Some(1));
    assert!(gone.stderr.contains("--from"), "{gone:?}");
}
