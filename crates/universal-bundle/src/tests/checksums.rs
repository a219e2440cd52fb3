use crate::{Checksums, ParseError};

const MUSL: &str = "x86_64-unknown-linux-musl";

fn line(path: &str) -> String {
    format!("{}  {path}\n", "0a".repeat(32))
}

#[test]
fn what_is_written_is_read_again() {
    let mut sums = Checksums::default();
    sums.insert(MUSL, "longhaul-stop", &"ab".repeat(32));
    sums.insert("aarch64-apple-darwin", "longhaul", &"cd".repeat(32));
    let text = sums.to_string();
    assert_eq!(text.lines().count(), 2);
    assert_eq!(Checksums::parse(&text), Ok(sums.clone()));
    assert_eq!(sums.of_target(MUSL).collect::<Vec<_>>(), [("longhaul-stop", "ab".repeat(32).as_str())]);
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
