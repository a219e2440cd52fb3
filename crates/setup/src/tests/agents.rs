use std::path::Path;

use longhaul_agents::find;
use serde_json::Value;

use crate::agents::{
    ConfigRecord, Registered, RegisteredHooks, registered, restored, with_agent, with_module, without_agent,
    without_module,
};
use crate::settings::Refusal;

const PROGRAM: &str = "/home/dev/.local/bin/longhaul";

fn with(agent: &str, text: Option<&str>) -> String {
    with_agent(text, find(agent).unwrap(), Path::new(PROGRAM)).unwrap().unwrap()
}

#[track_caller]
fn hooks_in(agent: &str, text: &str) -> RegisteredHooks {
    match registered(find(agent).unwrap(), text) {
        Registered::Hooks(hooks) => hooks,
        other => panic!("{other:?} in {text}"),
    }
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
    assert_eq!(hooks_in("gemini", &text).events, events);
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
    let record = ConfigRecord::needed(None, Some(before), after.clone());
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

/// Settings as a user comments them after the installation.
fn commented() -> String {
    let text = with("gemini", Some("{\n  \"theme\": \"dark\"\n}\n"));
    let text = text.replacen("{\n", "// mine, \"quoted\"\n{\n  /* a { */\n", 1);
    text.replacen("\"dark\",", "\"dark\", // not light", 1)
}

#[test]
fn the_hooks_are_removed_from_settings_with_comments() {
    let left = without_agent(&commented()).unwrap();
    let expected = "// mine, \"quoted\"\n{\n  /* a { */\n  \"theme\": \"dark\"\n}\n// not light\n";
    assert_eq!(left.as_deref(), Some(expected), "a comment beside the hooks is kept at the end");
    let only_ours = format!("// mine\n{}", with("gemini", None));
    assert_eq!(without_agent(&only_ours).unwrap().as_deref(), Some("// mine\n{}\n"));
    assert_eq!(without_agent("{ \"theme\": 1 } // none").unwrap(), None);
    assert_eq!(without_agent("{ /* longhaul"), Err(Refusal::NotJson));
}

#[test]
fn what_is_registered_is_read_with_comments_too() {
    let hooks = hooks_in("gemini", &commented());
    assert!(hooks.has_server && !hooks.all_disabled && !hooks.is_disabled, "{hooks:?}");
    assert_eq!(hooks.programs, [PROGRAM.into()].into());
    let gemini = find("gemini").unwrap();
    let broken = commented().replace('}', "");
    assert_eq!(registered(gemini, &broken), Registered::Unreadable);
    assert_eq!(registered(gemini, "{ broken"), Registered::Nothing);
    assert_eq!(registered(gemini, "{}"), Registered::Nothing);
}

#[test]
fn hooks_that_are_disabled_by_name_are_recognised() {
    let text =
        with("gemini", Some("{\"hooksConfig\":{\"disabled\":[\"longhaul\"]},\"mcp\":{\"excluded\":[\"longhaul\"]}}"));
    let hooks = hooks_in("gemini", &text);
    assert!(hooks.is_disabled && !hooks.all_disabled && !hooks.has_server, "{hooks:?}");
    let text = with("gemini", Some("{\"hooksConfig\":{\"enabled\":false}}"));
    assert!(hooks_in("gemini", &text).all_disabled);
}

#[test]
fn the_program_of_a_quoted_path_and_of_the_module_is_known() {
    let path = "/home/o'x y/longhaul";
    let text = with_agent(None, find("qwen").unwrap(), Path::new(path)).unwrap().unwrap();
    assert_eq!(hooks_in("qwen", &text).programs, [path.into()].into());
    let module = with_module(None, Path::new(path)).unwrap().unwrap();
    assert_eq!(hooks_in("opencode", &module).programs, [path.into()].into());
}

#[test]
fn a_file_that_was_empty_is_not_one_that_was_missing() {
    let after = with("gemini", Some(""));
    assert!(ConfigRecord::needed(None, Some(""), after.clone()).is_some());
    assert!(ConfigRecord::needed(None, None, after).is_none());
}
