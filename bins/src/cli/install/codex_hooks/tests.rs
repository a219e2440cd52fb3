use serde_json::{Value, json};

use super::{Refusal, is_ours, with_hooks, without_hooks};

const PROGRAM: &str = "/home/dev/.local/bin/longhaul";

fn added(text: Option<&str>) -> String {
    with_hooks(text, PROGRAM).unwrap().unwrap()
}

#[test]
fn every_event_has_one_plain_command() {
    let file: Value = serde_json::from_str(&added(None)).unwrap();
    let stop = &file["hooks"]["Stop"];
    let command = "/home/dev/.local/bin/longhaul hook --codex stop";
    assert_eq!(*stop, json!([{ "hooks": [{ "type": "command", "command": command, "timeout": 5 }] }]));
    assert_eq!(file["hooks"].as_object().unwrap().len(), 6);
}

#[test]
fn once_more_changes_nothing_and_taking_out_leaves_nothing() {
    let once = added(None);
    assert_eq!(with_hooks(Some(&once), PROGRAM), Ok(None));
    assert_eq!(without_hooks(Some(&once)), Ok(Some(String::new())));
    assert_eq!(without_hooks(None), Ok(None));
    assert_eq!(without_hooks(Some("{\"hooks\": {\"Stop\": []}}")), Ok(None));
}

#[test]
fn other_peoples_hooks_stay_where_they_are() {
    let theirs = json!({
        "description": "mine",
        "hooks": {
            "Notification": [],
            "Stop": [
                { "hooks": [{ "type": "command", "command": "say done" }] },
                { "hooks": [
                    { "type": "command", "command": "notify" },
                    { "type": "command", "command": "/old/longhaul hook --codex stop" },
                ] },
                { "matcher": "x", "hooks": [{ "type": "prompt", "prompt": "longhaul" }] },
            ],
        },
        "other": [1, 2.50],
    });
    let text = serde_json::to_string_pretty(&theirs).unwrap();
    let with = added(Some(&text));
    let file: Value = serde_json::from_str(&with).unwrap();
    let stop: Vec<&str> = file["hooks"]["Stop"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["hooks"][0]["command"].as_str().unwrap_or("-"))
        .collect();
    assert_eq!(stop, ["say done", "/home/dev/.local/bin/longhaul hook --codex stop", "notify", "-"]);
    assert!(with.find("description") < with.find("hooks") && with.find("hooks") < with.find("other"));
    let without: Value = serde_json::from_str(&without_hooks(Some(&with)).unwrap().unwrap()).unwrap();
    assert_eq!(without["hooks"]["Stop"].as_array().unwrap().len(), 3);
    assert_eq!(without["other"], theirs["other"]);
    assert_eq!(without["hooks"]["Notification"], json!([]));
}

#[test]
fn a_path_is_one_word_of_a_shell() {
    let file: Value = serde_json::from_str(&with_hooks(None, "/a b/it's/longhaul").unwrap().unwrap()).unwrap();
    let command = file["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    assert_eq!(command, r"'/a b/it'\''s/longhaul' hook --codex stop");
    assert!(is_ours(command));
}

#[test]
fn what_is_no_hooks_file_is_left_alone() {
    assert!(matches!(with_hooks(Some("{\"hooks\": "), PROGRAM), Err(Refusal::NotJson(_))));
    for text in ["[]", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}"] {
        assert!(matches!(with_hooks(Some(text), PROGRAM), Err(Refusal::Shape(..))), "{text}");
        assert!(without_hooks(Some(text)).is_err(), "{text}");
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
