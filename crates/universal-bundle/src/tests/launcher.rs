use longhaul_core::catalog;

use crate::{is_launcher, launcher};

const TARGETS: [&str; 3] = ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-apple-darwin"];

#[test]
fn every_launcher_is_complete_and_recognised() {
    for name in catalog::executables(None) {
        let text = launcher(name, TARGETS);
        assert!(!text.contains('@') || text.contains("longhaul@longhaul"), "{text}");
        assert!(!text.contains("@NAME@") && !text.contains("@TARGETS@") && !text.contains("@GIVE_UP@"), "{text}");
        assert!(text.contains("\nLinux-x86_64) target=x86_64-unknown-linux-musl ;;\n"), "{text}");
        assert!(text.contains("\nDarwin-arm64) target=aarch64-apple-darwin ;;\n"), "{text}");
        assert!(!text.contains("linux-gnu"), "{text}");
        assert!(text.contains(&format!("program=$bin/$target/{name}\n")), "{text}");
        assert!(is_launcher(text.as_bytes()));
    }
}

#[test]
fn other_files_are_not_launchers() {
    for content in ["", "#!/bin/sh\n", "#!/bin/sh\nexit 0\n", "\u{7f}ELF", "# longhaul launcher: "] {
        assert!(!is_launcher(content.as_bytes()), "{content:?}");
    }
}

#[test]
fn only_the_session_start_reports_and_only_programs_print() {
    let has = |name: &str, part: &str| launcher(name, TARGETS).contains(part);
    for name in catalog::executables(None) {
        let is_program = [
            "longhaul",
            "longhaul-injector",
            "longhaul-notify",
            "longhaul-snapshot",
            "longhaul-sync",
            "longhaul-worker",
        ]
        .contains(&name);
        assert_eq!(has(name, "systemMessage"), name == "longhaul-session-start", "{name}");
        assert_eq!(has(name, ">&2"), is_program, "{name}");
        assert_eq!(has(name, "{\"continue\":true}"), !is_program && name != "longhaul-pre-compact", "{name}");
    }
}
