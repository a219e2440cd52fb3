use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::event::predicates::{
    self, asks_nothing, bookmark_note, in_subagent, is_bookmark_command, is_compaction, is_task_notification,
    stopped_at_context_limit, stopped_by_user,
};
use crate::event::{
    Event, EventError, EventName, HookEvent, PostToolUse, Stop, parse, parse_with_response, split_response, utf8,
};

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
    assert!(call.tool_response.is_some_and(|json| json.contains("\"stdout\": \"sub\"")));

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

fn stop(extra: &str) -> Stop {
    let text = format!(r#"{{"session_id":"s"{extra}}}"#);
    Stop::from_wire(parse(&text).unwrap()).unwrap()
}

#[test]
fn a_subagent_and_a_compaction_are_recognized_by_their_fields() {
    let main = stop("").common;
    assert!(!in_subagent(&main) && !is_compaction(&main));
    assert!(in_subagent(&stop(r#","agent_id":"a","agent_type":"Explore""#).common));
    assert!(!in_subagent(&stop(r#","agent_id":"""#).common));
    assert!(is_compaction(&stop(r#","agent_type":"""#).common));
    assert!(!is_compaction(&stop(r#","agent_type":"Explore""#).common));
}

#[test]
fn a_task_notification_begins_with_its_tag() {
    assert!(is_task_notification(" \n<task-notification>x"));
    assert!(!is_task_notification("see <task-notification>"));
}

#[test]
fn two_modes_open_no_dialogs() {
    for (mode, expected) in
        [(Some("bypassPermissions"), true), (Some("dontAsk"), true), (Some("default"), false), (None, false)]
    {
        assert_eq!(asks_nothing(mode), expected, "{mode:?}");
    }
}

#[test]
fn the_reason_of_a_stop_is_found_in_every_field() {
    for field in ["stop_reason", "stopReason", "reason", "end_turn_reason", "endTurnReason"] {
        let full = stop(&format!(r#","{field}":"Model_Context_Window_exceeded""#));
        assert!(stopped_at_context_limit(&full) && !stopped_by_user(&full), "{field}");
    }
    for reason in ["aborted", "ABORT", "cancel", "interrupt", "by_user_cancel_now", "user_interrupt", "ctrl_c"] {
        let aborted = stop(&format!(r#","reason":"{reason}""#));
        assert!(stopped_by_user(&aborted) && !stopped_at_context_limit(&aborted), "{reason}");
    }
    assert!(stopped_by_user(&stop(r#","user_requested":true"#)) && stopped_by_user(&stop(r#","userRequested":true"#)));
    for other in ["", r#","reason":"end_turn""#, r#","reason":"cancelled_by_tool""#, r#","user_requested":false"#] {
        assert!(!stopped_by_user(&stop(other)) && !stopped_at_context_limit(&stop(other)), "{other}");
    }
}

#[test]
fn only_the_marker_alone_or_with_a_note_is_a_bookmark() {
    for (prompt, expected) in [
        ("·", Some(None)),
        ("  · \n", Some(None)),
        ("· before the rewrite ", Some(Some("before the rewrite"))),
        ("·x", None),
        ("·\nplease do x", None),
        ("· fix the parser\n· then the tests", None),
        ("", None),
        ("please · go on", None),
        ("/longhaul:bookmark", Some(None)),
        ("/longhaul:bookmark green tests", Some(Some("green tests"))),
        ("/longhaul-bookmarks:bookmark x", Some(Some("x"))),
        ("/longhaul:bookmarks", None),
    ] {
        assert_eq!(bookmark_note(prompt, "·"), expected, "{prompt:?}");
    }
}

#[test]
fn the_command_is_not_the_marker() {
    assert!(is_bookmark_command("/longhaul:bookmark x") && is_bookmark_command(" /longhaul-bookmarks:bookmark"));
    assert!(!is_bookmark_command("· x") && !is_bookmark_command("x /longhaul:bookmark"));
}

// Payloads of agents that run Claude Code's hooks.

fn is_of_another(text: &str) -> bool {
    parse(text).unwrap().is_of_another_agent()
}

/// Returns the payloads in a folder of the recorded ones, each with its path.
fn recorded(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/payloads").join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let payloads = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    payloads.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn an_agent_that_reads_claude_codes_settings_is_recognised() {
    for (path, payload) in ["foreign", "gemini", "qwen"].into_iter().flat_map(recorded) {
        assert!(is_of_another(&payload), "{}", path.display());
    }
}

#[test]
fn an_agent_is_recognised_wherever_its_files_are() {
    for (path, payload) in ["gemini", "qwen"].into_iter().flat_map(recorded) {
        let moved =
            payload.replace("/home/dev/.gemini/tmp", "/srv/g").replace("/home/dev/.qwen/projects", "/srv/projects");
        assert!(is_of_another(&moved), "{}", path.display());
    }
}

#[test]
fn claude_codes_own_payloads_are_not() {
    for (path, payload) in recorded("") {
        assert!(!is_of_another(&payload), "{}", path.display());
    }
    // Both spellings, as an older version might send them.
    assert!(!is_of_another(r#"{"session_id":"a","sessionId":"a"}"#));
    // A time in the input of a tool, and one that a later version might send.
    assert!(!is_of_another(r#"{"session_id":"a","tool_input":{"timestamp":1,"hook_source":"x"}}"#));
    let own = r#"{"session_id":"a","timestamp":1,"transcript_path":"/h/.claude/projects/-p/a.jsonl"}"#;
    assert!(!is_of_another(own));
    for other in ["b.jsonl", "a.json", "chats/a.jsonl"] {
        assert!(is_of_another(&own.replace("a.jsonl", other)), "{other}");
    }
    assert!(is_of_another(r#"{"session_id":"a","timestamp":1}"#));
    assert!(is_of_another(
        r#"{"session_id":"a","hook_source":"x","transcript_path":"/h/.claude/projects/-p/a.jsonl"}"#
    ));
}

/// A payload is read as before, whatever its response holds, and whatever breaks it.
#[test]
fn a_response_that_is_split_off_is_the_one_that_is_read() {
    let responses = [
        r#"{"stdout":"a \"quoted\" \\","list":[1,{"x":"}"}]}"#,
        r#""only \\\" text""#,
        "[]",
        "12.5",
        "null",
        "true",
        r#"{"a":{"tool_response":"inner"}}"#,
    ];
    for response in responses {
        for text in [
            format!(r#"{{"session_id":"s","tool_response":{response},"tool_name":"Bash"}}"#),
            format!(" {{ \"session_id\" : \"s\" , \"tool_name\":\"Bash\",\n\"tool_response\" : {response} }}\n"),
        ] {
            let (rest, split) = split_response(&text).unwrap();
            assert_eq!(split, response, "{text}");
            let wire = parse_with_response(&rest, split).unwrap();
            let call = PostToolUse::from_wire(wire).unwrap();
            let whole = PostToolUse::from_wire(parse(&text).unwrap()).unwrap();
            assert_eq!(call.tool_response, whole.tool_response, "{text}");
            assert_eq!((call.tool_name, call.common.session), (whole.tool_name, whole.common.session));
        }
    }
    let without = [
        "",
        "[]",
        "{",
        "{}",
        r#"{"a":1}"#,
        r#"{"tool_response""#,
        r#"{"tool_response":"#,
        r#"{"tool_response":}"#,
        r#"{"tool_response":"a"#,
        r#"{"tool_response":"a\"}"#,
        r#"{"tool_response":[1,2"#,
        r#"{"tool_response":]"#,
        r#"{"a" 1,"tool_response":2}"#,
        r#"{"a":1 "tool_response":2}"#,
        r#"{"a":{"tool_response":2}}"#,
        r#""tool_response":2"#,
    ];
    for text in without {
        assert_eq!(split_response(text), None, "{text}");
    }
}
