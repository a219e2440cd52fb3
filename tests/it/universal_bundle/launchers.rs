//! What a launcher starts, in which shell, and what it does not.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use longhaul_core::catalog::{self, REGISTRATIONS};
use serde_json::json;

use super::{ALL, FOREIGN, Universal, native, start, write_executable};
use crate::sandbox::{Outcome, Sandbox, part, part_of_event, payload, programs};
use crate::small_disk::Small;

/// Shells that may be `/bin/sh`; those that are installed are used.
const SHELLS: [&[&str]; 6] =
    [&["/bin/sh"], &["dash"], &["bash", "--posix"], &["busybox", "sh"], &["mksh"], &["zsh", "--emulate", "sh"]];

/// Returns the shells of this machine; `dash` or `sh`, and `bash`, must be there.
fn shells() -> Vec<&'static [&'static str]> {
    let runs = |shell: &&&[&str]| Path::new(&which(shell[0])).is_file();
    let found: Vec<_> = SHELLS.iter().filter(runs).copied().collect();
    assert!(found.len() >= 2, "{found:?}");
    found
}

/// Returns a command that runs a launcher in a shell.
fn in_shell(sandbox: &Sandbox, shell: &[&str], launcher: &Path) -> Command {
    let mut command = sandbox.program(shell[0]);
    command.args(&shell[1..]).arg(launcher);
    command
}

#[test]
fn a_launcher_starts_the_executable_of_this_machine_with_input_and_arguments() {
    let sandbox = Sandbox::new();
    let universal = Universal::new(sandbox.path("with space/longhaul"), &ALL);
    for (number, shell) in shells().into_iter().enumerate() {
        let session = format!("s{number}");
        let mut hook = in_shell(&sandbox, shell, &universal.bin().join("longhaul-post-tool-use"));
        let outcome = Outcome::of(&mut hook, payload("PostToolUse", json!({ "session_id": session })).as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{shell:?}");
        assert_eq!(outcome.json()["continue"], true);
        assert_eq!(sandbox.count_lines(&session, "T"), 1, "{shell:?}");
        let mut program = in_shell(&sandbox, shell, &universal.bin().join("longhaul"));
        let outcome = Outcome::of(program.args(["config", "no such", "command"]), b"");
        assert!(outcome.stderr.contains("'no such'"), "{shell:?}: {outcome:?}");
    }
    // As the kernel starts it, and by a path that is not absolute.
    let direct = Outcome::of(universal.command(&sandbox, "longhaul").arg("--version"), b"");
    assert!(direct.stdout.starts_with("longhaul "), "{direct:?}");
    let mut relative = sandbox.program("./bin/longhaul");
    let relative = Outcome::of(relative.arg("--version").current_dir(&universal.folder), b"");
    assert!(relative.stdout.starts_with("longhaul "), "{relative:?}");
}

#[test]
fn the_first_start_unpacks_the_executables() {
    for shell in shells() {
        let sandbox = Sandbox::new();
        let universal = Universal::small(sandbox.path("bundle"));
        let folder = universal.bin().join(native());
        for name in ALL {
            // Another launcher may have begun.
            let keeps: &[&str] = if name == "longhaul-hook" { &["--keep"] } else { &[] };
            let mut gzip = sandbox.program("gzip");
            let packed = gzip.args(["--fast", "--force"]).args(keeps).arg(folder.join(name)).output().unwrap();
            assert!(packed.status.success(), "{packed:?}");
        }
        let mut hook = in_shell(&sandbox, shell, &universal.bin().join("longhaul-hook"));
        let outcome = Outcome::of(hook.arg("session-start"), start("s").as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{shell:?}");
        assert_eq!(outcome.json()["continue"], true, "{shell:?}");
        universal.replace_launchers(&sandbox);
        assert_eq!(universal.linked(&ALL), ALL, "{shell:?}");
        let files = fs::read_dir(&folder).unwrap().count();
        assert_eq!(files, 2 * ALL.len(), "packed and unpacked, and nothing temporary");
    }
}

/// As after `git pull` in a clone, which changes only the packed files.
#[test]
fn an_update_in_place_is_unpacked_again() {
    for shell in shells() {
        let sandbox = Sandbox::new();
        let universal = Universal::small(sandbox.path("bundle"));
        let program = universal.bin().join(native()).join("longhaul-hook");
        let packed = program.with_extension("gz");
        let launcher = universal.bin().join("longhaul-hook");
        for version in ["one", "two"] {
            let plain = sandbox.path("longhaul-hook");
            fs::write(&plain, format!("#!/bin/sh\necho {version}\n")).unwrap();
            let gzip = sandbox.program("gzip").arg("--force").arg(&plain).output().unwrap();
            assert!(gzip.status.success(), "{gzip:?}");
            fs::rename(plain.with_extension("gz"), &packed).unwrap();
            // Some shells compare whole seconds.
            let (old, new) = (SystemTime::now() - Duration::from_secs(60), SystemTime::now() + Duration::from_secs(60));
            File::open(&packed).unwrap().set_modified(if version == "one" { old } else { new }).unwrap();
            if version == "one" {
                fs::remove_file(&program).unwrap();
            }
            let outcome = Outcome::of(&mut in_shell(&sandbox, shell, &launcher), b"");
            assert_eq!(outcome.stdout, format!("{version}\n"), "{shell:?}: {outcome:?}");
        }
    }
}

#[test]
fn without_an_executable_every_hook_answers_and_one_reports_it_once() {
    for shell in shells() {
        let sandbox = Sandbox::new();
        let universal = Universal::of_targets(sandbox.path("bundle"), &[FOREIGN]);
        let run = |name: &str, arguments: &[&str]| {
            let (executable, first) = part(name);
            let mut command = in_shell(&sandbox, shell, &universal.bin().join(executable));
            Outcome::of(command.args(first).args(arguments), start("s").as_bytes())
        };
        let hooks = REGISTRATIONS.iter().map(|registration| part_of_event(registration.event));
        let hooks = hooks.chain(["longhaul-codex".to_owned(), "longhaul-hook".to_owned()]);
        for name in hooks.filter(|name| name != "longhaul-session-start") {
            let outcome = run(&name, &[]);
            assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{name} in {shell:?}");
            let answer = if name == "longhaul-pre-compact" { "" } else { "{\"continue\":true}\n" };
            assert_eq!(outcome.stdout, answer, "{name} in {shell:?}");
        }
        let first = run("longhaul-session-start", &[]);
        assert_eq!((first.status, first.stderr.as_str()), (Some(0), ""), "{shell:?}");
        let message = first.json()["systemMessage"].as_str().unwrap_or_default().to_owned();
        assert!(message.starts_with("longhaul: the plugin has no executables for this machine ("), "{message}");
        assert_eq!(first.json()["continue"], true);
        let second = run("longhaul-session-start", &[]);
        assert_eq!((second.status, second.stdout.as_str()), (Some(0), "{\"continue\":true}\n"), "{shell:?}");
        let bridge = run("longhaul", &["bridge", "start"]);
        assert_eq!((bridge.status, bridge.stdout.as_str()), (Some(0), "{\"actions\":[]}\n"), "{shell:?}");
        let program = run("longhaul", &["status"]);
        assert_eq!((program.status, program.stdout.as_str()), (Some(1), ""), "{shell:?}");
        assert_eq!(program.stderr, format!("{message}\n"), "{shell:?}");
        assert!(!sandbox.data_dir().exists());
    }
}

#[test]
fn an_executable_that_is_missing_or_not_executable_is_named() {
    let sandbox = Sandbox::new();
    let universal = Universal::new(sandbox.path("bundle"), &["longhaul"]);
    let outcome = Outcome::of(&mut universal.command(&sandbox, "longhaul-session-start"), start("s").as_bytes());
    let message = outcome.json()["systemMessage"].as_str().unwrap().to_owned();
    let start = format!("longhaul: the executable longhaul-hook for {} is missing", native());
    assert!(message.starts_with(&start), "{message}");
    let plain = universal.bin().join(native()).join("longhaul-hook");
    fs::write(plain, "not executable").unwrap();
    let outcome = Outcome::of(&mut universal.command(&sandbox, "longhaul-notification"), b"{}");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "{\"continue\":true}\n"));
}

/// A file that the system cannot start: the answer is given where the shell allows it, and no shell blocks Claude Code.
#[test]
fn an_executable_that_cannot_be_started_does_not_block() {
    let sandbox = Sandbox::new();
    let universal = Universal::new(sandbox.path("bundle"), &[]);
    write_executable(&universal.bin().join(native()).join("longhaul-hook"), "#!/no/such/interpreter\n");
    for shell in shells() {
        let mut command = in_shell(&sandbox, shell, &universal.bin().join("longhaul-hook"));
        let outcome = Outcome::of(&mut command, b"{}");
        let is_answer = (outcome.status, outcome.stdout.as_str()) == (Some(0), "{\"continue\":true}\n");
        // Status 2 would block; bash and zsh run no trap here.
        let is_harmless = matches!(outcome.status, Some(126 | 127)) && outcome.stdout.is_empty();
        assert!(is_answer || (is_harmless && shell[0] != "dash"), "{shell:?}: {outcome:?}");
    }
}

#[test]
fn a_bundle_that_is_read_only_reports_once_if_there_is_another_folder() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("disk");
    let Some(disk) = Small::mount(&sandbox, &place, "1m") else { return };
    let universal = Universal::of_targets(place.join("bundle"), &[FOREIGN]);
    disk.remount(&sandbox, "ro");
    let reports = |data: Option<&Path>| {
        let mut command = universal.command(&sandbox, "longhaul-session-start");
        let outcome = Outcome::of(command.envs(data.map(|data| ("CLAUDE_PLUGIN_DATA", data))), b"{}");
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        outcome.json()["systemMessage"].is_string()
    };
    assert_eq!([reports(None), reports(None)], [true, true]);
    let data = sandbox.path("plugin-data");
    fs::create_dir(&data).unwrap();
    assert_eq!([reports(Some(&data)), reports(Some(&data))], [true, false]);
    assert!(reports(Some(Path::new("."))));
    assert_eq!(fs::read_dir(sandbox.project()).unwrap().count(), 0, "nothing is written to the current folder");
}

/// The repository is the current folder, and the environment is what a repository's settings can set.
#[test]
fn neither_the_path_nor_the_current_folder_decides_what_is_started() {
    let words = [
        "[", "awk", "basename", "case", "cat", "command", "cut", "dirname", "echo", "env", "exec", "exit", "head",
        "ls", "mkdir", "printf", "pwd", "read", "readlink", "rm", "sed", "set", "sh", "test", "touch", "trap", "true",
        "umask", "uname", "unset",
    ];
    for shell in shells() {
        let sandbox = Sandbox::new();
        let bait = |path: &Path| write_executable(path, "#!/bin/sh\n: >\"$BAIT\"\n");
        let (hostile, taken) = (sandbox.path("project/tools"), sandbox.path("taken"));
        fs::create_dir_all(&hostile).unwrap();
        for name in words.into_iter().chain(catalog::executables(None)) {
            bait(&hostile.join(name));
            bait(&sandbox.project().join(name));
        }
        for target in [native(), FOREIGN] {
            for folder in [format!("project/{target}"), format!("project/bin/{target}")] {
                fs::create_dir_all(sandbox.path(&folder)).unwrap();
                catalog::executables(None).for_each(|name| bait(&sandbox.path(&folder).join(name)));
            }
        }
        let shell_path = which(shell[0]);
        let shell: Vec<&str> = std::iter::once(shell_path.as_str()).chain(shell[1..].iter().copied()).collect();
        let bundles =
            [Universal::small(sandbox.path("bundle")), Universal::of_targets(sandbox.path("unsupported"), &[FOREIGN])];
        for universal in &bundles {
            for name in ALL {
                let mut command = in_shell(&sandbox, &shell, &universal.bin().join(name));
                command.env("PATH", format!("{}:.", hostile.display())).env("BAIT", &taken);
                command.env("CLAUDE_PLUGIN_ROOT", sandbox.project()).env("CDPATH", sandbox.project());
                // bash itself refuses functions of the names of special builtins.
                for function in ["echo", "read", "true"] {
                    command.env(format!("BASH_FUNC_{function}%%"), "() { : >\"$BAIT\"; }");
                }
                command.env("ENV", hostile.join("echo")).env("BASH_ENV", hostile.join("echo"));
                let outcome = Outcome::of(&mut command, b"{}");
                assert!(!taken.exists(), "{shell:?} {name}: {outcome:?}");
                let printed = outcome.stdout.trim_end();
                let is_right = printed == name || printed.starts_with("{\"continue\":true") || name == "longhaul";
                assert!(is_right, "{shell:?} {name}: {outcome:?}");
            }
            // Without a folder in its name, as `sh longhaul-hook` would start it in the repository.
            let mut command = sandbox.program(&shell_path);
            command.args(&shell[1..]).arg("longhaul-hook").env("PATH", "").env("BAIT", &taken);
            fs::copy(universal.bin().join("longhaul-hook"), sandbox.project().join("longhaul-hook")).unwrap();
            let outcome = Outcome::of(&mut command, b"{}");
            assert!(!taken.exists(), "{shell:?}: {outcome:?}");
            assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "{\"continue\":true}\n"), "{shell:?}");
        }
    }
}

/// Returns the absolute path of a program, whether it is there or not.
fn which(name: &str) -> String {
    programs().join(name).to_str().unwrap().to_owned()
}
