//! Payloads of agents that run Claude Code's hooks.

use crate::event::parse;

fn is_of_another(text: &str) -> bool {
    parse(text).unwrap().is_of_another_agent()
}

#[test]
fn an_agent_that_reads_claude_codes_settings_is_recognised() {
    for payload in [
        include_str!("payloads/foreign/cursor-PostToolUse.json"),
        include_str!("payloads/foreign/copilot-postToolUse.json"),
        include_str!("payloads/foreign/grok-PostToolUse.json"),
        include_str!("payloads/gemini/AfterTool.json"),
        include_str!("payloads/qwen/PostToolUse.json"),
    ] {
        assert!(is_of_another(payload), "{payload}");
    }
}

#[test]
fn claude_codes_own_payloads_are_not() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/payloads");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    for path in files {
        assert!(!is_of_another(&std::fs::read_to_string(&path).unwrap()), "{}", path.display());
    }
    // Both spellings, as an older version might send them.
    assert!(!is_of_another(r#"{"session_id":"a","sessionId":"a"}"#));
}
