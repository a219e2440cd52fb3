//! Payloads of agents that run Claude Code's hooks.

use std::path::{Path, PathBuf};

use crate::event::parse;

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
