use proptest::prelude::*;

use super::{RECORDED, read};
use crate::{Link, may_rewind, replaced_turns};

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
