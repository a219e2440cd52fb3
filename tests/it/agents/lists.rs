//! The lists outside of the tables that name every agent: crates that know nothing of the tables have them.

use longhaul_agents::ALL;
use longhaul_core::{Millis, event};
use longhaul_handoff::{RenderInput, TimedText, TurnView, render};
use longhaul_tracker::{Process, client_name};
use serde_json::json;

#[test]
fn the_process_of_every_agent_is_recognised() {
    for agent in ALL {
        assert_eq!(client_name(&Process::new(2, 1, agent.program)), Some(agent.name));
        let mut node = Process::new(2, 1, "node");
        node.arguments = format!("node /usr/lib/node_modules/{}/dist/index.js", agent.package);
        assert_eq!(client_name(&node), Some(agent.name), "{}", node.arguments);
    }
}

#[test]
fn a_session_is_shown_what_the_tools_of_every_agent_are_called() {
    for agent in ALL {
        let session = format!("{}:1", agent.name);
        let said = |at, text| TimedText::new(Millis(at), text);
        let turns = [TurnView::new(&session, said(1, "go on"), said(2, "done"))];
        let mut input = RenderInput::new(&session, &turns, Millis(3));
        input.reader = "2";
        let shown = render(&input).text;
        let line = format!("That session ran in {}, another agent. Its tools are called ", agent.title);
        let line = shown.lines().find(|shown| shown.starts_with(&line)).unwrap_or_else(|| panic!("{line} in {shown}"));
        // A tool that is recorded under another name stands there under both.
        for (theirs, _) in agent.tools.iter().filter(|(_, ours)| *ours == "Bash") {
            assert!(line.contains(theirs), "{theirs}: {line}");
        }
    }
}

#[test]
fn a_payload_with_the_transcript_of_another_agent_is_left_alone() {
    for folder in ["/.gemini/tmp/", "/.qwen/projects/"] {
        let payload = json!({ "session_id": "1", "transcript_path": format!("/home/dev{folder}x.jsonl") }).to_string();
        assert!(event::parse(&payload).unwrap().is_of_another_agent(), "{payload}");
    }
}

#[test]
fn the_help_names_every_agent() {
    let sandbox = crate::sandbox::Sandbox::new();
    let help = sandbox.longhaul(&["install", "--help"]).stdout;
    for agent in ALL {
        assert!(help.contains(agent.name), "{help}");
    }
}
