//! Rules of the sources that no compiler checks: who may start git, start programs, and open files.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates that touch the world. What the pure ones may do is in `domain_crates`.
const SOURCES: [&str; 8] = [
    "crates/notifications/src",
    "crates/runtime/src",
    "crates/setup/src",
    "crates/snapshot-store/src",
    "crates/store/src",
    "crates/sync-engine/src",
    "crates/worker/src",
    "bins/src",
];

/// Git runs programs that a repository names; this module closes every way to do so. The others use its commands, and
/// name the program in their errors.
const MAY_START_GIT: [&str; 3] =
    ["crates/runtime/src/git.rs", "crates/runtime/src/git/private_git.rs", "crates/runtime/src/git/work_tree.rs"];

/// Who may start a program at all. All but the last two, which become another executable of ours, go through the first.
const MAY_START_PROGRAMS: [&str; 3] =
    ["crates/runtime/src/process.rs", "bins/src/cli/hook.rs", "bins/src/cli/install.rs"];

/// Who may open a file for reading on its own: the one reader, the appending files of our own, `/proc`, and the store,
/// which cannot use the runtime.
const MAY_OPEN_FILES: [&str; 4] = [
    "crates/runtime/src/bounded_read.rs",
    "crates/runtime/src/files.rs",
    "crates/runtime/src/process.rs",
    "crates/store/src/foreign.rs",
];

#[test]
fn git_is_started_by_one_module_only() {
    check(&MAY_START_GIT, &["\"git\"", "/git\"", "\"git "], "use longhaul_runtime's git module");
}

#[test]
fn programs_are_started_by_one_module_only() {
    // Not `TerminalCommand`, which is only described.
    let starts = [" Command::new(", "::Command::new(", "(Command::new(", "posix_spawn", "exec("];
    check(&MAY_START_PROGRAMS, &starts, "use longhaul_runtime's process module");
}

#[test]
fn files_are_opened_by_one_reader_only() {
    let opens = [
        "fs::read(",
        "fs::read_to_string(",
        " File::open(",
        "::File::open(",
        "(File::open(",
        "fs::copy(",
        ".read(true)",
    ];
    check(&MAY_OPEN_FILES, &opens, "use longhaul_runtime::bounded_read");
}

/// A test that started a program otherwise would find the user's `claude`, and read the user's configuration.
#[test]
fn tests_start_programs_by_the_sandbox_only() {
    let allowed = ["tests/it/sandbox.rs", "tests/it/domain_crates.rs", "tests/it/source_rules.rs"];
    check_in(&["tests/it"], &allowed, &["Command::new(", "(\"PATH\")"], "use sandbox::tool, or a Sandbox");
}

#[track_caller]
fn check(allowed: &[&str], names: &[&str], instead: &str) {
    check_in(&SOURCES, allowed, names, instead);
}

/// Fails where a source outside of `allowed` names one of `names`, and where one of `allowed` is gone.
#[track_caller]
fn check_in(folders: &[&str], allowed: &[&str], names: &[&str], instead: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for path in allowed {
        assert!(root.join(path).is_file(), "{path} is not there any more");
    }
    let mut seen = 0;
    for path in folders.iter().flat_map(|folder| sources(&root.join(folder))) {
        let relative = path.strip_prefix(&root).unwrap().to_str().unwrap();
        let code = code_of(&fs::read_to_string(&path).unwrap());
        let found: Vec<&str> = names.iter().copied().filter(|name| code.contains(name)).collect();
        seen += usize::from(!found.is_empty());
        assert!(found.is_empty() || allowed.contains(&relative), "{relative} has {found:?}: {instead}");
    }
    assert!(seen > 0, "none of {names:?} is anywhere: the test looks for the wrong thing");
}

/// Returns a source without comments and unit tests.
fn code_of(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Returns every Rust source below `folder`, tests apart.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}
