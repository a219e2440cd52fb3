use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Call, Kind, NARRATIVE_CHARS, Observation, RawCall, TITLE_CHARS, observe};

fn call(tool: &str, input: &Value, response: &Value, is_error: bool) -> Call {
    let (input, response) = (input.to_string(), response.to_string());
    let cwd = "/home/dev/project/sub";
    Call::new(&RawCall {
        tool_use_id: "t",
        tool,
        input: &input,
        response: &response,
        is_error,
        cwd,
        ..RawCall::default()
    })
}

fn seen(tool: &str, input: &Value, response: &Value) -> Observation {
    observe(&call(tool, input, response, false), Some("/home/dev/project")).unwrap()
}

#[track_caller]
fn check(tool: &str, input: &Value, response: &Value, kind: Kind, title: &str) {
    let observation = seen(tool, input, response);
    assert_eq!((observation.kind, observation.title.as_str()), (kind, title));
}

#[test]
fn a_patch_of_codex_names_every_file() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** Add File: /home/dev/project/b.rs\n+z\n*** Delete File: c\n*** End Patch";
    let patched = seen("apply_patch", &json!({ "patch": patch }), &json!("Success. Updated the following files"));
    assert_eq!((patched.kind, patched.title.as_str()), (Kind::Change, "Edited sub/src/a.rs and 2 more"));
    assert_eq!(patched.files_modified, ["sub/src/a.rs", "b.rs", "sub/c"]);
    assert!(patched.narrative.contains("+y"));
    check("apply_patch", &json!({ "patch": "" }), &json!(""), Kind::Change, "Edited a file");
}

#[test]
fn a_change_names_its_file_as_seen_from_the_project() {
    let input = json!({ "file_path": "/home/dev/project/src/auth.rs", "old_string": "a", "new_string": "b" });
    let edited = seen("Edit", &input, &json!({ "filePath": "/home/dev/project/src/auth.rs", "structuredPatch": [] }));
    assert_eq!((edited.kind, edited.title.as_str()), (Kind::Change, "Edited src/auth.rs"));
    assert_eq!(edited.files_modified, ["src/auth.rs"]);
    assert_eq!(edited.narrative, "Replaced:\na\nwith:\nb");
    let write = json!({ "file_path": "/home/dev/project/f1.txt", "content": "one\ntwo\n" });
    let created = json!({ "type": "create", "filePath": "/home/dev/project/f1.txt", "structuredPatch": [], "originalFile": null });
    check("Write", &write, &created, Kind::Change, "Created f1.txt");
    check("Write", &write, &json!({ "type": "update" }), Kind::Change, "Wrote f1.txt");
    check(
        "NotebookEdit",
        &json!({ "notebook_path": "/elsewhere/n.ipynb", "new_source": "x" }),
        &json!({}),
        Kind::Change,
        "Edited /elsewhere/n.ipynb",
    );
    let edits = json!({ "file_path": "x.rs", "edits": [{ "old_string": "a", "new_string": "b" }, { "old_string": "c", "new_string": "" }] });
    let several = seen("MultiEdit", &edits, &json!({}));
    assert_eq!((several.title.as_str(), several.facts.as_slice()), ("Edited sub/x.rs", &["2 edits".to_owned()][..]));
    assert!(several.narrative.ends_with("Removed:\nc"), "{}", several.narrative);
}

#[test]
fn a_file_outside_the_project_keeps_its_path() {
    for (path, file) in [
        ("/home/dev/project2/x", "/home/dev/project2/x"),
        ("../x", "x"),
        ("../../x", "../../x"),
        ("./x", "sub/x"),
        ("/home/dev/project", "."),
    ] {
        assert_eq!(seen("Read", &json!({ "file_path": path }), &json!({})).files_read, [file]);
    }
    let call = call("Read", &json!({ "file_path": "/home/dev/project/x" }), &json!({}), false);
    assert_eq!(observe(&call, None).unwrap().files_read, ["/home/dev/project/x"]);
}

#[test]
fn a_long_file_is_told_by_its_beginning() {
    let content = "line \"quoted\"\n".repeat(9_000);
    let input = json!({ "file_path": "/home/dev/project/big.txt", "content": content });
    check("Write", &input, &json!({ "type": "create", "content": content }), Kind::Change, "Created big.txt");
    let response = json!({ "type": "text", "file": { "filePath": "/x", "content": content, "numLines": 10, "startLine": 5, "totalLines": 9000 } });
    let read = seen("Read", &json!({ "file_path": "/home/dev/project/big.txt" }), &response);
    assert_eq!(
        (read.title.as_str(), read.facts.as_slice()),
        ("Read big.txt", &["lines 5 to 14 of 9000".to_owned()][..])
    );
}

#[test]
fn a_search_says_what_it_found() {
    let files =
        json!({ "mode": "files_with_matches", "filenames": ["src/a.rs", "/home/dev/project/b.rs"], "numFiles": 2 });
    let found = seen("Grep", &json!({ "pattern": "fn main", "path": "/home/dev/project" }), &files);
    assert_eq!((found.kind, found.title.as_str()), (Kind::Discovery, "Searched for `fn main`: 2 files"));
    assert_eq!(found.files_read, ["sub/src/a.rs", "b.rs"]);
    let lines = json!({ "mode": "content", "numFiles": 0, "filenames": [], "content": "a.rs:1:x", "numLines": 1 });
    check(
        "Grep",
        &json!({ "pattern": "x", "path": "src" }),
        &lines,
        Kind::Discovery,
        "Searched for `x` in sub/src: 1 line",
    );
    let none = json!({ "mode": "count", "numMatches": 0 });
    check("Grep", &json!({ "pattern": "x" }), &none, Kind::Discovery, "Searched for `x`: nothing found");
    let globbed =
        json!({ "filenames": ["/home/dev/project/a.rs"], "durationMs": 3, "numFiles": 1, "truncated": false });
    check("Glob", &json!({ "pattern": "**/*.rs" }), &globbed, Kind::Discovery, "Looked for `**/*.rs`: 1 file");
    check("LS", &json!({ "path": "/home/dev/project/src" }), &json!("- a\n- b"), Kind::Discovery, "Listed src");
}

#[test]
fn the_web_is_told_with_its_address() {
    let page =
        json!({ "bytes": 1, "code": 200, "codeText": "OK", "result": "It says so.", "url": "https://a.example/b" });
    let fetched = seen("WebFetch", &json!({ "url": "https://a.example/b", "prompt": "Does it?" }), &page);
    assert_eq!(fetched.title, "Fetched https://a.example/b");
    assert_eq!(fetched.facts, ["https://a.example/b"]);
    assert_eq!(fetched.narrative, "Asked: Does it?\nCame back: It says so.");
    let results = json!({ "query": "q", "results": [{ "tool_use_id": "s", "content": [{ "title": "T", "url": "https://t.example" }] }, "text"] });
    let searched = seen("WebSearch", &json!({ "query": "rust fts5" }), &results);
    assert_eq!(searched.title, "Searched the web for “rust fts5”");
    assert_eq!(searched.facts, ["query: rust fts5", "https://t.example"]);
}

#[test]
fn an_agent_is_told_with_what_came_back() {
    let input = json!({ "description": "look around", "prompt": "Look around.", "subagent_type": "general-purpose" });
    let done = json!({ "status": "completed", "prompt": "Look around.", "content": [{ "type": "text", "text": "Nothing here." }], "totalTokens": 1200, "totalToolUseCount": 1 });
    let delegated = seen("Agent", &input, &done);
    assert_eq!((delegated.kind, delegated.title.as_str()), (Kind::Delegation, "Delegated: look around"));
    assert_eq!(delegated.narrative, "Asked: Look around.\nCame back: Nothing here.");
    assert_eq!(delegated.facts, ["agent general-purpose", "1 tool call", "1,200 tokens"]);
    let launched = json!({ "isAsync": true, "status": "async_launched", "agentId": "a", "description": "look around", "prompt": "Look around." });
    let launched = seen("Task", &input, &launched);
    assert_eq!(launched.title, "Delegated: look around (in the background)");
    assert_eq!(launched.narrative, "Asked: Look around.");
}

#[test]
fn a_tool_that_no_rule_knows_is_told_by_its_name() {
    check("mcp__fk__ping", &json!({}), &json!([{ "type": "text", "text": "pong" }]), Kind::Command, "fk: ping");
    check("mcp__jira__get_issue", &json!({ "id": "A-1" }), &json!("x"), Kind::Discovery, "jira: get_issue – A-1");
    check("Later", &json!({ "n": 1 }), &json!(null), Kind::Command, "Later");
    check("mcp__odd", &json!([]), &json!(1), Kind::Command, "mcp__odd");
    check(
        "BashOutput",
        &json!({ "bash_id": "b1" }),
        &json!({ "stdout": "x" }),
        Kind::Command,
        "Read the output of background task b1",
    );
    check("KillShell", &json!({ "shell_id": "b1" }), &json!({}), Kind::Command, "Stopped background task b1");
    assert_eq!(observe(&call("", &json!({}), &json!({}), false), None), None);
}

#[test]
fn what_failed_changed_nothing() {
    let input = json!({ "file_path": "/home/dev/project/x" });
    for (tool, response, title) in [
        ("Edit", "String to replace not found", "Could not edit x"),
        ("Read", "File does not exist.", "Could not read x"),
        ("Write", "The user doesn't want to proceed with this tool use.", "Not allowed: Write `x`"),
        ("mcp__a__b", "boom", "a: b failed"),
    ] {
        let observation = observe(&call(tool, &input, &json!(response), true), Some("/home/dev/project")).unwrap();
        assert_eq!((observation.title.as_str(), observation.narrative.as_str()), (title, response));
        assert!(observation.files_modified.is_empty() && observation.files_read.is_empty());
    }
}

const TOOLS: [&str; 18] = [
    "Edit",
    "MultiEdit",
    "Write",
    "NotebookEdit",
    "Read",
    "Grep",
    "Glob",
    "LS",
    "Bash",
    "BashOutput",
    "KillShell",
    "WebFetch",
    "WebSearch",
    "Agent",
    "Task",
    "mcp__a__b",
    "mcp__",
    "Other",
];

#[test]
fn the_details_of_a_change_are_facts() {
    let edit = json!({ "old_string": "a", "new_string": "b" });
    let input = json!({ "file_path": "x.rs", "edits": [edit] });
    assert_eq!(seen("MultiEdit", &input, &json!({})).facts, [""; 0]);
    let two = json!({ "file_path": "x.rs", "edits": [edit, edit] });
    assert_eq!(seen("Edit", &two, &json!({})).facts, [""; 0], "only one tool makes several edits");
    let everywhere = json!({ "file_path": "x.rs", "replace_all": true });
    assert_eq!(seen("Edit", &everywhere, &json!({ "userModified": true })).facts.len(), 2);
    let long = json!({ "old_string": "old ".repeat(75), "new_string": "new ".repeat(75) });
    let four = seen("MultiEdit", &json!({ "file_path": "x.rs", "edits": [long, long, long, long] }), &json!({}));
    assert_eq!(four.narrative.matches("characters left out").count(), 8, "each has its share");
}

#[test]
fn numbers_are_given_in_their_unit() {
    let file = |lines: u64| json!({ "file": { "numLines": lines, "totalLines": 7 } });
    let read = |lines: u64| seen("Read", &json!({ "file_path": "x" }), &file(lines)).facts;
    assert_eq!((read(7), read(6)), (vec!["7 lines".to_owned()], vec!["lines 1 to 6 of 7".to_owned()]));
    let counted = json!({ "mode": "count", "numMatches": 3, "numFiles": 1 });
    check("Grep", &json!({ "pattern": "x" }), &counted, Kind::Discovery, "Searched for `x`: 3 matches");
    let once = json!({ "mode": "count", "numMatches": 1 });
    check("Grep", &json!({ "pattern": "x" }), &once, Kind::Discovery, "Searched for `x`: 1 match");
    let narrative = |input: Value| seen("mcp__jira__get_issue", &input, &json!("x")).narrative;
    assert_eq!(narrative(json!({ "id": "A-1" })), "Asked: {\"id\":\"A-1\"}\nCame back: x");
    assert_eq!(narrative(json!({})), "Came back: x");
}

proptest! {
    #[test]
    fn whatever_comes_is_told_within_bounds(
        tool in prop::sample::select(TOOLS.to_vec()),
        text in any::<String>(),
        key in prop::sample::select(vec!["command", "file_path", "pattern", "url", "query", "prompt", "content", "path"]),
        long in 0..3_000_usize,
        is_error in any::<bool>(),
        garbage in any::<bool>(),
    ) {
        let input = json!({ key: format!("{text}{}", "é\n".repeat(long)), "edits": [{ "old_string": text, "new_string": "x" }] });
        let response = json!({ "stdout": text, "content": "y".repeat(long), "filenames": [text] });
        let mut call = call(tool, &input, &response, is_error);
        if garbage {
            call.input.clone_from(&text);
            call.response = text;
        }
        let observation = observe(&call, Some("/home/dev/project")).unwrap();
        prop_assert!(observation.title.chars().count() <= TITLE_CHARS && !observation.title.contains(char::is_control));
        prop_assert!(!observation.title.is_empty());
        prop_assert!(observation.narrative.chars().count() <= NARRATIVE_CHARS);
        prop_assert!(!observation.narrative.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    }
}
