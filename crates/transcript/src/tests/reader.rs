//! Whatever the pieces, the turns are the same; whatever the bytes, nothing breaks.

use proptest::prelude::*;

use crate::reader::MAX_LINE;
use crate::tests::{RECORDED, read};
use crate::{Batch, Cursor, Link, Reader, may_rewind, merge_turns, replaced_turns};

/// Reads `bytes` in pieces that end at `cuts`, each by a reader of its own, as separate hooks would.
fn in_pieces(bytes: &[u8], cuts: &[usize]) -> Batch {
    let mut whole = Batch::default();
    for end in cuts.iter().copied().chain([bytes.len()]) {
        let cursor = whole.cursor.clone();
        let (start, check) = (cursor.offset as usize, cursor.check_offset() as usize);
        let mut reader = Reader::resume(cursor, &bytes[check..start]).unwrap();
        reader.feed(&bytes[start..end.max(start)]);
        let batch = reader.take();
        whole.cursor = batch.cursor;
        merge_turns(&mut whole.turns, batch.turns);
        whole.links.extend(batch.links);
        whole.sidechains.extend(batch.sidechains);
        whole.broken_lines += batch.broken_lines;
    }
    whole
}

#[test]
fn reading_again_brings_nothing_twice() {
    for (name, transcript) in RECORDED {
        let bytes = transcript.as_bytes();
        let whole = read(bytes);
        let mut twice = whole.turns.clone();
        merge_turns(&mut twice, whole.turns.clone());
        assert_eq!(twice, whole.turns, "{name}");
        let mut reader = Reader::resume(whole.cursor.clone(), &bytes[bytes.len() - 64..]).unwrap();
        reader.feed(b"");
        assert_eq!(reader.take(), Batch { cursor: whole.cursor, ..Batch::default() }, "{name}");
    }
}

#[test]
fn a_replaced_file_is_noticed() {
    let (first, second) = (RECORDED[0].1.as_bytes(), RECORDED[1].1.as_bytes());
    let cursor = read(first).cursor;
    assert!(cursor.holds(&first[cursor.check_offset() as usize..]));
    assert!(Reader::resume(cursor.clone(), &second[second.len() - 64..]).is_none());
    assert!(Reader::resume(cursor, b"").is_none());
    assert!(Cursor::default().holds(b""));
}

#[test]
fn a_half_line_waits() {
    let line = r#"{"type":"user","uuid":"u","message":{"content":"hello"}}"#;
    let batch = read(format!("{line}\n{line}").as_bytes());
    assert_eq!((batch.cursor.offset, batch.turns.len(), batch.broken_lines), (line.len() as u64 + 1, 1, 0));
}

#[test]
fn a_line_that_is_too_long_is_passed_over() {
    let mut reader = Reader::default();
    let piece = vec![b'x'; 8 << 20];
    let mut length = 0;
    while length <= MAX_LINE {
        reader.feed(&piece);
        length += piece.len();
    }
    assert_eq!(reader.take(), Batch::default());
    assert!(reader.is_in_long_line());
    let rest = b"tail\n{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"content\":\"hello\"}}\n";
    reader.feed(rest);
    let batch = reader.take();
    assert_eq!((batch.broken_lines, batch.turns.len()), (1, 1));
    assert_eq!(batch.cursor.offset, (length + rest.len()) as u64);
}

#[test]
fn a_line_that_is_given_up_is_not_read_again() {
    let line = b"{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"content\":\"hello\"}}\n";
    let mut reader = Reader::default();
    reader.feed(&vec![b'x'; MAX_LINE - 1]);
    assert!(!reader.is_in_long_line());
    reader.feed(b"y");
    assert!(reader.is_in_long_line());
    assert_eq!(reader.pass_over(), MAX_LINE as u64);
    let Batch { cursor, broken_lines, .. } = reader.take();
    assert_eq!((cursor.offset, broken_lines), (MAX_LINE as u64, 1));
    let before = [&[b'x'; 63][..], b"y"].concat();
    let mut next = Reader::resume(cursor, &before).unwrap();
    next.feed(b"the rest\n");
    next.feed(line);
    let batch = next.take();
    assert_eq!((batch.broken_lines, batch.turns.len()), (1, 1));
}

#[test]
fn a_line_of_the_greatest_length_is_read() {
    for (length, expected) in [(MAX_LINE, (1, 0)), (MAX_LINE + 1, (0, 1))] {
        let mut line = br#"{"type":"user","uuid":"u","message":{"content":"hello"}}"#.to_vec();
        line.resize(length - 1, b' ');
        line.push(b'\n');
        for first in [0, length / 2] {
            let mut reader = Reader::default();
            reader.feed(&line[..first]);
            reader.feed(&line[first..]);
            let batch = reader.take();
            assert_eq!((batch.turns.len(), batch.broken_lines), expected, "{length} bytes, {first} of them before");
            assert_eq!(batch.cursor.offset, length as u64);
        }
    }
}

#[test]
fn a_last_line_without_a_newline_is_read_if_it_is_complete() {
    let whole = r#"{"type":"user","uuid":"u","message":{"content":"hello"}}"#;
    for (end, turns) in [(whole, 1), (&whole[..20], 0), (r#"{"uuid":}"#, 0), ("7", 0), ("}", 0), ("", 0)] {
        let mut reader = Reader::default();
        reader.feed(end.as_bytes());
        reader.finish();
        let batch = reader.take();
        assert_eq!((batch.turns.len(), batch.broken_lines), (turns, 0), "{end:?}");
        assert_eq!(batch.cursor.offset, if turns > 0 { end.len() as u64 } else { 0 }, "{end:?}");
    }
}

#[test]
fn a_read_can_go_on_after_short_lines() {
    let bytes = b"{}\n{}\n\n{}\n";
    assert_eq!(in_pieces(bytes, &[3, 6, 7]), read(bytes));
    // A cursor is stored, so its checksum must be the same in every version.
    assert_eq!(read(b"{}\n").cursor.mark, 0x0b20_f1fd);
}

#[test]
fn entries_of_subagents_belong_to_no_turn() {
    let line = "{\"type\":\"user\",\"uuid\":\"u\",\"isSidechain\":true,\"message\":{\"content\":\"hello\"}}\n";
    let batch = read(line.as_bytes());
    assert_eq!((batch.turns.len(), batch.links.len(), batch.sidechains.len()), (0, 0, 1));
}

#[test]
fn a_hole_before_a_line_is_no_part_of_it() {
    let line = b"{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"content\":\"hello\"}}\n";
    let batch = read(&[&[0; 5000][..], line].concat());
    assert_eq!((batch.broken_lines, batch.turns.len()), (0, 1));
}

fn linelike() -> impl Strategy<Value = Vec<u8>> {
    let lines: Vec<&str> = RECORDED.iter().flat_map(|(_, text)| text.lines()).collect();
    let edit = (any::<prop::sample::Index>(), any::<u8>());
    (prop::sample::select(lines), prop::collection::vec(edit, 0..4)).prop_map(|(line, edits)| {
        let mut bytes = line.as_bytes().to_vec();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.push(b'\n');
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_chunking_gives_the_same_turns(
        which in 0..RECORDED.len(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = RECORDED[which].1.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.sort_unstable();
        prop_assert_eq!(in_pieces(bytes, &cuts), read(bytes));
        let mut fed = Reader::default();
        let mut start = 0;
        for end in cuts.into_iter().chain([bytes.len()]) {
            fed.feed(&bytes[start..end]);
            start = end;
        }
        prop_assert_eq!(fed.take(), read(bytes));
    }

    #[test]
    fn no_damage_breaks_the_reader(lines in prop::collection::vec(linelike(), 0..12), cut in any::<prop::sample::Index>()) {
        let bytes = lines.concat();
        let whole = read(&bytes);
        prop_assert_eq!(whole.cursor.offset, bytes.len() as u64);
        let cut = if bytes.is_empty() { 0 } else { cut.index(bytes.len()) };
        let pieces = in_pieces(&bytes, &[cut]);
        prop_assert_eq!(pieces.cursor, whole.cursor);
        prop_assert_eq!(pieces.links, whole.links);
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let batch = read(&bytes);
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        prop_assert_eq!(batch.cursor.offset, end as u64);
    }
}

/// `uuid parent turn`, `-` for none; a turn of `*` is the entry's own.
fn links(lines: &str) -> Vec<Link> {
    let field = |text: &str| (text != "-").then(|| text.to_owned());
    lines
        .split_terminator(';')
        .map(|line| {
            let mut parts = line.split_whitespace();
            let mut next = || parts.next().unwrap();
            let (uuid, parent, turn) = (next(), next(), next());
            Link { uuid: uuid.to_owned(), parent: field(parent), turn: field(if turn == "*" { uuid } else { turn }) }
        })
        .collect()
}

#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    let links = links(lines);
    assert_eq!(replaced_turns(&links), expected, "{lines}");
    assert!(expected.is_empty() || may_rewind(None, &links), "{lines}");
}

#[test]
fn a_prompt_that_follows_an_earlier_entry_replaces_what_came_after_it() {
    check("p1 - *; a1 p1 p1; p2 a1 *; a2 p2 p2", &[]);
    check("p1 - *; a1 p1 p1; p2 a1 *; a2 p2 p2; p3 a2 *; p4 a1 *; a4 p4 p4", &["p2", "p3"]);
    // Rewound to before a turn's trailing entries.
    check("p1 - *; a1 p1 p1; s1 a1 p1; p2 s1 *; p3 a1 *", &["p2"]);
    // Rewound to the first prompt.
    check("p1 - *; a1 p1 p1; p2 - *", &["p1"]);
    // Rewound twice, then the older branch's sibling goes on.
    check("p1 - *; a1 p1 p1; p2 a1 *; p3 a1 *; a3 p3 p3; p4 a3 *; p5 a3 *; a5 p5 p5", &["p2", "p4"]);
    // A prompt typed during the model's work is a place to go back to.
    check("p1 - *; c1 p1 p1; r1 c1 p1; q r1 *; c2 q q; p2 r1 *", &["q"]);
}

#[test]
fn forks_that_are_no_rewinds_replace_nothing() {
    // Parallel calls: each result follows its own call, and the chain goes on from the last.
    let parallel = "p1 - *; c1 p1 p1; c2 c1 p1; c3 c2 p1; r1 c1 p1; r2 c2 p1; r3 c3 p1; a1 r3 p1; p2 a1 *";
    check(parallel, &[]);
    check("p1 - *; c1 p1 p1; c2 c1 p1; r1 c1 p1", &[]);
    // A parent that could not be read, and a boundary that does not say what it follows.
    check("p1 - *; a1 p1 p1; p2 lost *; a2 p2 p2", &[]);
    check("p1 - *; a1 p1 p1; b - p1; p2 b *", &[]);
    // Damage.
    check("p1 - *; a1 p2 p1; p2 a1 *", &[]);
    check("p1 p1 *", &[]);
    check("", &[]);
}

#[test]
fn an_ordinary_chunk_needs_no_other_links() {
    let new = links("a2 p2 p2; p3 a2 *; a3 p3 p3");
    assert!(!may_rewind(Some("p2"), &new));
    assert!(may_rewind(Some("p2"), &links("a2 p2 p2; p3 a1 *")));
    assert!(may_rewind(Some("a2"), &links("p3 a1 *")));
    assert!(!may_rewind(None, &links("p1 - *")));
    assert!(may_rewind(Some("a1"), &links("p1 - *")));
}

#[test]
fn no_recorded_transcript_lost_a_turn() {
    for (name, transcript) in RECORDED {
        let batch = read(transcript.as_bytes());
        assert!(!may_rewind(None, &batch.links), "{name}");
        assert!(replaced_turns(&batch.links).is_empty(), "{name}");
    }
}

proptest! {
    #[test]
    fn any_links_have_an_answer(links in prop::collection::vec(("[a-f]", prop::option::of("[a-g]"), prop::option::of("[a-f]")), 0..20)) {
        let links: Vec<Link> = links.into_iter().map(|(uuid, parent, turn)| Link { uuid, parent, turn }).collect();
        prop_assert!(replaced_turns(&links).len() <= links.len());
    }
}
