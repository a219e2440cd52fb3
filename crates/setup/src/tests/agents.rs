use std::path::Path;

use longhaul_agents::find;
use serde_json::{Value, json};

use crate::agents::{
    ConfigRecord, Registered, RegisteredHooks, is_our_hook, registered, restored, with_agent, with_module,
    without_agent, without_agent as without_hooks, without_module,
};
use crate::codex::{is_registered, with_server, without_server};
use crate::settings::{Change, Refusal};

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

fn with_hooks(text: Option<&str>, program: &Path) -> Change {
    with_agent(text, longhaul_agents::find("codex").unwrap(), program)
}

fn added(text: Option<&str>) -> String {
    with_hooks(text, Path::new(PROGRAM)).unwrap().expect("they are not there yet")
}

#[test]
fn every_event_has_one_plain_command() {
    let file: Value = serde_json::from_str(&added(None)).unwrap();
    let stop = &file["hooks"]["Stop"];
    let command = "/home/dev/.local/bin/longhaul hook --codex stop";
    assert_eq!(*stop, json!([{ "hooks": [{ "type": "command", "command": command, "timeout": 5 }] }]));
    assert_eq!(file["hooks"].as_object().unwrap().len(), 7);
}

#[test]
fn once_more_changes_nothing_and_taking_out_leaves_nothing() {
    let once = added(None);
    assert_eq!(with_hooks(Some(&once), Path::new(PROGRAM)), Ok(None));
    assert_eq!(without_hooks(&once), Ok(Some(String::new())));
    assert_eq!(without_hooks("{\"hooks\": {\"Stop\": []}}"), Ok(None));
}

/// A file as somebody formats it by hand, with hooks of others for events that we know and do not know.
const BY_HAND: &str = concat!(
    "{  \"description\":\"mine\" ,\n\n\t\"hooks\" : {\n",
    "      \"Stop\":[ { \"hooks\" : [ {\"type\":\"command\",  \"command\":\"say \\u0064one\"} ] }\n",
    "             , {\"matcher\":\"x\",\"hooks\":[{ \"type\":\"prompt\",\"prompt\":\"longhaul\" }]} ],\n",
    "\t\"Notification\": [ ] , \"PostToolUse\":\n",
    "   [{\"hooks\":[{\"command\":\"a\"},\n        {\"command\":\"b\" , \"timeout\":1.50}]}]  },\n",
    "\"other\" : [1, 2.50,12345678901234567890123, 1e2 ] , \"last\":{\"a\":{}} }\r\n\n"
);

#[test]
fn of_a_file_formatted_by_hand_every_byte_that_is_not_ours_stays() {
    let with = added(Some(BY_HAND));
    assert_eq!(without_hooks(&with), Ok(Some(BY_HAND.to_owned())));
    let mut bytes = with.bytes();
    assert!(BY_HAND.bytes().all(|theirs| bytes.any(|byte| byte == theirs)), "all of it, in its order: {with}");
    // A version that lies elsewhere takes the old one's place, and leaves the rest alone.
    let moved = with_hooks(Some(&with), Path::new("/opt/longhaul")).unwrap().unwrap();
    assert_eq!(moved.replace("/opt/longhaul", PROGRAM), with);
    assert_eq!(without_hooks(&moved), Ok(Some(BY_HAND.to_owned())));
}

#[test]
fn a_hook_in_one_group_with_ours_keeps_its_bytes() {
    let ours = "{\"type\":\"command\",\"command\":\"/old/longhaul hook --codex stop\"}";
    let group = |hooks: &str| format!("{{ \"hooks\":{{\"Stop\" : [ {{ \"hooks\":[ {hooks} ],  \"n\": 1.0 }} ]}} }}");
    let theirs = "{ \"command\" :\"notify\", \"n\":1.50 }";
    assert_eq!(without_hooks(&group(&format!("{theirs} ,{ours}"))), Ok(Some(group(theirs))));
    assert_eq!(without_hooks(&group(&format!("{ours}, {theirs}"))), Ok(Some(group(theirs))));
}

#[test]
fn ours_stand_where_ours_stood() {
    let theirs = json!({ "hooks": { "Stop": [
        { "hooks": [{ "type": "command", "command": "say done" }] },
        { "hooks": [
            { "type": "command", "command": "notify" },
            { "type": "command", "command": "/old/longhaul hook --codex stop" },
        ] },
        { "matcher": "x", "hooks": [{ "type": "prompt", "prompt": "longhaul" }] },
    ] } });
    let file: Value = serde_json::from_str(&added(Some(&theirs.to_string()))).unwrap();
    let stop = file["hooks"]["Stop"].as_array().unwrap().iter();
    let stop: Vec<&str> = stop.map(|group| group["hooks"][0]["command"].as_str().unwrap_or("-")).collect();
    assert_eq!(stop, ["say done", "/home/dev/.local/bin/longhaul hook --codex stop", "notify", "-"]);
}

#[test]
fn a_path_is_one_word_of_a_shell() {
    let text = with_hooks(None, Path::new("/a b/it's/longhaul")).unwrap().unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let command = file["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    assert_eq!(command, r"'/a b/it'\''s/longhaul' hook --codex stop");
    assert!(is_our_hook(command));
}

#[test]
fn what_is_no_hooks_file_is_left_alone() {
    let shape = |name: &str| Refusal::Shape(name.to_owned());
    for (text, why) in [
        ("{\"hooks\": ", Refusal::NotJson),
        ("[]", Refusal::NotSettings),
        ("{\"hooks\": []}", shape("hooks")),
        ("{\"hooks\": {\"Stop\": {}}}", shape("hooks.Stop")),
    ] {
        assert_eq!(with_hooks(Some(text), Path::new(PROGRAM)), Err(why.clone()), "{text}");
        assert_eq!(without_hooks(text), Err(why), "{text}");
    }
}

#[test]
fn only_our_own_commands_are_ours() {
    assert!(is_our_hook("\"${PLUGIN_ROOT}/bin/longhaul-hook\" codex stop"));
    for theirs in
        ["longhaul status", "mylonghaul hook --codex stop", "/x/longhaul-hook-notes codex stop", "longhaul-hook"]
    {
        assert!(!is_our_hook(theirs), "{theirs}");
    }
}

fn added_server(text: Option<&str>) -> String {
    with_server(text, Path::new(PROGRAM)).unwrap().expect("it is not there yet")
}

#[track_caller]
fn goes_and_comes(before: &str) {
    let with = added_server(Some(before));
    assert!(with.starts_with(before) && is_registered(&with), "{with}");
    assert_eq!(with_server(Some(&with), Path::new(PROGRAM)), Ok(None));
    assert_eq!(without_server(&with).as_deref(), Some(before));
}

#[test]
fn every_byte_of_the_user_stays() {
    goes_and_comes("");
    goes_and_comes("# mine\nmodel   =  \"x\"   # odd\n\n[tui]  # c\ntheme=\"a\"\n");
    goes_and_comes("model = \"x\"\n\n\n# the end");
    goes_and_comes("[mcp_servers.other]\ncommand = \"o\"\n");
    assert_eq!(added_server(None), format!("[mcp_servers.longhaul]\ncommand = \"{PROGRAM}\"\nargs = [\"mcp\"]\n"));
}

/// As `codex mcp add` writes it: above a comment at the end.
#[test]
fn what_codex_itself_has_added_goes_as_well() {
    let before = "[tui]  # c\ntheme=\"a\"\n\n# end comment";
    let table = "[mcp_servers.longhaul]\ncommand = \"/home/a b/longhaul\"\nargs = [\"mcp\"]\n";
    let with = before.replace("\n# end", &format!("\n{table}\n# end"));
    assert_eq!(without_server(&with).as_deref(), Some(before));
    let tools = format!("{table}\n[mcp_servers.longhaul.tools.search]\napproval_mode = \"approve\"\n\n[z]\na = 1\n");
    assert_eq!(without_server(&tools).as_deref(), Some("\n[z]\na = 1\n"));
}

#[test]
fn an_old_path_is_renewed_and_another_server_of_the_name_is_left_alone() {
    let old = added_server(None).replace(PROGRAM, "/old/longhaul") + "startup_timeout_sec = 20\n\n[z]\n";
    let renewed = with_server(Some(&old), Path::new(PROGRAM)).unwrap().unwrap();
    assert_eq!(renewed, old.replace("/old/longhaul", PROGRAM));
    let theirs = "[mcp_servers.longhaul]\ncommand = \"npx\"\n";
    assert_eq!(with_server(Some(theirs), Path::new(PROGRAM)), Ok(None));
    assert_eq!(without_server(theirs), None);
    assert_eq!(without_server("model = 1\n"), None);
}

#[test]
fn an_inline_table_is_refused_and_a_server_in_another_form_is_left_alone() {
    let inline = "mcp_servers = { a = { command = \"x\" } }\n";
    let refused = Err(Refusal::Shape("mcp_servers".to_owned()));
    assert_eq!(with_server(Some(inline), Path::new(PROGRAM)), refused);
    for text in [
        "mcp_servers = { longhaul = { command = \"x\" } }\n",
        "mcp_servers.longhaul.command = \"x\"\n",
        "[mcp_servers]\nlonghaul = { command = \"x\" }\n",
    ] {
        assert_eq!(with_server(Some(text), Path::new(PROGRAM)), Ok(None), "{text}");
        assert!(is_registered(text));
    }
    assert!(with_server(Some("[other]\nlonghaul = 1\nmcp_servers = 2\n"), Path::new(PROGRAM)).is_ok());
}
