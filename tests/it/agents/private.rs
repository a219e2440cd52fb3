//! Private prompts of other agents.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::Agent;

#[track_caller]
fn check_stored_nowhere(agent: &Agent, text: &str) {
    for entry in walk(&agent.sandbox.data_dir()) {
        let bytes = fs::read(&entry).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(text), "{}", entry.display());
    }
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_private_prompt_of_gemini_is_stored_nowhere() {
    let gemini = Agent::new("gemini");
    gemini.send("SessionStart", json!({}));
    gemini.send("BeforeAgent", json!({ "prompt": "<private>quittenmus</private>" }));
    gemini.send("AfterTool", json!({ "tool_input": { "command": "echo quittenmus" } }));
    gemini.send("AfterAgent", json!({ "prompt_response": "quittenmus it is" }));
    gemini.send("SessionEnd-exit", json!({}));
    check_stored_nowhere(&gemini, "quittenmus");
}

#[test]
fn the_reply_to_a_private_prompt_whose_hook_was_killed_is_stored_nowhere() {
    let gemini = Agent::new("gemini");
    gemini.send("SessionStart", json!({}));
    gemini.send("BeforeAgent", json!({ "prompt": "where are the beans kept?" }));
    gemini.send("AfterAgent", json!({ "prompt": "where are the beans kept?", "prompt_response": "In the blue jar." }));
    // No BeforeAgent: only the end of the turn shows what was asked.
    let prompt = "<private>quittenmus</private>";
    gemini.send("AfterAgent", json!({ "prompt": prompt, "prompt_response": "quittenmus it is" }));
    gemini.send("SessionEnd-exit", json!({}));
    check_stored_nowhere(&gemini, "quittenmus");
    gemini.finds("blue jar", "where are the beans kept?");
}
