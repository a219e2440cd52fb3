//! A universal bundle: launchers in real shells, and their replacement by the real executables.

mod install;
mod launchers;
mod links;
mod other_machines;
mod tpm;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use longhaul_core::catalog;
use longhaul_universal_bundle::{Checksums, is_launcher, launcher, machine_named, machine_of};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::sandbox::{Outcome, Sandbox, bin_dir, part, payload};

/// The executables of a bundle.
const ALL: [&str; 3] = ["longhaul", "longhaul-hook", "longhaul-post-tool-use"];

/// A target that is never this machine's.
const FOREIGN: &str = if cfg!(target_os = "macos") { "x86_64-unknown-linux-musl" } else { "aarch64-apple-darwin" };

/// The target of this machine.
fn native() -> &'static str {
    let here = machine_named(std::env::consts::OS, std::env::consts::ARCH).expect("a launcher knows this machine");
    let known =
        ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "aarch64-apple-darwin"];
    known.into_iter().find(|target| machine_of(target) == Some(here)).unwrap()
}

/// A universal bundle in a sandbox.
struct Universal {
    folder: PathBuf,
}

impl Universal {
    /// Makes one for this machine and another, with the executables `names`.
    fn new(folder: PathBuf, names: &[&str]) -> Self {
        let universal = Self::of_targets(folder, &[native(), FOREIGN]);
        let folder = universal.bin().join(native());
        fs::create_dir_all(&folder).unwrap();
        for name in names {
            let (program, to) = (bin_dir().join(name), folder.join(name));
            // A link where that can be: the executables are large.
            if fs::hard_link(&program, &to).is_err() {
                fs::copy(&program, &to).unwrap();
            }
        }
        universal.write_checksums();
        universal
    }

    /// Makes one as `new` does, of which only `longhaul-hook` is real: the others are quick to verify.
    fn small(folder: PathBuf) -> Self {
        let universal = Self::new(folder, &["longhaul-hook"]);
        let folder = universal.bin().join(native());
        for name in ALL.into_iter().filter(|name| *name != "longhaul-hook") {
            write_executable(&folder.join(name), &format!("#!/bin/sh\necho {name}\n"));
        }
        universal.write_checksums();
        universal
    }

    /// Makes one with launchers for these targets. Only the one that is not this machine's has executables.
    fn of_targets(folder: PathBuf, targets: &[&str]) -> Self {
        let universal = Self { folder };
        let bin = universal.bin();
        for folder in [&bin.join(FOREIGN), &universal.folder.join(".claude-plugin"), &universal.folder.join("hooks")] {
            fs::create_dir_all(folder).unwrap();
        }
        let about = r#"{"name":"longhaul","version":"1.0.0","description":"d","author":{"name":"a"}}"#;
        fs::write(universal.folder.join(".claude-plugin/plugin.json"), about).unwrap();
        let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin/hooks/hooks.json");
        fs::copy(hooks, universal.folder.join("hooks/hooks.json")).unwrap();
        for name in catalog::executables(None) {
            write_executable(&bin.join(name), &launcher(name, targets.iter().copied()));
            write_executable(&bin.join(FOREIGN).join(name), "an executable of another machine\n");
        }
        universal.write_checksums();
        universal
    }

    fn bin(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// Writes the checksums of the executables that are there.
    fn write_checksums(&self) {
        let mut sums = Checksums::default();
        for target in [native(), FOREIGN] {
            for entry in fs::read_dir(self.bin().join(target)).into_iter().flatten().flatten() {
                let hash = Sha256::digest(fs::read(entry.path()).unwrap());
                let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                sums.insert(target, entry.file_name().to_str().unwrap(), &hash);
            }
        }
        fs::write(self.bin().join("SHA256SUMS"), sums.to_string()).unwrap();
    }

    fn is_launcher(&self, name: &str) -> bool {
        let path = self.bin().join(name);
        !path.is_symlink() && is_launcher(&fs::read(path).unwrap())
    }

    /// Returns whether the executable's link leads to the one of this machine.
    fn is_linked(&self, name: &str) -> bool {
        fs::read_link(self.bin().join(name)).is_ok_and(|to| to == Path::new(native()).join(name))
    }

    /// Returns those of `names` that are links.
    fn linked<'a>(&self, names: &[&'a str]) -> Vec<&'a str> {
        names.iter().copied().filter(|name| self.is_linked(name)).collect()
    }

    /// Returns the command of a part, as Claude Code starts it.
    fn command(&self, sandbox: &Sandbox, name: &str) -> Command {
        let (executable, arguments) = part(name);
        let mut command = sandbox.program(self.bin().join(executable));
        command.args(arguments);
        command
    }

    /// Starts sessions until the launchers are replaced: under load, one that runs out of time leaves the rest to the next.
    #[track_caller]
    fn replace_launchers(&self, sandbox: &Sandbox) {
        let replaced = (0..10).any(|_| {
            self.start_session(sandbox);
            self.is_linked("longhaul-hook")
        });
        assert!(replaced, "{}", sandbox.error_log());
    }

    /// Starts a session; the answer must be that of a hook.
    #[track_caller]
    fn start_session(&self, sandbox: &Sandbox) -> Outcome {
        let outcome = Outcome::of(&mut self.command(sandbox, "longhaul-session-start"), start("one").as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        assert_eq!(outcome.json()["continue"], true);
        outcome
    }
}

fn start(session: &str) -> String {
    payload("SessionStart", json!({ "session_id": session }))
}

fn write_executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}
