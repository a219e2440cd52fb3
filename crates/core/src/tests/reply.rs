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

#[test]
fn asking_comes_between_denying_and_allowing() {
    let with = |permission: Permission| {
        let mut reply = Reply::deny("why");
        reply.hook_specific_output.as_mut().unwrap().permission_decision = Some(permission);
        reply
    };
    let merged = |first: Permission, second: Permission| {
        let mut reply = with(first);
        reply.merge(with(second));
        reply.hook_specific_output.unwrap().permission_decision.unwrap()
    };
    assert_eq!(merged(Permission::Allow, Permission::Ask), Permission::Ask);
    assert_eq!(merged(Permission::Ask, Permission::Allow), Permission::Ask);
    assert_eq!(merged(Permission::Ask, Permission::Deny), Permission::Deny);
    assert_eq!(merged(Permission::Deny, Permission::Ask), Permission::Deny);
}

#[test]
fn of_two_refusals_the_first_gives_the_reason() {
    let mut reply = Reply::deny("first");
    reply.merge(Reply::deny("second"));
    assert!(reply.to_json().contains("first") && !reply.to_json().contains("second"));
}

#[test]
fn a_merge_keeps_what_the_other_reply_lacks() {
    let mut reply = Reply { suppress_output: Some(true), ..Reply::context(EventName::Stop, "x") };
    reply.merge(Reply { suppress_output: Some(false), ..Reply::default() });
    assert_eq!((reply.suppress_output, reply.context_text()), (Some(true), Some("x")));
    let mut empty = Reply::default();
    assert_eq!(empty.context_text(), None);
    empty.merge(reply);
    assert_eq!((empty.suppress_output, empty.context_text()), (Some(true), Some("x")));
}

#[test]
fn context_is_appended() {
    let mut reply = Reply::default();
    reply.add_context(EventName::Stop, "a");
    reply.add_context(EventName::Stop, "b");
    assert_eq!(reply.context_text(), Some("a\n\nb"));
}

#[test]
fn the_same_message_is_added_once() {
    let mut reply = Reply::default();
    for message in ["ab", "a", "b; c", "c", "ab", "b; c"] {
        reply.add_message(message);
    }
    assert_eq!(reply.system_message.as_deref(), Some("ab; a; b; c"));
}
