//! Private means never written: not a byte, in no file, at no time.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::Session;
use crate::sandbox::Sandbox;

/// Returns the files below `dir` that hold `needle`, as it is or as a database's full-text index would fold it.
fn holders(dir: &Path, needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holders(&path, needle));
        } else if let Ok(bytes) = fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes).to_lowercase();
            if text.contains(&needle.to_lowercase()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// Fails where `needle` is anywhere below the sandbox's data.
#[track_caller]
fn assert_nowhere(sandbox: &Sandbox, needle: &str, when: &str) {
    assert_eq!(holders(&sandbox.data_dir(), needle), [""; 0], "{needle} {when}");
}

#[test]
fn a_wholly_private_prompt_and_its_turn_leave_nothing() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    session.prompt("a public turn first");
    session.bash("t0", "echo publicword", "publicword");
    session.stop("Fine.");
    let check = |when: &str| {
        for secret in ["zanzibar", "kalamazoo", "timbuktu", "ouagadougou"] {
            assert_nowhere(&sandbox, secret, when);
        }
    };
    session.prompt("<private>where is zanzibar</private>  ");
    check("after the prompt");
    session.bash("t1", "grep kalamazoo map", "kalamazoo: here");
    session.fire("PostToolUseFailure-Bash", json!({ "tool_use_id": "t2", "error": "kalamazoo" }));
    check("after a tool");
    // A word in the middle of the turn does not make the turn public.
    session.fire("UserPromptSubmit", json!({ "prompt": "go on" }));
    session.bash("t3", "grep timbuktu map", "timbuktu");
    session.stop("It is in ouagadougou.");
    check("after the turn");
    session.prompt("and now in public: bratislava");
    session.bash("t4", "grep bratislava map", "bratislava");
    session.stop("There.");
    session.fire("SessionEnd-prompt_input_exit", json!({}));
    Session::new(&sandbox, "next").start("startup");
    check("at the end");
    assert_ne!(holders(&sandbox.data_dir(), "bratislava"), [""; 0], "what is public is kept");
    assert_ne!(holders(&sandbox.data_dir(), "publicword"), [""; 0]);
}

#[test]
fn private_passages_leave_nothing_wherever_they_stand() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    session.prompt("fix <private lang=\"x\">the zanzibar <private>inner</private> thing</private> please");
    session.tool(
        "Bash",
        "t1",
        json!({ "command": "echo <private>kalamazoo</private> done" }),
        json!({ "stdout": "a <private>timbuktu", "stderr": "ouagadougou</private> b" }),
    );
    // Written in JSON's own words, split over strings.
    let raw = r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Write","tool_use_id":"t2","cwd":"/x",
        "tool_input":{"file_path":"/x/y","content":"<priv\u0061te>reykjavik\u003c/private>"},
        "tool_response":{"structuredPatch":[{"lines":["+\u003cPRIVATE\u003e","+antananarivo","+</private>","+yes"]}]}}"#;
    sandbox.hook("longhaul-post-tool-use", raw);
    session.stop("I said <private>it is in montevideo</private> and <system-reminder>paramaribo</system-reminder> ok.");
    let all = [
        "zanzibar",
        "inner",
        "kalamazoo",
        "timbuktu",
        "ouagadougou",
        "reykjavik",
        "antananarivo",
        "montevideo",
        "paramaribo",
    ];
    for secret in all {
        assert_nowhere(&sandbox, secret, "while it lives");
    }
    session.fire("SessionEnd-prompt_input_exit", json!({}));
    Session::new(&sandbox, "next").start("startup");
    for secret in all {
        assert_nowhere(&sandbox, secret, "at the end");
    }
}

#[test]
fn keys_of_well_known_shapes_are_never_written() {
    let keys = [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "xoxb-123456789012-123456789012-abcdefghijklmnopqrstuvwx",
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789-abcdefghijklmnopqrstuvwxyz",
        "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    ];
    let block =
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n-----END OPENSSH PRIVATE KEY-----";
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    for (number, key) in keys.iter().copied().chain([block]).enumerate() {
        session.prompt(&format!("{key} is what I use, number {number}"));
        session.tool(
            "Bash",
            &format!("t{number}"),
            json!({ "command": format!("use {key}") }),
            json!({ "stdout": key }),
        );
        session.fire("PostToolUseFailure-Bash", json!({ "tool_use_id": format!("f{number}"), "error": key }));
        session.stop(&format!("I used {key}."));
        for part in [key.lines().nth(1).unwrap_or(key)] {
            assert_nowhere(&sandbox, part, "while it lives");
        }
    }
    Session::new(&sandbox, "next").start("startup");
    assert_nowhere(&sandbox, "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU", "at the end");
    assert!(
        super::rows(&sandbox, "SELECT prompt FROM user_prompts").iter().all(|prompt| prompt.contains("[redacted]"))
    );
}
