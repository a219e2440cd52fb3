use proptest::prelude::*;

use crate::UsageScanner;

/// Returns the lines that are found in a text that comes in pieces of this size.
fn found(text: &str, piece: usize) -> Vec<String> {
    let mut scanner = UsageScanner::default();
    let mut lines = Vec::new();
    let mut take = |line: &[u8]| lines.push(String::from_utf8(line.to_vec()).unwrap());
    for piece in text.as_bytes().chunks(piece.max(1)) {
        scanner.feed(piece, &mut take);
    }
    scanner.finish(&mut take);
    lines
}

/// Returns the lines that should be found.
fn expected(text: &str) -> Vec<String> {
    text.split('\n').filter(|line| line.contains("\"usage\":")).map(str::to_owned).collect()
}

#[test]
fn only_lines_with_usage_are_found_however_the_pieces_are_cut() {
    let text =
        "{\"a\":1}\n{\"usage\":{}}\n\n{\"text\":\"\\\"usage\\\":\"}\n{\"b\":{\"usage\": 1}, \"usage\":2}\n{\"usage\":";
    assert_eq!(expected(text).len(), 3);
    for piece in 1..=text.len() {
        assert_eq!(found(text, piece), expected(text), "{piece}");
    }
}

#[test]
fn a_line_that_is_too_long_is_skipped_and_the_next_one_found() {
    let mut scanner = UsageScanner::default();
    let mut lines = Vec::new();
    let megabytes = vec![b' '; 16 << 20];
    scanner.feed(b"{\"usage\":1", |line| lines.push(line.to_vec()));
    for _ in 0..5 {
        scanner.feed(&megabytes, |line| lines.push(line.to_vec()));
    }
    assert_eq!(scanner.skipped(), 1);
    scanner.feed(b"\"usage\":}\n{\"usage\":2}\n", |line| lines.push(line.to_vec()));
    scanner.finish(|line| lines.push(line.to_vec()));
    assert_eq!((lines, scanner.skipped()), (vec![b"{\"usage\":2}".to_vec()], 1));
}

#[test]
fn a_line_of_the_maximum_length_is_found_and_one_with_a_byte_more_is_skipped() {
    const START: &[u8] = b"{\"usage\":";
    let spaces = vec![b' '; (64 << 20) - START.len()];
    for (end, found, skipped) in [("\n", 1, 0), (" \n", 0, 1)] {
        let mut scanner = UsageScanner::default();
        let mut lines = 0;
        for piece in [START, &spaces, end.as_bytes()] {
            scanner.feed(piece, |_| lines += 1);
        }
        assert_eq!((lines, scanner.skipped()), (found, skipped), "{end:?}");
    }
}

proptest! {
    #[test]
    fn no_line_is_lost_or_invented(
        parts in proptest::collection::vec(prop_oneof!["\n", "\"usage\":", "\"usage\"", "[a-z\"]{0,5}"], 0..40),
        piece in 1..30_usize,
    ) {
        let text = parts.concat();
        prop_assert_eq!(found(&text, piece), expected(&text));
    }
}
