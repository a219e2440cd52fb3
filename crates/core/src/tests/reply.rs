use crate::Reply;
use crate::event::EventName;
use crate::reply::{PLAIN, Permission};

#[track_caller]
fn check(reply: Reply, json: &str) {
    assert_eq!(reply.to_json(), json);
}

#[test]
fn a_reply_says_only_what_it_must() {
    check(Reply::default(), PLAIN);
    check(Reply::end("kept"), r#"{"continue":false,"stopReason":"kept"}"#);
    check(Reply::block("go on"), r#"{"continue":true,"decision":"block","reason":"go on"}"#);
    check(
        Reply::context(EventName::UserPromptSubmit, "a \"fact\""),
        r#"{"continue":true,"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"a \"fact\""}}"#,
    );
    check(
        Reply::deny("full"),
        r#"{"continue":true,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"full"}}"#,
    );
    check(
        Reply { system_message: Some("hi".into()), suppress_output: Some(true), ..Reply::default() },
        r#"{"continue":true,"suppressOutput":true,"systemMessage":"hi"}"#,
    );
}

#[track_caller]
fn check_merged(replies: &[Reply], json: &str) {
    let mut merged = Reply::default();
    replies.iter().for_each(|reply| merged.merge(reply.clone()));
    check(merged, json);
}

fn message(text: &str) -> Reply {
    Reply { system_message: Some(text.to_owned()), ..Reply::default() }
}

#[test]
fn no_reply_overwrites_another() {
    let context = |text: &str| Reply::context(EventName::SessionStart, text);
    check_merged(
        &[message("a"), context("x"), message("b"), context("y"), message("a")],
        r#"{"continue":true,"systemMessage":"a; b","hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"x\n\ny"}}"#,
    );
    check_merged(&[message("a"), Reply::end("kept")], r#"{"continue":false,"stopReason":"kept","systemMessage":"a"}"#);
    check_merged(&[Reply::end("kept"), message("a")], r#"{"continue":false,"stopReason":"kept","systemMessage":"a"}"#);
}

#[test]
fn the_decision_that_lets_less_happen_wins() {
    let ended = r#"{"continue":false,"stopReason":"kept"}"#;
    check_merged(&[Reply::block("go on"), Reply::end("kept")], ended);
    check_merged(&[Reply::end("kept"), Reply::block("go on")], ended);
    check_merged(&[Reply::end("kept"), Reply::end("again")], ended);
    check_merged(
        &[Reply::block("go on"), Reply::block("again")],
        r#"{"continue":true,"decision":"block","reason":"go on"}"#,
    );
    let allow = || {
        let mut reply = Reply::deny("fine");
        reply.hook_specific_output.as_mut().unwrap().permission_decision = Some(Permission::Allow);
        reply
    };
    let denied = r#"{"continue":true,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"full"}}"#;
    check_merged(&[allow(), Reply::deny("full")], denied);
    check_merged(&[Reply::deny("full"), allow()], denied);
}
