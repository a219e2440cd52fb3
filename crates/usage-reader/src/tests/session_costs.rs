use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use longhaul_cost::Prices;
use tempfile::tempdir;

use super::{line, write};
use crate::SessionCosts;

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_session_is_followed_as_its_transcripts_grow() {
    let dir = tempdir().unwrap();
    let transcript = dir.path().join("app/a.jsonl");
    let mut costs = SessionCosts::default();
    let mut output = || costs.of(&transcript, &Prices::default()).tokens.output;
    assert_eq!(output(), 0, "there is no transcript yet");
    write(dir.path(), "app/a.jsonl", &line("m1", "a", 1), 1);
    assert_eq!(output(), 1);
    assert_eq!(output(), 1, "nothing is counted again");
    let next = line("m2", "a", 2);
    let (start, end) = next.split_at(next.len() / 2);
    append(&transcript, start);
    assert_eq!(output(), 1, "half a line counts nothing");
    append(&transcript, end);
    assert_eq!(output(), 3);
    // A streamed piece of the same reply, and a subagent.
    append(&transcript, &line("m2", "a", 20));
    write(dir.path(), "app/a/subagents/agent-1.jsonl", &line("m3", "a", 100), 1);
    assert_eq!(output(), 121);
}

#[test]
fn a_transcript_that_was_replaced_is_read_from_its_beginning() {
    let dir = tempdir().unwrap();
    let text = [line("m1", "a", 1), line("m2", "a", 2)].concat();
    let transcript = write(dir.path(), "app/a.jsonl", &text, 1);
    let mut costs = SessionCosts::default();
    assert_eq!(costs.of(&transcript, &Prices::default()).tokens.output, 3);
    write(dir.path(), "app/a.jsonl", &line("m3", "a", 40), 2);
    assert_eq!(costs.of(&transcript, &Prices::default()).tokens.output, 40);
}

#[test]
fn what_a_fork_has_copied_is_not_its_cost() {
    let dir = tempdir().unwrap();
    let copy = line("m1", "b", 1).replacen('{', "{\"forkedFrom\":{\"sessionId\":\"a\"},", 1);
    let transcript = write(dir.path(), "app/b.jsonl", &[copy, line("m2", "b", 2)].concat(), 1);
    let mut costs = SessionCosts::default();
    let sum = costs.of(&transcript, &Prices::default());
    assert_eq!((sum.requests, sum.tokens.output), (1, 2));
    assert_eq!(sum.cost.dollars(), 0.000_044);
}

#[test]
fn a_session_that_is_forgotten_is_read_again() {
    let dir = tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| write(dir.path(), &format!("app/{name}.jsonl"), &line("m", name, 1), 1));
    let mut costs = SessionCosts::default();
    for _ in 0..2 {
        assert_eq!([&a, &b].map(|path| costs.of(path, &Prices::default()).requests), [1, 1]);
        costs.keep_only(&[a.as_path()]);
    }
}
