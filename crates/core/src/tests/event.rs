use std::path::Path;

use proptest::prelude::*;

use crate::event::predicates;
use crate::event::{Event, EventError, EventName, utf8};

macro_rules! payload {
    ($name:literal) => {
        include_str!(concat!("payloads/", $name, ".json"))
    };
}

#[test]
fn every_recorded_payload_is_read_as_the_event_it_names() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/payloads");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // The payloads of other agents are in folders of their own.
        if path.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let event = Event::parse(&text).unwrap_or_else(|error| panic!("{stem}: {error}"));
        assert_ne!(event.name(), EventName::Unknown, "{stem}");
        assert_eq!(stem.split('-').next(), Some(event.name().as_str()));
        seen += 1;
    }
    assert!(seen >= 57, "only {seen} payloads");
}

#[test]
fn the_client_knows_thirty_three_events() {
    assert_eq!(EventName::ALL.len(), 33);
    for name in EventName::ALL {
        assert_eq!(EventName::from_wire(name.as_str()), *name);
    }
}

#[test]
fn fields_reach_the_typed_event() {
    let Ok(Event::Stop(stop)) = Event::parse(payload!("Stop-background-tasks")) else { panic!("not a stop") };
    assert_eq!(stop.last_assistant_message.as_deref(), Some("All subagents returned."));
    let tasks = stop.background_tasks.unwrap();
    assert!(tasks.len() == 2 && tasks.iter().all(|task| task.may_ask()));

    let Ok(Event::PostToolUse(call)) = Event::parse(payload!("PostToolUse-in-subagent")) else { panic!("not a call") };
    assert!(predicates::in_subagent(&call.common));
    assert_eq!(call.tool_name, "Bash");
    assert!(call.tool_response.is_some_and(|raw| raw.get().contains("\"stdout\": \"sub\"")));

    let Ok(Event::SubagentStop(stop)) = Event::parse(payload!("SubagentStop-compaction")) else { panic!("not a stop") };
    assert!(predicates::is_compaction(&stop.common));

    let Ok(Event::UserPromptSubmit(prompt)) = Event::parse(payload!("UserPromptSubmit-task-notification")) else {
        panic!("not a prompt")
    };
    assert!(predicates::is_task_notification(&prompt.prompt));
}

#[test]
fn only_running_tasks_that_are_no_shell_may_ask() {
    let text = r#"{"session_id":"s","hook_event_name":"Stop","background_tasks":[
        {"id":"1","type":"subagent","status":"running"}, {"id":"2","type":"subagent","status":"done"},
        {"id":"3","type":"shell"}, {"id":"4","type":"bash"}, {}]}"#;
    let Ok(Event::Stop(stop)) = Event::parse(text) else { panic!("not a stop") };
    let tasks: Vec<(String, bool)> =
        stop.background_tasks.unwrap().into_iter().map(|task| (task.id.clone(), task.may_ask())).collect();
    let expected = [("1", true), ("3", false), ("4", false), ("", true)];
    assert_eq!(tasks, expected.map(|(id, may_ask)| (id.to_owned(), may_ask)));
}

#[test]
fn a_shell_command_and_a_teammate_do_not_keep_the_turn_open() {
    let text = r#"{"session_id":"s","hook_event_name":"Stop","background_tasks":[
        {"id":"1","type":"subagent"}, {"id":"2","type":"teammate"}, {"id":"3","type":"shell"}]}"#;
    let Ok(Event::Stop(stop)) = Event::parse(text) else { panic!("not a stop") };
    let tasks = stop.background_tasks.unwrap();
    assert_eq!(tasks.iter().map(|task| task.keeps_turn_open()).collect::<Vec<_>>(), [true, false, false]);
    assert!(tasks[1].may_ask(), "it can open a dialog");
}

#[test]
fn what_is_new_or_odd_is_harmless() {
    let other = Event::parse(r#"{"session_id":"s","hook_event_name":"BrandNew","later":{"a":[1,2]}}"#).unwrap();
    assert_eq!(other.name(), EventName::Unknown);
    // A known field of another type counts as absent, an explicit null too.
    let odd =
        r#"{"session_id":"s","hook_event_name":"Stop","stop_hook_active":"yes","background_tasks":7,"reason":null}"#;
    let Ok(Event::Stop(stop)) = Event::parse(odd) else { panic!("not a stop") };
    assert!(!stop.stop_hook_active && stop.background_tasks.is_none() && stop.reasons.is_empty());
}

#[test]
fn the_same_thing_under_two_names_is_harmless() {
    let both = r#"{"session_id":"s","hook_event_name":"Stop","stop_reason":"end_turn","stopReason":"x","reason":"max_tokens"}"#;
    let Ok(Event::Stop(stop)) = Event::parse(both) else { panic!("not a stop") };
    assert!(predicates::stopped_at_context_limit(&stop));
}

#[test]
fn missing_essentials_are_errors_that_name_them() {
    let message = |text: &str| Event::parse(text).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(message("  "), Err("no payload on standard input".into()));
    assert_eq!(message(r#"{"hook_event_name":"Stop"}"#), Err("payload has no session_id".into()));
    assert!(matches!(Event::parse("{"), Err(EventError::Json(_))));
    assert!(matches!(Event::parse("[1]"), Err(EventError::NotAnObject)));
}

#[test]
fn bytes_that_are_not_utf8_are_replaced() {
    assert_eq!(utf8("né".into()), "né");
    assert_eq!(utf8(b"a\xffb".to_vec()), "a\u{fffd}b");
    assert_eq!(EventName::SessionStart.to_string(), "SessionStart");
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in ".{0,300}") {
        let _ = Event::parse(&text);
    }

    #[test]
    fn no_bytes_break_the_reader(at in 0..751_usize, bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
        let mut damaged = payload!("PostToolUse").as_bytes().to_vec();
        let at = at.min(damaged.len());
        damaged.splice(at..(at + bytes.len()).min(damaged.len()), bytes);
        let _ = Event::parse(&utf8(damaged));
    }

    #[test]
    fn no_cut_breaks_the_reader(at in 0..751_usize) {
        let text = payload!("PostToolUse");
        let _ = Event::parse(&text[..at.min(text.len())]);
    }
}
