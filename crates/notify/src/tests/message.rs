use longhaul_core::Millis;
use longhaul_core::config::NotifyState;
use proptest::prelude::*;
use serde_json::json;

use crate::{Message, Subject, duration, ntfy_body, webhook_body};

fn subject<'a>(state: NotifyState, waits_for: Option<&'a str>, turn_ms: Option<u64>) -> Subject<'a> {
    let mut subject = Subject::new(state, "api");
    subject.branch = Some("main");
    subject.waits_for = waits_for;
    subject.turn_ms = turn_ms;
    subject
}

#[test]
fn a_message_names_project_branch_what_it_waits_for_and_how_long() {
    let long = Some(12 * 60_000);
    for (state, waits_for, turn_ms, title, text) in [
        (
            NotifyState::Blocked,
            Some("wants to run: cargo publish"),
            long,
            "api (main) waits for you",
            "wants to run: cargo publish, after 12m",
        ),
        (NotifyState::Blocked, Some("asks a question"), None, "api (main) waits for you", "asks a question"),
        (NotifyState::Blocked, None, long, "api (main) waits for you", "It waits for an answer"),
        (NotifyState::Completed, Some("not shown"), long, "api (main) has finished", "The turn took 12m"),
        (NotifyState::Completed, None, None, "api (main) has finished", "The turn has ended"),
        (NotifyState::Failed, Some("server_error"), long, "api (main) has failed", "server_error, after 12m"),
        (NotifyState::Failed, None, None, "api (main) has failed", "The turn ended in an error"),
        (NotifyState::Limit, Some("rate_limit"), None, "api (main) has reached a limit", "rate_limit"),
    ] {
        let message = Message::new(&subject(state, waits_for, turn_ms));
        assert_eq!((message.title.as_str(), message.text.as_str()), (title, text));
        assert_eq!(message.line(), format!("{title}: {text}"));
    }
}

#[test]
fn a_session_without_a_name_still_has_a_title() {
    let message = Message::new(&Subject::new(NotifyState::Blocked, "\u{1b}\u{7}"));
    assert_eq!(message.title, "a session waits for you");
}

#[test]
fn durations_are_short() {
    let shown = [0, 999, 59_999, 60_000, 3_599_000, 3_600_000, 7_500_000].map(duration);
    assert_eq!(shown, ["0s", "0s", "59s", "1m", "59m", "1h", "2h 5m"]);
}

#[test]
fn services_get_small_objects() {
    let subject = subject(NotifyState::Blocked, Some("asks a question"), Some(61_000));
    let message = Message::new(&subject);
    let body = ntfy_body("mine", NotifyState::Blocked, &message);
    assert_eq!(
        body,
        json!({ "topic": "mine", "title": "api (main) waits for you", "message": "asks a question, after 1m",
                "priority": 4, "tags": ["raised_hand"] })
    );
    assert_eq!(ntfy_body("mine", NotifyState::Completed, &message)["priority"], 3);
    assert_eq!(ntfy_body("mine", NotifyState::Limit, &message)["tags"], json!(["warning"]));
    assert_eq!(
        webhook_body("s1", &subject, &message, Millis(5)),
        json!({ "state": "blocked", "session": "s1", "project": "api", "branch": "main",
                "title": "api (main) waits for you", "text": "asks a question, after 1m", "turn_seconds": 61, "at_ms": 5 })
    );
}

proptest! {
    #[test]
    fn no_text_reaches_a_terminal_unfiltered_or_without_a_limit(
        project in any::<String>(), branch in any::<String>(), cause in ".{0,400}", hidden in "[\u{202a}-\u{202e}\u{200b}-\u{200f}\u{7f}-\u{9f}]{0,9}",
    ) {
        let cause = format!("{hidden}{cause}{hidden}");
        let mut subject = Subject::new(NotifyState::Blocked, &project);
        subject.branch = Some(&branch);
        subject.waits_for = Some(&cause);
        subject.turn_ms = Some(u64::MAX);
        let message = Message::new(&subject);
        for text in [&message.title, &message.text] {
            prop_assert!(text.chars().count() <= 200, "{}", text);
            let is_bad = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{200b}'..='\u{200f}' | '\u{2066}'..='\u{2069}');
            prop_assert!(!text.chars().any(is_bad), "{:?}", text);
        }
    }
}
