use serde_json::json;

use crate::hook_record::is_hook_record;
use crate::{Entry, EntryKind};

#[track_caller]
fn check(name: &str, text: &str, expected: bool) {
    assert_eq!(is_hook_record(name, text), expected, "{name} {text}");
}

#[test]
fn that_a_hook_ran_is_no_part_of_the_work() {
    check("hook_success", r#"{"type":"hook_success","stdout":"x"}"#, true);
    check("async_hook_response", "x", true);
    check("hook_additional_context", "<longhaul-context>\nx</longhaul-context>", true);
    check(
        "hook_additional_context",
        r#"{"content":["<longhaul-context>\nx</longhaul-context>"],"hookName":"y"}"#,
        true,
    );
    check("hook_additional_context", r#"{"content":["the linter's rules"],"hookName":"y"}"#, false);
    check("hook_additional_context", "the linter's rules", false);
    check("hook_blocking_error", "tests must pass", false);
    check("file", "", false);
}

#[test]
fn an_entry_that_is_one_is_only_a_link() {
    let entry = |kind: &str| {
        let attachment = json!({ "type": kind, "hookName": "Stop", "stdout": "{}", "exitCode": 0 });
        let line = json!({ "type": "attachment", "uuid": "u", "attachment": attachment });
        Entry::parse(line.to_string().as_bytes()).unwrap().kind
    };
    assert_eq!(entry("hook_success"), EntryKind::Other);
    assert!(matches!(entry("hook_blocking_error"), EntryKind::Attachment { .. }));
}
