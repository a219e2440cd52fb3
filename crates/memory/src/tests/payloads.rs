use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{Call, Kind, RawCall, observe};

/// A payload as the client sent it, and as the hook takes it apart.
#[derive(Deserialize)]
struct Payload<'a> {
    tool_name: &'a str,
    tool_use_id: &'a str,
    cwd: &'a str,
    #[serde(borrow)]
    tool_input: &'a RawValue,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[track_caller]
fn check(payload: &str, kind: Kind, title: &str, narrative: &str) {
    let payload: Payload<'_> = serde_json::from_str(payload).unwrap();
    let call = Call::new(&RawCall {
        tool_use_id: payload.tool_use_id,
        tool: payload.tool_name,
        input: payload.tool_input.get(),
        response: payload.tool_response.or(payload.error).unwrap().get(),
        is_error: payload.error.is_some(),
        cwd: payload.cwd,
        ..RawCall::default()
    });
    let call = Call::from_line(&call.to_line()).unwrap();
    let observation = observe(&call, Some(payload.cwd)).unwrap();
    assert_eq!((observation.kind, observation.title.as_str()), (kind, title));
    assert_eq!(observation.narrative, narrative);
}

#[test]
fn what_the_client_sends_is_told() {
    check(
        include_str!("payloads/PostToolUse.json"),
        Kind::Command,
        "Ran `echo hi; cd /tmp; pwd`",
        "scripted command\n$ echo hi; cd /tmp; pwd\nhi\n/tmp\n\nShell cwd was reset to /home/dev/project",
    );
    check(
        include_str!("payloads/PostToolUse-Agent.json"),
        Kind::Delegation,
        "Delegated: sub 1 (in the background)",
        "Asked: RUN:echo sub",
    );
    check(
        include_str!("payloads/PostToolUseFailure-Bash.json"),
        Kind::Command,
        "Ran `echo out; echo err >&2; exit 3` (exit status 3)",
        "scripted command\n$ echo out; echo err >&2; exit 3\nExit code 3\nout\nerr",
    );
    check(
        include_str!("payloads/PostToolUseFailure-Read.json"),
        Kind::Discovery,
        "Could not read /nonexistent/x",
        "File does not exist. Note: your current working directory is /home/dev/project.",
    );
}
