//! Which executable a launcher chooses on machines that this one is not: the paths that it inspects are moved.

use std::fs;
use std::path::Path;

use longhaul_universal_bundle::launcher;

use super::write_executable;
use crate::sandbox::{Outcome, Sandbox};

const TARGETS: [&str; 4] =
    ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl", "x86_64-apple-darwin", "aarch64-apple-darwin"];

/// A launcher that inspects the folder `root` of a sandbox, beside executables that print their target.
struct Elsewhere {
    sandbox: Sandbox,
}

impl Elsewhere {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let root = sandbox.path("root");
        let mut text = launcher("longhaul-hook", TARGETS);
        for path in ["/proc/sys/kernel/", "/lib64/ld-", "/lib/ld-", "/usr/bin/uname"] {
            assert!(text.contains(path), "{path}");
            text = text.replace(path, &format!("{}{path}", root.display()));
        }
        text = text.replace(" /bin/uname;", ";");
        let bin = sandbox.path("bundle/bin");
        for target in TARGETS {
            fs::create_dir_all(bin.join(target)).unwrap();
            write_executable(&bin.join(target).join("longhaul-hook"), &format!("#!/bin/sh\necho {target}\n"));
        }
        write_executable(&bin.join("longhaul-hook"), &text);
        Self { sandbox }
    }

    /// Writes a file below the root.
    fn with(self, path: &str, text: &str) -> Self {
        let path = self.sandbox.path("root").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_executable(&path, text);
        self
    }

    fn linux(self) -> Self {
        self.with("proc/sys/kernel/ostype", "Linux\n")
    }

    fn uname(self, prints: &str) -> Self {
        self.with("usr/bin/uname", &format!("#!/bin/sh\n[ \"$*\" = -sm ] && echo '{prints}'\n"))
    }

    #[track_caller]
    fn chooses(&self, target: Option<&str>) {
        for shell in ["dash", "bash"].into_iter().filter(|shell| Path::new("/bin").join(shell).exists()) {
            let mut command = self.sandbox.program(shell);
            command.args((shell == "bash").then_some("--posix")).arg(self.sandbox.path("bundle/bin/longhaul-hook"));
            let outcome = Outcome::of(&mut command, b"");
            let printed = target.unwrap_or("{\"continue\":true}");
            assert_eq!((outcome.status, outcome.stdout.trim_end()), (Some(0), printed), "{shell}: {outcome:?}");
            assert_eq!(outcome.stderr, "", "{shell}");
        }
    }
}

#[test]
fn linux_names_its_processor() {
    for (processor, target) in [("x86_64", Some(TARGETS[0])), ("aarch64", Some(TARGETS[1])), ("riscv64", None)] {
        let machine = Elsewhere::new().linux().with("proc/sys/kernel/arch", &format!("{processor}\n"));
        machine.chooses(target);
    }
}

#[test]
fn an_older_linux_is_recognised_by_its_loader() {
    for (loader, target) in [
        ("lib64/ld-linux-x86-64.so.2", TARGETS[0]),
        ("lib/ld-musl-x86_64.so.1", TARGETS[0]),
        ("lib/ld-linux-aarch64.so.1", TARGETS[1]),
        ("lib/ld-musl-aarch64.so.1", TARGETS[1]),
    ] {
        Elsewhere::new().linux().with(loader, "").chooses(Some(target));
    }
    let both = || Elsewhere::new().linux().with("lib64/ld-linux-x86-64.so.2", "").with("lib/ld-linux-aarch64.so.1", "");
    both().chooses(None);
    both().uname("Linux aarch64").chooses(Some(TARGETS[1]));
}

#[test]
fn where_no_builtin_knows_it_uname_does() {
    Elsewhere::new().uname("Darwin arm64").chooses(Some(TARGETS[3]));
    Elsewhere::new().uname("Darwin x86_64").chooses(Some(TARGETS[2]));
    Elsewhere::new().uname("Linux x86_64").chooses(Some(TARGETS[0]));
    Elsewhere::new().uname("FreeBSD amd64").chooses(None);
    Elsewhere::new().uname("a \"quoted\" $(name)").chooses(None);
    Elsewhere::new().chooses(None);
}
