//! Installing, updating and uninstalling, with the real executable and a stand-in for the client's command line.

mod doctor;
mod doctor_conditions;
mod doctor_snapshots;
mod hooks_only;
mod keybindings;
mod plugin;
mod umask;
mod versions;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use longhaul_core::catalog::{self, Job};
use serde_json::Value;

use crate::sandbox::{Outcome, Sandbox, bin_dir};

/// A home in which something is installed.
struct Machine {
    sandbox: Sandbox,
}

impl Machine {
    /// Makes one with a client.
    fn new() -> Self {
        let machine = Self::without_client();
        let tools = machine.sandbox.path("tools");
        let text =
            include_str!("install/claude.sh").replace("@STATE@", &machine.sandbox.path("client").to_string_lossy());
        fs::write(tools.join("claude"), text).unwrap();
        fs::set_permissions(tools.join("claude"), Permissions::from_mode(0o755)).unwrap();
        machine
    }

    /// Makes one with a client, and version 1.0.0 installed.
    fn installed() -> Self {
        let machine = Self::new();
        succeeds(&machine.install("1.0.0", &[]));
        machine
    }

    /// Makes one without.
    fn without_client() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir_all(sandbox.path("tools")).unwrap();
        fs::create_dir_all(sandbox.path("client")).unwrap();
        let (tools, own) = (sandbox.path("tools"), sandbox.home().join(".local/bin"));
        Self { sandbox: sandbox.with_programs(&tools).with_programs(&own) }
    }

    /// Returns the executable of a bundle that says it is of this version; the bundle is made where it is not there.
    fn bundle(&self, version: &str) -> PathBuf {
        let folder = self.sandbox.path(&format!("dist-{version}/longhaul"));
        let bin = folder.join("bin");
        if bin.exists() {
            return bin.join("longhaul");
        }
        fs::create_dir_all(&bin).unwrap();
        for dir in [".claude-plugin", "hooks"] {
            fs::create_dir_all(folder.join(dir)).unwrap();
        }
        let about = format!(r#"{{"name":"longhaul","version":"{version}","description":"d","author":{{"name":"a"}}}}"#);
        fs::write(folder.join(".claude-plugin/plugin.json"), about).unwrap();
        let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin/hooks/hooks.json");
        fs::copy(hooks, folder.join("hooks/hooks.json")).unwrap();
        fill(&bin, None)
    }

    /// Runs `longhaul install` of a bundle.
    fn install(&self, version: &str, args: &[&str]) -> Outcome {
        Outcome::of(self.sandbox.program(self.bundle(version)).arg("install").args(args), b"")
    }

    /// Runs the `longhaul` that is installed.
    fn longhaul(&self, args: &[&str]) -> Outcome {
        Outcome::of(self.sandbox.program(self.link()).args(args), b"")
    }

    fn link(&self) -> PathBuf {
        self.sandbox.home().join(".local/bin/longhaul")
    }

    fn settings(&self) -> PathBuf {
        self.sandbox.home().join(".claude/settings.json")
    }

    fn write_settings(&self, text: &str) {
        fs::create_dir_all(self.sandbox.home().join(".claude")).unwrap();
        fs::write(self.settings(), text).unwrap();
    }

    fn settings_text(&self) -> String {
        fs::read_to_string(self.settings()).unwrap_or_default()
    }

    /// Returns the versions that are installed, without what their files come to.
    fn versions(&self) -> Vec<String> {
        let folder = self.sandbox.home().join(".local/lib/longhaul/versions");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let mut versions: Vec<String> = names.map(|name| name.rsplit_once('-').unwrap().0.to_owned()).collect();
        versions.sort();
        versions
    }

    /// Returns what the client lists.
    fn plugins(&self) -> Value {
        let mut list = self.sandbox.program(self.sandbox.path("tools/claude"));
        Outcome::of(list.args(["plugin", "list", "--json"]), b"").json()
    }

    /// Returns everything in the home, with mode, content and where links lead.
    fn listing(&self) -> String {
        let mut list = self.sandbox.program("sh");
        let script = "find . -printf '%M %p %l\\n' | sort; find . -type f -exec cksum {} + | sort";
        let output = list.args(["-c", script]).current_dir(self.sandbox.home()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Lets a client seem to run.
    fn start_session(&self) {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let start = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(19));
        let folder = self.sandbox.home().join(".claude/sessions");
        fs::create_dir_all(&folder).unwrap();
        let pid = std::process::id();
        let record = serde_json::json!({
            "pid": pid, "procStart": start, "sessionId": "alive", "kind": "interactive", "status": "idle",
            "statusUpdatedAt": 1,
        });
        fs::write(folder.join(format!("{pid}.json")), record.to_string()).unwrap();
    }

    fn end_session(&self) {
        fs::remove_dir_all(self.sandbox.home().join(".claude/sessions")).unwrap();
    }
}

/// Puts the executables of a job's bundle, or of the whole, into `bin`; only `longhaul` is more than a name.
fn fill(bin: &Path, job: Option<Job>) -> PathBuf {
    for name in catalog::executables(job).filter(|name| *name != "longhaul") {
        fs::write(bin.join(name), "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(bin.join(name), Permissions::from_mode(0o755)).unwrap();
    }
    let (program, to) = (bin_dir().join("longhaul"), bin.join("longhaul"));
    // A link where that can be: the executable is large.
    if fs::hard_link(&program, &to).is_err() {
        fs::copy(&program, &to).unwrap();
    }
    to
}

/// Copies a folder, as the client copies a plugin.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[track_caller]
fn succeeds(outcome: &Outcome) {
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
}
