use std::path::Path;

use longhaul_core::catalog;

use crate::{Checksums, Location, ParseError, choose, is_launcher, launcher, links, machine_named, machine_of};

#[test]
fn a_target_is_for_the_machine_that_uname_names() {
    let known = [
        ("x86_64-unknown-linux-musl", "Linux-x86_64"),
        ("x86_64-unknown-linux-gnu", "Linux-x86_64"),
        ("aarch64-unknown-linux-musl", "Linux-aarch64"),
        ("x86_64-apple-darwin", "Darwin-x86_64"),
        ("aarch64-apple-darwin", "Darwin-arm64"),
    ];
    for (target, machine) in known {
        assert_eq!(machine_of(target), Some(machine), "{target}");
    }
    assert_eq!(machine_named("macos", "aarch64"), machine_of("aarch64-apple-darwin"));
    assert_eq!(machine_named("linux", "x86_64"), machine_of("x86_64-unknown-linux-gnu"));
    assert_eq!(machine_named("windows", "x86_64"), None);
    for target in ["", "x86_64", "riscv64gc-unknown-linux-gnu", "x86_64-pc-windows-msvc", "bin", "..", "x86_64-/tmp"] {
        assert_eq!(machine_of(target), None, "{target}");
    }
}

#[test]
fn of_two_targets_for_one_machine_the_static_one_is_used_in_any_order() {
    let (gnu, musl, mac) = ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-apple-darwin");
    for targets in [[gnu, musl, mac], [musl, gnu, mac], [mac, gnu, musl]] {
        let chosen: Vec<&str> = choose(targets).into_iter().map(|(_, target)| target).collect();
        assert_eq!(chosen, [mac, musl]);
    }
    assert_eq!(choose([gnu, "wasm32-unknown-unknown"]).len(), 1);
}

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
fn only_a_hook_reports_and_only_the_command_line_prints() {
    let has = |name: &str, part: &str| launcher(name, TARGETS).contains(part);
    for name in catalog::executables(None) {
        assert_eq!(has(name, "systemMessage"), name == "longhaul-hook", "{name}");
        assert_eq!(has(name, ">&2"), name == "longhaul", "{name}");
        assert_eq!(has(name, "{\"continue\":true}"), name != "longhaul", "{name}");
    }
    assert!(has("longhaul-hook", "    pre-compact) exit 0 ;;\n    session-start) ;;\n"));
}

const MUSL: &str = "x86_64-unknown-linux-musl";

fn line(path: &str) -> String {
    format!("{}  {path}\n", "0a".repeat(32))
}

#[test]
fn what_is_written_is_read_again() {
    let mut sums = Checksums::default();
    sums.insert(MUSL, "longhaul-hook", &"ab".repeat(32));
    sums.insert("aarch64-apple-darwin", "longhaul", &"cd".repeat(32));
    let text = sums.to_string();
    assert_eq!(text.lines().count(), 2);
    assert_eq!(Checksums::parse(&text), Ok(sums.clone()));
    assert_eq!(sums.of_target(MUSL).collect::<Vec<_>>(), [("longhaul-hook", "ab".repeat(32).as_str())]);
    assert_eq!(sums.of_target("x86_64-apple-darwin").count(), 0);
}

#[test]
fn a_line_that_is_no_checksum_of_an_executable_is_an_error() {
    let fine = line(&format!("{MUSL}/longhaul"));
    let short = format!("0a  {MUSL}/longhaul\n");
    let capital = fine.replace('a', "A");
    for (wrong, at) in [
        (line(&format!("{MUSL}/../longhaul")), 1),
        (line("../longhaul"), 1),
        (line("/etc/passwd"), 1),
        (line(MUSL), 1),
        (line(&format!("{MUSL}/")), 1),
        (short, 1),
        (capital, 1),
        (format!("{fine}\n"), 2),
        (format!("{fine}garbage"), 2),
    ] {
        assert_eq!(Checksums::parse(&wrong), Err(ParseError { line: at }), "{wrong:?}");
    }
    assert_eq!(Checksums::parse(""), Ok(Checksums::default()));
    let message = ParseError { line: 2 }.to_string();
    assert_eq!(message, "line 2 of SHA256SUMS is not a checksum with the path of an executable");
}

fn checksums<'a>(names: impl IntoIterator<Item = &'a str>) -> Checksums {
    let mut sums = Checksums::default();
    for name in names {
        sums.insert(MUSL, name, &"00".repeat(32));
        sums.insert("aarch64-apple-darwin", name, &"11".repeat(32));
    }
    sums
}

#[test]
fn every_executable_gets_a_link_and_that_of_the_session_start_is_the_last() {
    let links = links(&checksums(catalog::executables(None)), MUSL);
    assert_eq!(links.len(), catalog::executables(None).count());
    assert_eq!(links.last().map(|link| link.name), Some("longhaul-hook"));
    for link in &links {
        assert_eq!(link.to, format!("{MUSL}/{}", link.name));
        assert_eq!(link.checksum, "00".repeat(32));
    }
}

#[test]
fn a_file_that_is_not_in_the_catalogue_is_never_linked() {
    let links = links(&checksums(["longhaul", "ls", "longhaul-other"]), MUSL);
    assert_eq!(links.iter().map(|link| link.name).collect::<Vec<_>>(), ["longhaul"]);
}

#[track_caller]
fn check(exe: &str, expected: Option<(&str, Option<&str>)>) {
    let found = Location::of(Path::new(exe));
    assert_eq!(found, expected.map(|(bundle, target)| Location { bundle: Path::new(bundle), target }), "{exe}");
}

#[test]
fn an_executable_is_in_bin_or_in_the_folder_of_its_target() {
    check("/b/bin/longhaul", Some(("/b", None)));
    check("/b/bin/x86_64-unknown-linux-musl/longhaul", Some(("/b", Some("x86_64-unknown-linux-musl"))));
    check("/b/bin/bin/longhaul", Some(("/b/bin", None)));
}

#[test]
fn other_folders_are_not_bundles() {
    for exe in [
        "/src/target/debug/longhaul",
        "/src/target/x86_64-unknown-linux-musl/longhaul",
        "/b/bin/other/longhaul",
        "longhaul",
        "/longhaul",
        "/",
    ] {
        check(exe, None);
    }
}
