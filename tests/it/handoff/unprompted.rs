//! A session whose prompts no hook has seen: the plugin was installed, the client continued, and `/clear` typed.

use std::fs;

use serde_json::json;

use super::{Client, Session, context};
use crate::sandbox::Sandbox;

#[test]
fn a_resumed_session_hands_its_turns_over() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    for number in 0..20 {
        old.write_turn(&format!("request number {number}"), "out", &format!("answer number {number}"));
    }
    old.start("resume");
    old.clear();
    let new = Session::new(&sandbox, "new", client.pid());
    let shown = new.start("clear");
    assert!(shown.contains("[Last request] request number 19"), "{shown}");
    assert!(!shown.contains("session_end"), "{shown}");
    assert_eq!(new.log(), [("injected".into(), "old".into(), "session_end".into())]);
}

#[test]
fn so_does_one_whose_end_no_hook_has_seen() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.write_turn("the only request", "out", "the only answer");
    old.start("resume");
    let reply = Session::new(&sandbox, "new", client.pid()).fire("SessionStart", json!({ "source": "clear" }));
    assert!(context(&reply).contains("the only request"), "{reply}");
    assert_eq!(reply["systemMessage"], "longhaul: went on from session old, 1 turn");
}

#[test]
fn the_log_says_what_was_missing() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let first = Session::new(&sandbox, "first", client.pid());
    assert_eq!(first.start("clear"), "");
    first.clear();
    let second = Session::new(&sandbox, "second", client.pid());
    assert_eq!(second.start("clear"), "");
    let reasons: Vec<String> = second.log().into_iter().map(|(_, _, reason)| reason).collect();
    assert_eq!(reasons, ["no_baton_no_session", "no_baton_no_turns"]);
}

#[test]
fn a_clock_that_steps_back_leaves_the_last_request_the_last() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    old.turn("the first request", "out", "the first answer");
    old.turn("the last request", "out", "the last answer");
    let text = fs::read_to_string(old.transcript()).unwrap();
    let stepped: String = text
        .lines()
        .map(|line| {
            if line.contains("old-0000") && line.contains("the first request") {
                line.replace("T08:", "T23:")
            } else {
                line.to_owned()
            }
        })
        .map(|line| line + "\n")
        .collect();
    fs::write(old.transcript(), stepped).unwrap();
    fs::remove_file(sandbox.data_dir().join("longhaul.db")).unwrap();
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(sandbox.data_dir().join(format!("longhaul.db{end}")));
    }
    old.stop("the last answer");
    let shown = old.longhaul(&["handoff", "show", "--session", "old"]).stdout;
    assert!(shown.contains("[Last request] the last request"), "{shown}");
    let detail = old.longhaul(&["detail", "2026-11-14", "--session", "old", "--json"]).json();
    let asked: Vec<&str> = detail.as_array().unwrap().iter().map(|turn| turn["asked"].as_str().unwrap()).collect();
    assert_eq!(asked, ["the first request", "the last request"]);
}
