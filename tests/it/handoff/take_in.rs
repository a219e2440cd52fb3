//! Every turn is kept once, however its transcript comes.

use std::thread;

use serde_json::{Value, json};

use super::{Client, Session};
use crate::sandbox::Sandbox;

#[test]
fn hooks_that_read_the_same_transcript_at_the_same_moment_store_it_once() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::started(&sandbox, "s", 0);
    session.prompt("ask");
    session.write("user", json!("ask"));
    for round in 0..4 {
        session.write("assistant", json!([{ "type": "text", "text": format!("piece {round}.") }]));
        let (sandbox, id) = (&sandbox, &session.id);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    Session::new(sandbox, id, 0).fire("Stop", json!({ "last_assistant_message": null }))
                });
            }
        });
    }
    let replied = session.stored_turns()[0]["replied"].as_str().unwrap().to_owned();
    for round in 0..4 {
        assert_eq!(replied.matches(&format!("piece {round}.")).count(), 1, "{replied}");
    }
    sandbox.expect_only_waits();
}

#[test]
fn every_turn_is_kept_once_however_often_stop_fires() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::started(&sandbox, "s", 0);
    for n in 0..5 {
        session.prompt(&format!("ask {n}"));
        session.write_turn(&format!("ask {n}"), &format!("output {n}"), &format!("reply {n}"));
        for _ in 0..3 {
            session.stop(&format!("reply {n}"));
        }
    }
    let turns = session.stored_turns();
    assert_eq!(turns.len(), 5, "{turns:?}");
    for (n, turn) in turns.iter().enumerate() {
        assert_eq!((&turn["asked"], &turn["replied"]), (&json!(format!("ask {n}")), &json!(format!("reply {n}"))));
        assert_eq!(turn["details"].as_array().unwrap().len(), 2, "{turn}");
    }
}

#[test]
fn a_turn_whose_prompt_the_transcript_does_not_have_yet_is_kept_as_its_own() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC").at(1_794_700_800_000);
    let session = Session::started(&sandbox, "s", 0);
    session.turn("first", "", "one");
    session.prompt("second");
    session.stop("two");
    let told = |turns: Vec<Value>| -> Vec<(String, String)> {
        let text = |turn: &Value, key: &str| turn[key].as_str().unwrap().to_owned();
        turns.iter().map(|turn| (text(turn, "asked"), text(turn, "replied"))).collect()
    };
    let all = || {
        let shown = session.longhaul(&["detail", "2026-11-15", "--session", "s", "--json"]);
        let later = if shown.stdout.is_empty() { Vec::new() } else { shown.json().as_array().unwrap().clone() };
        let mut turns = told(session.stored_turns());
        turns.extend(told(later).into_iter().filter(|turn| turn.0 == "second"));
        turns.dedup();
        turns
    };
    let expected = [("first".to_owned(), "one".to_owned()), ("second".to_owned(), "two".to_owned())];
    assert_eq!(all(), expected);
    session.write_turn("second", "", "two");
    session.stop("two");
    assert_eq!(told(session.stored_turns()), expected);
}

#[test]
fn when_stop_never_fired_the_next_start_catches_up() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    old.prompt("remember the plan");
    old.write_turn("remember the plan", "", "I do.");
    // SessionEnd takes in a megabyte; the rest waits for the next start.
    old.write_turn("something large", &"x".repeat(3 << 20), "large");
    old.write_turn("the very last", "", "done");
    old.clear();
    let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
    assert!(shown.contains("the very last") && shown.contains("remember the plan"), "{shown}");
}

#[test]
fn one_that_is_too_large_is_shown_where_it_ended_and_read_on_later() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    old.prompt("begin");
    // More than any hook takes in at once.
    let turns = 70;
    for n in 0..turns {
        old.write_turn(&format!("question {n}."), &"x".repeat(1 << 20), &format!("answer {n}."));
    }
    old.clear();
    let new = Session::new(&sandbox, "new", client.pid());
    let shown = new.start("clear");
    let last = turns - 1;
    assert!(shown.contains(&format!("[Last request] question {last}.")), "{shown}");
    assert!(shown.contains(&format!("[Last reply] answer {last}.")), "{shown}");
    // What was not read is not passed over in silence: the turns before it are not recent.
    let (newest, older) = shown.split_once("[The turns before those were not read in time]").expect(&shown);
    assert!(!newest.contains("question 0.") && older.contains("question 0."), "{shown}");
    assert!(old.stored_turns().len() < turns, "it was taken in at once: the test tests nothing");
    new.prompt("go on");
    let stops = (0..400).find(|_| {
        new.stop("yes");
        old.stored_turns().len() >= turns
    });
    assert!(stops.is_some(), "{}", old.stored_turns().len());
    let stored = old.stored_turns();
    let asked: Vec<Value> = stored.iter().map(|turn| turn["asked"].clone()).collect();
    let expected: Vec<Value> = (0..turns).map(|n| json!(format!("question {n}."))).collect();
    assert_eq!(asked, expected);
    // They are the heir's now.
    new.clear();
    let next = Session::new(&sandbox, "next", client.pid()).start("clear");
    assert!(next.contains(&format!("question {}.", last - 1)), "{next}");
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn the_prompt_of_a_long_turn_is_known_although_it_stands_far_from_the_end() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    for asked in ["the first", "the long one"] {
        old.prompt(asked);
        old.write("user", json!(asked));
        old.write("assistant", json!([{ "type": "text", "text": format!("on {asked}") }]));
    }
    for n in 0..70 {
        let input = json!({ "content": "x".repeat(1 << 20) });
        old.write(
            "assistant",
            json!([{ "type": "tool_use", "id": format!("toolu_{n}"), "name": "Write", "input": input }]),
        );
    }
    old.write("assistant", json!([{ "type": "text", "text": "nearly done" }]));
    old.clear();
    let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
    assert!(shown.contains("[Last request] the long one"), "{shown}");
    assert!(shown.contains("[Last reply] on the long one\n\nnearly done\n"), "{shown}");
    // It is stored as far as it was read: the two are one turn.
    assert_eq!(shown.matches("] the long one").count(), 1, "{shown}");
}
