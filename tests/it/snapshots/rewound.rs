//! The message after a rewind.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use super::{Session, number};

impl Session {
    /// Appends a message of the user at the time of its snapshot, and the reply to it, to the transcript.
    fn write_turn(&self, id: &str, after: Option<&str>, snapshot: &Value) -> String {
        let reply = format!("{id}-reply");
        let entry = |uuid: &str, parent: Option<&str>, kind: &str| {
            json!({
                "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": false, "sessionId": self.id,
                "timestamp": snapshot["created_at"], "message": { "role": kind, "content": id },
            })
        };
        let mut file =
            fs::OpenOptions::new().append(true).create(true).open(self.sandbox.path("transcript.jsonl")).unwrap();
        writeln!(file, "{}\n{}", entry(id, after, "user"), entry(&reply, Some(id), "assistant")).unwrap();
        reply
    }

    /// Ends the turn and returns the message to the user.
    fn stop(&self) -> String {
        let answer = self.fire("longhaul-stop", "Stop", json!({ "last_assistant_message": "done" })).json();
        answer["systemMessage"].as_str().unwrap_or_default().to_owned()
    }
}

const MESSAGE: &str = "the conversation is back at";

#[test]
fn after_a_rewind_the_user_is_notified_once_that_the_files_have_not_gone_back() {
    let session = Session::new();
    let kept = session.write_turn("first", None, &session.prompt("first"));
    session.write("tracked.txt", "two\n");
    let bookmark = session.prompt("\u{b7}");
    session.write_turn("bookmark", Some(&kept), &bookmark);
    session.write("tracked.txt", "three\n");
    session.write("new.txt", "new\n");
    assert!(!session.stop().contains(MESSAGE), "there was no rewind");
    // The client sends nothing when the user goes back to the bookmark; the next message follows the first turn.
    let other_way = session.prompt("the other way");
    session.write_turn("other", Some(&kept), &other_way);
    let message = session.stop();
    let number = number(&bookmark);
    let restore = format!("/longhaul:restore {number} now restores them");
    let time = &bookmark["created_at"].as_str().unwrap()[11..16];
    let back = format!("{MESSAGE} {time}, the files are not: 2 files differ");
    assert!(message.contains(&back) && message.contains(&restore), "{message}");
    assert!(!session.stop().contains(MESSAGE), "it is reported once");
    // Nothing has changed since the message to which this one goes back.
    session.write_turn("same", Some(&kept), &session.prompt("the same"));
    assert!(!session.stop().contains(MESSAGE), "no file differs");
    assert_eq!(session.sandbox.error_log(), "");
}

#[test]
fn a_rewind_whose_next_turn_did_not_end_is_reported_when_the_session_is_resumed() {
    let session = Session::new();
    let kept = session.write_turn("first", None, &session.prompt("first"));
    session.write_turn("second", Some(&kept), &session.prompt("second"));
    session.stop();
    session.write("tracked.txt", "changed\n");
    session.write_turn("other", Some(&kept), &session.prompt("the other way"));
    session.fire("longhaul-session-end", "SessionEnd-other", json!({}));
    let answer = session.fire("longhaul-session-start", "SessionStart", json!({ "source": "resume" })).json();
    let message = answer["systemMessage"].as_str().unwrap_or_default();
    assert!(message.contains("the files are not: 1 file differs"), "{answer}");
    assert!(!session.stop().contains(MESSAGE), "it is reported once");
}

#[test]
fn a_turn_that_was_taken_back_is_never_recalled() {
    let session = Session::new();
    let recalled = |words: &str| session.sandbox.longhaul(&["memory", "recall", words]).stdout;
    let kept = session.write_turn("paint the ladder", None, &session.prompt("paint the ladder"));
    session.write_turn("crate the zeppelin", Some(&kept), &session.prompt("crate the zeppelin"));
    session.stop();
    assert!(recalled("zeppelin").contains("crate the zeppelin"), "it is part of the conversation");
    session.write_turn("paint the fence", Some(&kept), &session.prompt("paint the fence"));
    session.stop();
    assert!(!recalled("zeppelin").contains("zeppelin"), "{}", recalled("zeppelin"));
    assert!(!recalled("\"crate the zeppelin\"").contains("zeppelin"), "nor by the phrase");
    let ladder = recalled("who paints the ladder");
    assert!(ladder.contains("paint the ladder"), "{ladder}");
    let listed = session.sandbox.longhaul(&["memory", "search"]).stdout;
    assert!(listed.contains("crate the zeppelin"), "a list shows what happened: {listed}");
}
