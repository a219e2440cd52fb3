//! Private turns are not in a handoff.

use serde_json::json;

use super::{Session, is_stored};
use crate::sandbox::Sandbox;

#[test]
fn a_private_passage_goes_on_over_two_readings() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::started(&sandbox, "s", 0);
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
    let session = Session::started(&sandbox, "s", 0);
    session.prompt("<private>the secret word is xyzzy</private>");
    session.write_turn("<private>the secret word is xyzzy</private>", "xyzzy in a tool", "xyzzy in a reply");
    session.stop("xyzzy in a reply");
    session.prompt("something public");
    session.write_turn("something public", "", "fine <private>xyzzy again</private>");
    session.stop("fine <private>xyzzy again</private>");
    session.clear();
    assert!(!is_stored(&sandbox, "xyzzy"));
}

#[test]
fn the_reply_to_a_private_prompt_is_not_kept_with_the_turn_before() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::started(&sandbox, "s", 0);
    session.turn("something public", "", "fine");
    session.prompt("<private>a secret</private>");
    session.stop("xyzzy in a reply");
    assert!(!is_stored(&sandbox, "xyzzy"));
    assert_eq!(session.stored_turns()[0]["replied"], "fine");
}

#[test]
fn what_is_private_in_a_tools_output_is_not_kept() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::started(&sandbox, "s", 0);
    session.turn("ask", "before <private>xyzzy</private> after", "fine");
    assert!(!is_stored(&sandbox, "xyzzy"));
    let texts: Vec<_> = session.stored_turns()[0]["details"].as_array().unwrap().clone();
    assert!(texts.iter().any(|detail| detail["text"] == "before  after"), "{texts:?}");
}
