//! What the next session is shown, and how much of it fits.

use std::fs;

use super::{Client, Session};
use crate::sandbox::Sandbox;

#[test]
fn two_hundred_large_turns_fit_and_say_what_was_left_out() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.prompt("begin");
    for n in 0..200 {
        old.write_turn(
            &format!("question {n} {}", "é".repeat(10_000)),
            "",
            &format!("answer {n} {}", "ü".repeat(10_000)),
        );
    }
    old.clear();
    let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
    assert!(shown.chars().count() <= 9500, "{}", shown.chars().count());
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text} is not in {shown}"));
    assert!(at("question 199") < at("question 198"), "where we are comes first: {shown}");
    assert!(shown.contains("left out"), "{shown}");
}

#[test]
fn what_is_mostly_tools_is_handed_over_in_a_tenth_of_the_tokens() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.prompt("begin");
    for n in 0..50 {
        let said = format!("turn {n}: {}", "words and more words ".repeat(10));
        old.write_turn(&said, &"output of a tool, line by line\n".repeat(55), &said);
    }
    old.clear();
    let new = Session::new(&sandbox, "new", client.pid());
    let shown = new.start("clear");
    let transcript = fs::metadata(old.transcript()).unwrap().len();
    assert!((shown.len() as u64) * 10 <= transcript, "{} of {transcript}", shown.len());
    let log = new.longhaul(&["handoff", "log"]).stdout;
    assert!(log.contains("tokens saved"), "{log}");
}
