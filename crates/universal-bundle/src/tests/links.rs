use longhaul_core::catalog;

use crate::{Checksums, links};

const MUSL: &str = "x86_64-unknown-linux-musl";

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
    assert_eq!(links.last().map(|link| link.name), Some("longhaul-session-start"));
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
