use proptest::prelude::*;

use crate::{ToolUse, TurnWork, skeleton};

fn action<'a>(tool: &'a str, input: &'a str) -> ToolUse<'a> {
    ToolUse { tool, input, is_error: false }
}

#[track_caller]
fn check(work: TurnWork<'_>, expected: &str) {
    assert_eq!(skeleton(&work), expected);
}

#[test]
fn a_line_says_what_was_asked_done_touched_and_how_it_ended() {
    let actions = [
        action("Read", r#"{"file_path":"/home/dev/project/src/auth.rs"}"#),
        action("Grep", r#"{"pattern":"token"}"#),
        action("Edit", r#"{"file_path":"/home/dev/project/src/auth.rs","old_string":"a","new_string":"b"}"#),
        action("Edit", r#"{"file_path":"/home/dev/project/src/auth.rs"}"#),
        action("Write", r#"{"file_path":"src/token.rs"}"#),
        ToolUse { is_error: true, ..action("Bash", r#"{"command":"cargo test\n --all"}"#) },
        action("Bash", r#"{"command":"cargo test\n --all"}"#),
    ];
    let work = TurnWork {
        asked: "fix the\nlogin test",
        answered: "All tests pass. The token was stale.",
        actions: &actions,
        ..TurnWork::default()
    };
    let expected = "fix the login test → edited src/auth.rs, src/token.rs; ran cargo test --all; read src/auth.rs; \
                    searched 1×; 1 failed; “All tests pass.”";
    check(work, expected);
}

#[test]
fn stopped_and_failed_turns_say_so() {
    check(TurnWork { asked: "go", interrupted: true, ..TurnWork::default() }, "go → stopped by the user");
    let failed = TurnWork { asked: "go", failure: Some("API Error: 400"), answered: "x", ..TurnWork::default() };
    check(failed, "go → request failed: API Error: 400");
    let refused = [ToolUse { is_error: true, ..action("Write", r#"{"file_path":"x.txt"}"#) }];
    check(
        TurnWork { asked: "go", actions: &refused, interrupted: true, ..TurnWork::default() },
        "go → 1 failed; stopped by the user",
    );
}

#[test]
fn what_there_is_not_is_not_mentioned() {
    check(TurnWork::default(), "");
    check(TurnWork { asked: "hi", ..TurnWork::default() }, "hi");
    check(TurnWork { answered: "Hello!\nMore", ..TurnWork::default() }, "“Hello!”");
    let odd = [
        action("Bash", "not json"),
        action("mcp__x__y", "{}"),
        action("", "{}"),
        action("Agent", r#"{"description":"look"}"#),
    ];
    check(TurnWork { asked: "hi", actions: &odd, ..TurnWork::default() }, "hi → delegated look; used mcp__x__y");
}

#[test]
fn many_names_are_counted() {
    let inputs: Vec<String> = (0..9).map(|n| format!(r#"{{"file_path":"/a/b/{n}.rs"}}"#)).collect();
    let actions: Vec<ToolUse<'_>> = inputs.iter().map(|input| action("Edit", input)).collect();
    check(
        TurnWork { asked: "all", actions: &actions, ..TurnWork::default() },
        "all → edited b/0.rs, b/1.rs, b/2.rs, +6",
    );
}

proptest! {
    #[test]
    fn a_line_is_one_short_line(asked in "\\PC{0,300}(\n\\PC{0,40})?", answered in "\\PC{0,300}", input in "\\PC{0,60}") {
        let actions = [action("Bash", &input), action("Edit", &input)];
        let line = skeleton(&TurnWork { asked: &asked, answered: &answered, actions: &actions, ..TurnWork::default() });
        prop_assert!(!line.contains('\n'));
        prop_assert!(line.chars().count() <= 300, "{}", line);
    }
}
