//! What is private is not kept.

use std::fs;

use serde_json::json;

use super::Session;
use crate::sandbox::Sandbox;

#[test]
fn a_private_passage_goes_on_over_two_readings() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::new(&sandbox, "s", 0);
    session.start("startup");
    session.prompt("ask");
    session.write("user", json!("ask"));
    session.write("assistant", json!([{ "type": "text", "text": "seen <private>secret one" }]));
    session.stop("seen");
    session.write("assistant", json!([{ "type": "text", "text": "secret two</private> seen again" }]));
    session.stop("seen again");
    let replied = session.stored_turns()[0]["replied"].as_str().unwrap().to_owned();
    assert!(!replied.contains("secret") && replied.contains("seen again"), "{replied}");
}

#[test]
fn a_private_prompt_and_its_turn_leave_nothing() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s", 0);
    session.start("startup");
    session.prompt("<private>the secret word is xyzzy</private>");
    session.write_turn("<private>the secret word is xyzzy</private>", "xyzzy in a tool", "xyzzy in a reply");
    session.stop("xyzzy in a reply");
    session.prompt("something public");
    session.write_turn("something public", "", "fine <private>xyzzy again</private>");
    session.stop("fine <private>xyzzy again</private>");
    session.clear();
    let mut folders = vec![sandbox.data_dir()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(5).any(|window| window == b"xyzzy"), "{}", path.display());
        }
    }
}
