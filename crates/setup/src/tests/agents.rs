use std::path::Path;

use longhaul_agents::find;
use serde_json::Value;

use crate::agents::{registered_events, restored, with_agent, with_module, without_agent, without_module};
use crate::settings::Refusal;

const PROGRAM: &str = "/home/dev/.local/bin/longhaul";

fn with(agent: &str, text: Option<&str>) -> String {
    with_agent(text, find(agent).unwrap(), Path::new(PROGRAM)).unwrap().unwrap()
}

#[test]
fn the_hooks_and_the_server_are_added() {
    let text = with("gemini", Some("{\n  \"theme\": \"dark\"\n}\n"));
    let settings: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(settings["theme"], "dark");
    let hook = &settings["hooks"]["AfterTool"][0]["hooks"][0];
    assert_eq!(hook["command"], format!("{PROGRAM} hook --agent gemini AfterTool"));
    assert_eq!((&hook["name"], &hook["timeout"]), (&"longhaul".into(), &3000.into()));
    assert_eq!(settings["mcpServers"]["longhaul"]["args"], serde_json::json!(["mcp"]));
    let events: Vec<&str> = find("gemini").unwrap().events.iter().map(|rule| rule.theirs).collect();
    assert_eq!(registered_events(&text), events);
    let again = with_agent(Some(&text), find("gemini").unwrap(), Path::new(PROGRAM)).unwrap();
    assert_eq!(again, None, "a second installation changes nothing");
}

#[test]
fn removing_them_restores_every_byte() {
    for before in [
        "{\n  \"theme\": \"dark\"\n}\n",
        "{\"theme\":\"dark\"}",
        "{\r\n\t\"a\": [1,2],\r\n\t\"mcpServers\": { \"own\": {\"command\": \"x\"} }\r\n}",
        "{\n    \"hooks\": {\n        \"AfterTool\": [{\"hooks\": [{\"type\":\"command\",\"command\":\"mine\"}]}]\n    }\n}\n",
    ] {
        for agent in ["gemini", "qwen"] {
            let after = with(agent, Some(before));
            assert_eq!(without_agent(&after).unwrap().as_deref(), Some(before), "{agent}: {before:?}");
        }
    }
    assert_eq!(
        without_agent(&with("qwen", None)).unwrap().as_deref(),
        Some(""),
        "a file that was not there is removed"
    );
}

#[test]
fn a_record_restores_what_editing_cannot() {
    let before = "{\n  \"hooks\": {},\n  \"theme\": \"dark\"\n}\n";
    let after = with("gemini", Some(before));
    let record = crate::agents::ConfigRecord::needed(None, Some(before), after.clone());
    assert!(record.is_some(), "editing leaves no empty member behind");
    assert_eq!(restored(&after, record.as_ref()).unwrap().as_deref(), Some(before));
    // The user has changed the file since: only the hooks are removed.
    let changed = after.replace("dark", "light");
    let left = restored(&changed, record.as_ref()).unwrap().unwrap();
    assert!(left.contains("light") && !left.contains("longhaul"), "{left}");
}

#[test]
fn a_server_of_that_name_that_is_not_longhauls_stays() {
    let before = "{\"mcpServers\":{\"longhaul\":{\"command\":\"my-own\",\"args\":[]}}}";
    let after = with("gemini", Some(before));
    assert!(after.contains("my-own"));
    assert_eq!(without_agent(&after).unwrap().as_deref(), Some(before));
}

#[test]
fn a_path_with_a_space_is_quoted() {
    let text = with_agent(None, find("qwen").unwrap(), Path::new("/home/a b/longhaul")).unwrap().unwrap();
    assert!(text.contains("'/home/a b/longhaul' hook --agent qwen Stop"), "{text}");
    assert_eq!(without_agent(&text).unwrap().as_deref(), Some(""));
}

#[test]
fn the_module_starts_the_program() {
    let module = with_module(None, Path::new("/home/o'x/longhaul")).unwrap().unwrap();
    assert!(module.contains("const LONGHAUL = \"/home/o'x/longhaul\""), "{module}");
    assert_eq!(with_module(Some(&module), Path::new("/home/o'x/longhaul")).unwrap(), None);
    assert_eq!(without_module(&module).as_deref(), Some(""));
    assert_eq!(with_module(Some("export const Mine = 1"), Path::new(PROGRAM)), Err(Refusal::NotFromLonghaul));
    assert_eq!(without_module("export const Mine = 1"), None);
}
