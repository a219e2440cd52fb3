use crate::Reply;
use crate::event::EventName;
use crate::reply::PLAIN;

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
