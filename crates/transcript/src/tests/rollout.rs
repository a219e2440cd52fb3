//! Codex's rollouts: recorded of version 0.166, and lines of older ones.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::read;
use crate::{
    Batch, Compacted, HistoryBase, PromptOrigin, Reader, Rollback, RolloutName, SessionMeta, Turn, ends_in_interrupt,
    is_turn_over, latest_usage, line_number, merge_turns,
};

/// Two turns, the second after a resume.
const RECORDED: &str = include_str!("rollout.jsonl");

fn line(kind: &str, payload: Value) -> String {
    json!({ "timestamp": "2026-11-15T08:00:00.000Z", "type": kind, "payload": payload }).to_string() + "\n"
}

fn item(payload: Value) -> String {
    line("response_item", payload)
}

fn user(text: &str) -> String {
    item(json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] }))
}

/// Reads one prompt and `lines`; returns the turn.
#[track_caller]
fn turn(lines: &[String]) -> Turn {
    let batch = read((user("go on") + &lines.concat()).as_bytes());
    assert_eq!((batch.turns.len(), batch.broken_lines), (1, 0));
    batch.turns.into_iter().next().unwrap_or_default()
}

#[test]
fn a_recorded_rollout_is_two_turns() {
    let batch = read(RECORDED.as_bytes());
    assert_eq!((batch.turns.len(), batch.broken_lines), (2, 0));
    let [first, second] = batch.turns.as_slice() else { panic!("two turns") };
    assert_eq!(first.prompt.as_ref().unwrap().text, "What does hello.txt say? <private>my pin is quittenmus</private>");
    assert_eq!(first.prompt_id.as_deref(), Some("01a1de69-9ac4-7953-9d76-6980e9a319d9"));
    assert_eq!(first.origin, PromptOrigin::Person);
    assert_eq!(first.reply(), "The file says hello from the pane.");
    assert_eq!(
        first.thinking.iter().map(|said| said.text.as_str()).collect::<Vec<_>>(),
        ["I should look at the file first."]
    );
    let [call] = first.calls.as_slice() else { panic!("one call") };
    assert_eq!(call.name.as_deref(), Some("Bash"));
    assert_eq!(call.input.as_deref(), Some(r#"{"command":"cat hello.txt"}"#));
    assert_eq!(call.output.as_deref(), Some("hello from the pane\n"));
    assert!(!call.is_error);
    let failed = &second.calls[0];
    assert!(failed.is_error);
    assert_eq!(failed.output.as_deref(), Some("Exit code 127\n/bin/bash: line 1: cargo: command not found\n"));
    assert!(crate::replaced_turns(&batch.links).is_empty(), "a rollout has no branches");
}

#[test]
fn counted_ids_are_told_apart_by_their_turn() {
    let batch = read(RECORDED.as_bytes());
    let ids: Vec<&str> = batch.turns.iter().flat_map(|turn| &turn.calls).map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["01a1de69-9ac4-7953-9d76-6980e9a319d9/call_1", "01a1de69-9f67-72f0-a7f6-7273769de274/call_3"]);
}

#[test]
fn the_first_line_tells_of_the_session() {
    let meta = SessionMeta::parse(RECORDED.lines().next().unwrap().as_bytes()).unwrap();
    assert_eq!(meta.id, "01a1de69-9a48-7213-b664-b016f981bf57");
    assert_eq!(meta.cwd.as_deref(), Some("/home/dev/project"));
    assert!(meta.at.is_some() && !meta.is_subagent);
    let sub = line("session_meta", json!({ "id": "x", "source": { "subagent": { "other": "review" } } }));
    assert!(SessionMeta::parse(sub.as_bytes()).unwrap().is_subagent);
    assert_eq!(SessionMeta::parse(user("hi").as_bytes()), None);
}

#[test]
fn tokens_model_and_window_are_told_by_the_newest_count() {
    let usage = latest_usage(RECORDED.as_bytes()).unwrap();
    assert_eq!((usage.tokens, usage.window), (1650, Some(258_400)));
    assert_eq!(usage.model.as_deref(), Some("gpt-5-codex"));
    assert!(usage.at.is_some());
    // Only the account's limits, and a line that is being written.
    let later = line("event_msg", json!({ "type": "token_count", "info": null, "rate_limits": {} }));
    let tail = format!("{RECORDED}{later}{{\"timestamp\":\"2026-11-15T08:5");
    assert_eq!(latest_usage(tail.as_bytes()).unwrap().tokens, 1650);
    assert_eq!(latest_usage(later.as_bytes()), None);
}

#[track_caller]
fn check_prompts(text: &str, expected: &[(PromptOrigin, &str)]) {
    let batch = read(user(text).as_bytes());
    let prompts: Vec<(PromptOrigin, &str)> =
        batch.turns.iter().map(|turn| (turn.origin, turn.prompt.as_ref().unwrap().text.as_str())).collect();
    assert_eq!(prompts, expected, "{text}");
}

#[test]
fn what_codex_writes_in_the_users_name_is_no_prompt() {
    check_prompts("fix it", &[(PromptOrigin::Person, "fix it")]);
    check_prompts("<b>fix</b> it", &[(PromptOrigin::Person, "<b>fix</b> it")]);
    check_prompts("<environment_context>\n <cwd>/x</cwd></environment_context>", &[]);
    check_prompts("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>be kind</INSTRUCTIONS>", &[]);
    check_prompts("<user_instructions>\nbe kind</user_instructions>", &[]);
    check_prompts(
        "<user_shell_command>\n<command>\nls -l\n</command>\n<result>\nx</result>",
        &[(PromptOrigin::Shell, "!ls -l")],
    );
    check_prompts("  ", &[]);
}

#[test]
fn an_interrupt_is_known_by_its_event_and_by_its_note() {
    assert!(turn(&[line("event_msg", json!({ "type": "turn_aborted", "reason": "interrupted" }))]).interrupted);
    assert!(turn(&[user("<turn_aborted>\nThe user interrupted the previous turn")]).interrupted);
    assert!(!turn(&[line("event_msg", json!({ "type": "task_complete" }))]).interrupted);
}

#[test]
fn an_aborted_turn_at_the_end_is_an_interrupt() {
    let abort = line("event_msg", json!({ "type": "turn_aborted", "reason": "interrupted" }));
    let tail = format!("{RECORDED}{abort}");
    assert!(!ends_in_interrupt(RECORDED.as_bytes()));
    assert!(ends_in_interrupt(tail.as_bytes()));
    assert!(!ends_in_interrupt(format!("{tail}{RECORDED}").as_bytes()), "the next turn has begun since");
}

#[test]
fn a_compaction_and_a_failure_are_kept_beside_the_turn() {
    let turn = turn(&[
        line("compacted", json!({ "message": "we fixed the parser", "replacement_history": [] })),
        line("event_msg", json!({ "type": "error", "message": "usage limit reached" })),
    ]);
    assert_eq!(turn.attachments[0].text, "we fixed the parser");
    assert_eq!(turn.failure.unwrap().text, "usage limit reached");
}

#[test]
fn the_newest_compaction_says_what_the_model_is_still_shown() {
    let said = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] });
    let compacted =
        |summary: &str, kept: Value| line("compacted", json!({ "message": summary, "replacement_history": kept }));
    let after = line("event_msg", json!({ "type": "error", "message": "a line about \"compacted\" things" }));
    let kept = json!([said("user", "use tabs"), said("developer", "boilerplate"), { "type": "compaction", "encrypted_content": "x" }]);
    let tail =
        format!("{RECORDED}{}{}{after}", compacted("the first one", json!([])), compacted("the second one", kept));
    let newest = Compacted::newest(tail.as_bytes()).unwrap();
    assert_eq!((newest.summary.as_str(), newest.prompts), ("the second one", vec!["use tabs".to_owned()]));
    // A summary that only the model can read.
    let sealed = line("compacted", json!({ "message": "", "replacement_history": null }));
    assert_eq!(Compacted::newest(sealed.as_bytes()), Some(Compacted::default()));
    assert_eq!(Compacted::newest(format!("{RECORDED}{after}").as_bytes()), None);
}

#[track_caller]
fn check_call(payload: Value, name: &str, input: Value) {
    let turn = turn(&[item(payload)]);
    let call = &turn.calls[0];
    let got: Value = serde_json::from_str(call.input.as_deref().unwrap()).unwrap();
    assert_eq!((call.name.as_deref().unwrap(), got), (name, input));
}

#[test]
fn calls_are_put_into_the_words_of_the_first_client() {
    let function = |name: &str, arguments: Value| json!({ "type": "function_call", "name": name, "arguments": arguments.to_string(), "call_id": "call_aaaaaaaaaaaa" });
    check_call(
        function("shell", json!({ "command": ["bash", "-lc", "ls | wc -l"], "workdir": "/x" })),
        "Bash",
        json!({ "command": "ls | wc -l", "workdir": "/x" }),
    );
    check_call(function("shell", json!({ "command": ["git", "log"] })), "Bash", json!({ "command": "git log" }));
    check_call(function("shell_command", json!({ "command": "make" })), "Bash", json!({ "command": "make" }));
    check_call(function("exec_command", json!({ "cmd": "make" })), "Bash", json!({ "command": "make" }));
    check_call(function("view_image", json!({ "path": "a.png" })), "Read", json!({ "file_path": "a.png" }));
    check_call(function("update_plan", json!({ "plan": [] })), "TodoWrite", json!({ "plan": [] }));
    check_call(
        json!({ "type": "local_shell_call", "call_id": "c", "action": { "type": "exec", "command": ["ls"] } }),
        "Bash",
        json!({ "command": "ls" }),
    );
    check_call(
        json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": "*** Begin Patch\n" }),
        "apply_patch",
        json!({ "patch": "*** Begin Patch\n" }),
    );
    let patch = "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch";
    let heredoc = format!("apply_patch <<'EOF'\n{patch}\nEOF\n");
    check_call(function("exec_command", json!({ "cmd": heredoc })), "apply_patch", json!({ "patch": patch }));
    check_call(
        json!({ "type": "function_call", "namespace": "mcp__docs__", "name": "find", "arguments": "{", "call_id": "c" }),
        "mcp__docs__find",
        json!("{"),
    );
    check_call(
        json!({ "type": "web_search_call", "id": "ws_1", "action": { "type": "search", "query": "rust" } }),
        "WebSearch",
        json!({ "type": "search", "query": "rust" }),
    );
}

#[test]
fn a_command_is_a_script_only_where_a_shell_runs_it() {
    for (words, command) in [
        (["bash", "-c", "ls; pwd"], "ls; pwd"),
        (["/bin/zsh", "-ic", "ls"], "ls"),
        (["python3", "-c", "print(1)"], "python3 -c print(1)"),
        (["bash", "-x", "build.sh"], "bash -x build.sh"),
    ] {
        let call = json!({ "type": "local_shell_call", "call_id": "c", "action": { "command": words } });
        check_call(call, "Bash", json!({ "command": command }));
    }
}

#[test]
fn other_tools_are_translated_and_other_items_are_no_calls() {
    let function = |name: &str, arguments: Value| json!({ "type": "function_call", "name": name, "arguments": arguments.to_string(), "call_id": "c" });
    check_call(function("write_stdin", json!({ "session_id": 7 })), "BashOutput", json!({ "bash_id": "7" }));
    check_call(
        function("request_user_input", json!({ "questions": [] })),
        "AskUserQuestion",
        json!({ "questions": [] }),
    );
    assert!(turn(&[item(json!({ "type": "ghost_snapshot", "call_id": "c", "name": "x" }))]).calls.is_empty());
}

#[test]
fn a_long_id_is_unique_by_itself() {
    let (long, short) = ("x".repeat(16), "x".repeat(15));
    let call = |id: &str| {
        let payload = json!({ "type": "function_call", "name": "x", "call_id": id, "turn_id": "t" });
        turn(&[item(payload)]).calls[0].id.clone()
    };
    assert_eq!((call(&long), call(&short)), (long.clone(), format!("t/{short}")));
    let said = |id: &str| {
        let content = json!([{ "type": "output_text", "text": "yes" }]);
        let payload = json!({ "type": "message", "role": "assistant", "id": id, "content": content });
        turn(&[item(payload)]).replies[0].source.clone()
    };
    assert_eq!(said(&long), long);
    assert!(said(&short).starts_with("2026-11-15T08:00:00.000Z#"), "{}", said(&short));
}

#[test]
fn the_kinds_of_a_text_say_who_wrote_it() {
    let prompts = |kinds: Value, text: &str| {
        let payload = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }],
            "internal_chat_message_metadata_passthrough": { "content_item_kinds": kinds } });
        read(item(payload).as_bytes()).turns.len()
    };
    assert_eq!(prompts(json!(["unknown"]), "fix it"), 1);
    assert_eq!(prompts(json!(["unknown"]), "<environment_context>"), 0);
    assert_eq!(prompts(json!(["user.text"]), "<environment_context>"), 1);
    assert_eq!(prompts(json!(["system.note"]), "fix it"), 0);
}

#[test]
fn a_count_of_nothing_is_no_use() {
    let count = |tokens: u64| {
        let info = json!({ "last_token_usage": { "total_tokens": tokens }, "model_context_window": 1_000 });
        latest_usage(line("event_msg", json!({ "type": "token_count", "info": info })).as_bytes())
    };
    assert_eq!((count(0), count(1).map(|usage| usage.tokens)), (None, Some(1)));
}

#[track_caller]
fn check_output(output: Value, expected: (&str, bool)) {
    let call = item(json!({ "type": "function_call", "name": "x", "arguments": "{}", "call_id": "c" }));
    let turn = turn(&[call, item(json!({ "type": "function_call_output", "call_id": "c", "output": output }))]);
    let call = &turn.calls[0];
    assert_eq!((call.output.as_deref().unwrap(), call.is_error), expected);
}

#[test]
fn outputs_of_every_version_are_text_and_say_whether_they_failed() {
    check_output(json!("plain"), ("plain", false));
    check_output(json!("Exit code: 0\nWall time: 1 seconds\nOutput:\nok\n"), ("ok\n", false));
    check_output(json!("Exit code: 2\nWall time: 1 seconds\nOutput:\nno\n"), ("Exit code 2\nno\n", true));
    check_output(json!(r#"{"output":"é","metadata":{"exit_code":1}}"#), ("Exit code 1\né", true));
    check_output(json!("Output:\nOutput:\n"), ("Output:\nOutput:\n", false));
    check_output(json!([{ "type": "input_text", "text": "a" }, { "type": "input_image" }]), ("a\n[image]", false));
    check_output(json!({ "content": "denied", "success": false }), ("denied", true));
    check_output(json!(null), ("", false));
}

#[test]
fn lines_of_another_shape_are_passed_over() {
    let odd = [
        line("response_item", json!(null)),
        line("response_item", json!({ "type": 5 })),
        line("response_item", json!({ "type": "message", "role": "user", "content": "text" })),
        line("a_kind_of_next_year", json!({ "x": [1, 2] })),
        "{\"type\":\"event_msg\"}\n".to_owned(),
    ];
    let batch = read(odd.concat().as_bytes());
    assert_eq!((batch.turns.len(), batch.broken_lines), (0, 0));
    assert_eq!(read(b"{\"timestamp\":\"\n").broken_lines, 1);
}

/// Reads `bytes` in pieces of `size`, taking after each, through stored cursors.
fn in_pieces(bytes: &[u8], size: usize) -> (Vec<Turn>, Batch) {
    let (mut turns, mut batch, mut reader) = (Vec::new(), Batch::default(), Reader::default());
    for piece in bytes.chunks(size) {
        reader.feed(piece);
        batch = reader.take();
        merge_turns(&mut turns, batch.turns.clone());
    }
    (turns, batch)
}

proptest! {
    #[test]
    fn pieces_of_any_size_amount_to_the_same(size in 1usize..4000) {
        let whole = read(RECORDED.as_bytes());
        let (turns, last) = in_pieces(RECORDED.as_bytes(), size);
        prop_assert_eq!(&turns, &whole.turns);
        prop_assert_eq!(last.cursor, whole.cursor);
    }

    #[test]
    fn damage_never_panics(at in 0usize..22_000, bytes in prop::collection::vec(any::<u8>(), 0..40), cut in 0usize..22_000) {
        let mut damaged = RECORDED.as_bytes().to_vec();
        damaged.truncate(cut.max(1));
        let at = at.min(damaged.len());
        damaged.splice(at..(at + bytes.len()).min(damaged.len()), bytes);
        let batch = read(&damaged);
        let _ = (latest_usage(&damaged), ends_in_interrupt(&damaged));
        let _ = damaged.split(|byte| *byte == b'\n').filter_map(SessionMeta::parse).count();
        prop_assert!(batch.turns.len() <= 3);
    }

    #[test]
    fn payloads_of_any_text_never_panic(kind in "[a-z_]{0,20}", text in "\\PC{0,80}") {
        for payload in [json!(text), json!({ "type": kind, "output": text, "call_id": text, "arguments": text, "name": kind })] {
            for outer in ["response_item", "event_msg", "compacted", "session_meta"] {
                let _ = read(line(outer, payload.clone()).as_bytes());
            }
        }
    }
}

#[test]
fn a_rollback_takes_the_last_turns_back() {
    let back = |turns: usize| line("event_msg", json!({ "type": "thread_rolled_back", "num_turns": turns }));
    let prompts = |texts: &[&str]| texts.iter().map(|text| user(text)).collect::<String>();
    let batch =
        read((prompts(&["a", "b", "c"]) + &back(1) + &prompts(&["d"]) + &back(2) + &prompts(&["e"])).as_bytes());
    assert_eq!(batch.rollbacks, [Rollback { after: 3, turns: 1 }, Rollback { after: 4, turns: 2 }]);
    let gone = batch.rolled_back();
    let live = batch.turns.iter().filter(|turn| !gone.contains(turn.id.as_str()));
    let live: Vec<&str> = live.map(|turn| turn.prompt.as_ref().unwrap().text.as_str()).collect();
    assert_eq!((live, batch.broken_lines), (vec!["a", "e"], 0));
    let more = read((prompts(&["a"]) + &back(7)).as_bytes());
    assert_eq!(more.rolled_back().len(), 1, "turns before the batch are not in it");
    let unknown = read(line("event_msg", json!({ "type": "thread_rolled_back" })).as_bytes());
    assert!(unknown.rollbacks.is_empty());
}

#[test]
fn a_rollout_that_continues_another_says_where() {
    let base = json!({ "thread_id": "t", "end_ordinal_exclusive": 30, "end_byte_offset": 62216 });
    let meta = line("session_meta", json!({ "id": "t", "history_base": base }));
    let base = SessionMeta::parse(meta.as_bytes()).unwrap().base;
    assert_eq!(base, Some(HistoryBase { rollout: "t".to_owned(), end: 30 }));
    let plain = line("session_meta", json!({ "id": "t", "history_base": null }));
    assert_eq!(SessionMeta::parse(plain.as_bytes()).unwrap().base, None);
    assert_eq!(line_number(b"{\"ordinal\":31,\"type\":\"event_msg\"}\n"), Some(31));
    assert_eq!(line_number(meta.as_bytes()), None);
}

#[test]
fn a_turn_is_over_after_its_last_event_only() {
    assert!(is_turn_over(RECORDED.as_bytes()));
    let event = |kind: &str| line("event_msg", json!({ "type": kind }));
    assert!(!is_turn_over((event("task_complete") + &event("task_started") + &user("go on")).as_bytes()));
    assert!(is_turn_over((event("task_started") + &event("turn_aborted")).as_bytes()));
    assert!(!is_turn_over(user("go on").as_bytes()));
}

#[test]
fn the_name_of_a_rollout_has_the_ids_of_the_session_and_the_rollout() {
    let (session, later) = ("01a1de69-9a48-7213-b664-b016f981bf57", "01a1de70-0000-7213-b664-b016f981bf58");
    let check = |name: &str, ids: Option<(&str, &str)>| {
        let name = format!("/s/2026/11/15/{name}");
        let found = RolloutName::of(name.as_ref()).map(|name| (name.session.to_owned(), name.rollout.to_owned()));
        assert_eq!(found, ids.map(|(session, rollout)| (session.to_owned(), rollout.to_owned())), "{name}");
    };
    let first = format!("rollout-2026-11-15T08-53-45-{session}");
    check(&format!("{first}.jsonl"), Some((session, session)));
    check(&format!("{first}.jsonl.zst"), Some((session, session)));
    check(&format!("{first}_{later}.jsonl"), Some((session, later)));
    check(&format!("{first}_{later}.jsonl.zst"), Some((session, later)));
    for other in [format!("{session}.jsonl"), format!("{first}.json"), "rollout-1.jsonl".to_owned()] {
        check(&other, None);
    }
}
