use std::path::Path;

use serde_json::{Value, json};

use crate::agents::{is_ours, with_agent, without_agent as without_hooks};
use crate::settings::{Change, Refusal};

const PROGRAM: &str = "/home/dev/.local/bin/longhaul";

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
    assert!(is_ours(command));
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
    assert!(is_ours("\"${PLUGIN_ROOT}/bin/longhaul-codex\" stop"));
    for theirs in ["longhaul status", "mylonghaul hook --codex stop", "/x/longhaul-codex-notes stop", "longhaul-codex"]
    {
        assert!(!is_ours(theirs), "{theirs}");
    }
}
