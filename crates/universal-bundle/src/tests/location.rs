use std::path::Path;

use crate::Location;

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
