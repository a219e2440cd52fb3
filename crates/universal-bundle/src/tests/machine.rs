use crate::{Machine, choose};

#[test]
fn a_target_is_for_the_machine_that_uname_names() {
    let known = [
        ("x86_64-unknown-linux-musl", "Linux", "x86_64"),
        ("x86_64-unknown-linux-gnu", "Linux", "x86_64"),
        ("aarch64-unknown-linux-musl", "Linux", "aarch64"),
        ("x86_64-apple-darwin", "Darwin", "x86_64"),
        ("aarch64-apple-darwin", "Darwin", "arm64"),
    ];
    for (target, system, processor) in known {
        assert_eq!(Machine::of(target), Some(Machine { system, processor }), "{target}");
    }
    assert_eq!(Machine::named("macos", "aarch64"), Machine::of("aarch64-apple-darwin"));
    assert_eq!(Machine::named("linux", "x86_64"), Machine::of("x86_64-unknown-linux-gnu"));
    assert_eq!(Machine::named("windows", "x86_64"), None);
    for target in ["", "x86_64", "riscv64gc-unknown-linux-gnu", "x86_64-pc-windows-msvc", "bin", "..", "x86_64-/tmp"] {
        assert_eq!(Machine::of(target), None, "{target}");
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
