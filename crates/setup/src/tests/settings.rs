use std::path::Path;

use longhaul_core::Config;
use longhaul_core::catalog::REGISTRATIONS;
use longhaul_core::config::NotifyWay;
use longhaul_inject::{BindingState, Keybindings, SUBMIT, SUBMIT_CHORDS};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::keybindings::{with_chords, without_chords};
use crate::settings::{
    Refusal, executables_in, with_hooks, with_notifications, with_status_line, without_empty, without_hooks,
    without_notifications, without_status_line,
};
use crate::tmux::{is_set_up, line, with_line, without_line};

const PROGRAM: &str = "~/.local/bin/longhaul";

fn bin() -> &'static Path {
    Path::new("/opt/x/bin")
}

/// Adds our hooks, checks that all are there once and that a second time changes nothing, and takes them back.
#[track_caller]
fn there_and_back(text: &str) -> String {
    let with = with_hooks(Some(text), bin()).unwrap().expect("they are not there yet");
    let found = executables_in(&serde_json::from_str(&with).unwrap());
    assert_eq!(found.len(), REGISTRATIONS.len(), "{with}");
    assert_eq!(with_hooks(Some(&with), bin()), Ok(None), "twice");
    let without = without_hooks(&with).unwrap().expect("they are there");
    assert_eq!(without, text);
    with
}

#[test]
fn hooks_are_added_beside_those_of_others_and_taken_back_to_the_byte() {
    there_and_back("{}\n");
    there_and_back("{\"model\":\"opus\",\"n\":1.50}");
    there_and_back("\n {\n   \"model\":\"opus\" }");
    there_and_back("{\n  \"z\": 1e2,\n  \"a\": \"\\u00e9\"\n}\n");
    there_and_back("{ \"hooks\" : { \"Stop\":[ {\"hooks\":[{\"command\":\"x\"}]} , {\"a\":1} ] } ,\n\n \"b\":[ ] }\n");
    let others = concat!(
        "{\n    \"z\": [1,2],\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\":[{\"type\":\"command\",",
        "\"command\":\"theirs\"}]}\n        ],\n        \"Weird\": []\n    },\n    \"a\": 12345678901234567890123\n}"
    );
    let with = there_and_back(others);
    assert!(with.contains("12345678901234567890123") && with.contains("\"z\": [1,2]"), "{with}");
    assert!(with.find("theirs") < with.find("longhaul-hook\""), "{with}");
}

#[test]
fn a_new_version_replaces_the_old_ones_hooks_in_their_place() {
    let old = with_hooks(None, Path::new("/old/bin")).unwrap().unwrap();
    let mut settings: Value = serde_json::from_str(&old).unwrap();
    settings["hooks"]["Stop"].as_array_mut().unwrap().push(json!({ "hooks": [{ "command": "later" }] }));
    settings["hooks"]["Gone"] = json!([{ "hooks": [{ "command": "/old/bin/longhaul-hook" }, { "command": "x" }] }]);
    let new = with_hooks(Some(&settings.to_string()), bin()).unwrap().unwrap();
    let new: Value = serde_json::from_str(&new).unwrap();
    assert_eq!(executables_in(&new).len(), REGISTRATIONS.len());
    assert_eq!(new["hooks"]["Stop"][0]["hooks"][0]["command"], "/opt/x/bin/longhaul-hook");
    assert_eq!(new["hooks"]["Stop"][1]["hooks"][0]["command"], "later");
    assert_eq!(new["hooks"]["Gone"], json!([{ "hooks": [{ "command": "x" }] }]));
    assert!(!new.to_string().contains("/old/bin"));
}

#[test]
fn what_cannot_be_kept_as_it_is_is_refused() {
    let shape = |name: &str| Refusal::Shape(name.to_owned());
    for (text, why) in [
        ("{ // mine\n}", Refusal::NotJson),
        ("nonsense", Refusal::NotJson),
        ("{\"a\": 1", Refusal::NotJson),
        ("[]", Refusal::NotSettings),
        ("null", Refusal::NotSettings),
        ("{\"hooks\": []}", shape("hooks")),
        ("{\"hooks\": null}", shape("hooks")),
        ("{\"hooks\": {\"Stop\": {}}}", shape("hooks.Stop")),
        ("{\"hooks\": {}, \"hooks\": {}}", Refusal::Twice("hooks".to_owned())),
    ] {
        assert_eq!(with_hooks(Some(text), bin()), Err(why), "{text}");
    }
    assert_eq!(with_status_line(Some("{\"statusLine\": \"x\"}"), PROGRAM), Err(shape("statusLine")));
}

#[test]
fn a_group_that_somebody_has_put_a_hook_of_theirs_into_keeps_it() {
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"command":"/a/longhaul-hook"},{"command":"theirs"}]}]}}"#;
    let without = without_hooks(text).unwrap().unwrap();
    assert_eq!(without, r#"{"hooks":{"Stop":[{"hooks":[{"command":"theirs"}]}]}}"#);
    assert_eq!(without_hooks(&without), Ok(None));
}

#[track_caller]
fn line_there_and_back(text: &str) -> Value {
    let with = with_status_line(Some(text), PROGRAM).unwrap().expect("it is not there yet");
    assert_eq!(with_status_line(Some(&with), PROGRAM), Ok(None), "twice");
    assert_eq!(without_status_line(&with).unwrap().as_deref(), Some(text));
    serde_json::from_str(&with).unwrap()
}

#[test]
fn the_status_line_is_put_around_the_users_own_and_taken_away_again() {
    assert_eq!(line_there_and_back("{}\n")["statusLine"]["command"], "~/.local/bin/longhaul statusline");
    let own = "{\n  \"statusLine\": {\n    \"type\": \"command\",\n    \"command\": \"echo 'a b' | cat\",\n    \"padding\": 0\n  }\n}\n";
    let with = line_there_and_back(own);
    let around = r"~/.local/bin/longhaul statusline -- sh -c 'echo '\''a b'\'' | cat'";
    assert_eq!(with["statusLine"]["command"], around);
    assert_eq!(with["statusLine"]["padding"], 0);
    let with_cost = r#"{"statusLine":{"command":"~/.local/bin/longhaul statusline --cost"}}"#;
    assert_eq!(with_status_line(Some(with_cost), PROGRAM), Ok(None), "an option that the user has added stays");
    line_there_and_back("{\n  \"statusLine\": { \"command\":\"command\", \"type\": \"command\" }\n}\n");
    assert_eq!(without_status_line("{\"statusLine\":{\"command\":\"mine\"}}"), Ok(None));
}

#[test]
fn what_the_client_leaves_behind_empty_goes_only_where_it_was_not_there_before() {
    let names = ["enabledPlugins".to_owned()];
    let left = "{\n  \"enabledPlugins\": {},\n  \"extraKnownMarketplaces\": {}\n}\n";
    let rest = "{\n  \"extraKnownMarketplaces\": {}\n}\n";
    assert_eq!(without_empty(left, &names).unwrap().as_deref(), Some(rest));
    assert_eq!(without_empty("{\"enabledPlugins\":{}}", &names).unwrap().as_deref(), Some(""));
    assert_eq!(without_empty("{\"enabledPlugins\":{\"x\":true}}", &names), Ok(None));
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~é\n]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-z]{1,4}", inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_settings_come_through_with_every_value_and_in_their_order(
        members in proptest::collection::vec(("[a-g]{1,3}", json_value()), 0..5), pretty in any::<bool>(),
    ) {
        let settings: Value = members.into_iter().collect();
        let text = if pretty { serde_json::to_string_pretty(&settings) } else { serde_json::to_string(&settings) }.unwrap();
        let with = with_hooks(Some(&text), bin()).unwrap().unwrap();
        let with = with_status_line(Some(&with), PROGRAM).unwrap().unwrap();
        let without = without_status_line(&with).unwrap().unwrap();
        let without = without_hooks(&without).unwrap().unwrap();
        prop_assert_eq!(without, text);
    }
}

/// Adds our chords, checks that a second time changes nothing, and takes them back, with and without the copy from before.
#[track_caller]
fn keys_there_and_back(text: &str) -> String {
    let with = with_chords(Some(text)).unwrap().expect("they are not there yet");
    assert!(matches!(Keybindings::parse(&with).unwrap().bound(SUBMIT, &SUBMIT_CHORDS), BindingState::To(_)), "{with}");
    assert_eq!(with_chords(Some(&with)), Ok(None), "twice");
    assert_eq!(without_chords(&with, Some(text), None), Ok(Some(text.to_owned())));
    with
}

#[test]
fn every_shape_comes_back_to_the_byte() {
    let others = r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+e":"chat:externalEditor"}}]}"#;
    let pretty = concat!(
        "{\n\t\"$schema\": \"https://www.schemastore.org/claude-code-keybindings.json\",\n\t\"bindings\": [\n\t\t{ \"context\":",
        " \"Global\",\n\t\t  \"bindings\": { \"ctrl+t\": null } }\n\t]\n}\n"
    );
    for text in ["{}", "{}\n", r#"{"bindings":[]}"#, "{ \"bindings\": [ ] }\n\n", others, pretty] {
        keys_there_and_back(text);
    }
    for text in [others, pretty] {
        let with = keys_there_and_back(text);
        assert_eq!(without_chords(&with, None, None), Ok(Some(text.to_owned())), "without the copy");
    }
}

#[test]
fn a_file_of_ours_alone_is_removed() {
    let with = with_chords(None).unwrap().unwrap();
    assert_eq!(
        with,
        concat!(
            "{\n  \"bindings\": [\n    {\n      \"context\": \"Chat\",\n      \"bindings\": {\n",
            "        \"ctrl+x ctrl+q\": \"chat:submit\",\n        \"ctrl+x ctrl+x\": \"chat:stash\"\n      }\n    }\n  ]\n}\n"
        )
    );
    assert_eq!(without_chords(&with, None, None), Ok(Some(String::new())));
}

#[test]
fn what_the_user_adds_meanwhile_stays() {
    let with = with_chords(Some("{}")).unwrap().unwrap();
    let more = with.replace("\"chat:submit\"", "\"chat:submit\", \"ctrl+e\": \"chat:undo\"");
    let left = without_chords(&more, Some("{}"), None).unwrap().unwrap();
    assert!(left.contains("ctrl+e") && !left.contains("chat:submit") && !left.contains("chat:stash"), "{left}");
}

#[test]
fn another_chord_is_bound_where_ours_is_taken() {
    let taken = r#"{"bindings":[{"context":"Global","bindings":{"ctrl+x ctrl+q":"app:toggleTodos"}}]}"#;
    assert!(keys_there_and_back(taken).contains(r#""ctrl+q ctrl+x":"chat:submit""#));
    let all = r#"{"bindings":[{"context":"Global","bindings":{"ctrl+q":"app:toggleTodos"}}]}"#;
    assert_eq!(with_chords(Some(all)), Ok(None));
    let shadowed = r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+x ctrl+q":"chat:submit"}},{"context":"Chat","bindings":{"ctrl+x ctrl+q":null}}]}"#;
    assert!(with_chords(Some(shadowed)).unwrap().unwrap().contains(r#""ctrl+q ctrl+x":"chat:submit""#));
}

#[test]
fn a_line_like_ours_that_was_there_before_stays() {
    let theirs = r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+x ctrl+q":"chat:submit"}}]}"#;
    let with = with_chords(Some(theirs)).unwrap().unwrap();
    assert!(with.contains("chat:stash"), "{with}");
    let edited = with.replacen('{', "{\"a\":1,", 1);
    assert_eq!(without_chords(&edited, Some(theirs), None), Ok(Some(theirs.replacen('{', "{\"a\":1,", 1))));
}

#[test]
fn what_the_client_cannot_read_is_refused_and_left() {
    for text in ["", "  \n", "// mine\n{}", "{\"bindings\": [],}"] {
        assert_eq!(with_chords(Some(text)), Err(Refusal::NotJson), "{text:?}");
        assert_eq!(without_chords(text, None, None), Ok(None), "{text:?}");
    }
    assert_eq!(with_chords(Some("[]")), Err(Refusal::NotSettings));
    assert_eq!(without_chords("[]", None, None), Ok(None));
    for text in [r#"{"bindings":{}}"#, r#"{"bindings":[{"context":"Chat"}]}"#] {
        assert!(matches!(with_chords(Some(text)), Err(Refusal::Shape(_))), "{text:?}");
        assert_eq!(without_chords(text, None, None), Ok(None), "{text:?}");
    }
}

#[test]
fn only_what_was_added_is_removed_where_that_is_recorded() {
    let added = |chords: &[&str]| chords.iter().map(|chord| (*chord).to_owned()).collect::<Vec<_>>();
    let ours = with_chords(None).unwrap().unwrap();
    assert_eq!(without_chords(&ours, None, Some(&[])), Ok(None), "all of it was there before");
    let left = without_chords(&ours, None, Some(&added(&["ctrl+x ctrl+x"]))).unwrap().unwrap();
    assert!(left.contains("chat:submit") && !left.contains("chat:stash"), "{left}");
    // A copy that a later installation has made of a file of ours is not what was before.
    let all = added(&["ctrl+x ctrl+q", "ctrl+x ctrl+x", "ctrl+q ctrl+x"]);
    let shadowed =
        ours.replace("[\n", "[\n    { \"context\": \"Global\", \"bindings\": { \"ctrl+x ctrl+q\": \"app:x\" } },\n");
    let twice = with_chords(Some(&shadowed)).unwrap().unwrap();
    assert!(twice.contains("ctrl+q ctrl+x"), "{twice}");
    let left = without_chords(&twice, Some(&shadowed), Some(&all)).unwrap().unwrap();
    assert!(left.contains("app:x") && !left.contains("chat:"), "{left}");
}

#[test]
fn notifications_are_added_to_the_configuration_and_removed_to_the_byte() {
    for text in ["{}\n", "{\n  \"tracker\": {\"enabled\": true}\n}\n", "{\"guard\":{}}"] {
        let with = with_notifications(Some(text), NotifyWay::Desktop).unwrap().unwrap();
        let (config, warnings) = Config::from_json(&with);
        assert_eq!(warnings, [], "{with}");
        assert_eq!(config.notify.blocked.0, [NotifyWay::Desktop]);
        assert_eq!(config.notify.completed.0, [NotifyWay::Desktop]);
        assert_eq!(with_notifications(Some(&with), NotifyWay::Terminal).unwrap(), None, "{with}");
        let without = without_notifications(&with).unwrap().unwrap();
        assert_eq!(without, if text == "{}\n" { "" } else { text });
    }
}

#[test]
fn a_file_is_created_and_removed_with_it() {
    let with = with_notifications(None, NotifyWay::Terminal).unwrap().unwrap();
    assert_eq!(without_notifications(&with).unwrap().as_deref(), Some(""));
}

#[test]
fn a_section_of_the_users_own_stays() {
    let own = r#"{"notify": {"blocked": ["ntfy"]}}"#;
    assert_eq!(with_notifications(Some(own), NotifyWay::Desktop), Ok(None));
    assert_eq!(without_notifications(own), Ok(None));
    assert_eq!(with_notifications(Some("{ // mine"), NotifyWay::Desktop), Err(Refusal::NotJson));
    assert_eq!(with_notifications(Some("[]"), NotifyWay::Desktop), Err(Refusal::NotSettings));
}

#[track_caller]
fn conf_there_and_back(text: &str) {
    let with = with_line(Some(text)).expect("it is not set up yet");
    assert_eq!(with.lines().last(), Some(line().as_str()));
    assert_eq!(with_line(Some(&with)), None, "twice");
    let without = without_line(&with).expect("the line is there");
    assert_eq!(without.trim_end_matches('\n'), text.trim_end_matches('\n'));
}

#[test]
fn the_line_is_added_once_and_taken_back() {
    conf_there_and_back("");
    conf_there_and_back("set -g mouse on\n");
    conf_there_and_back("set -g mouse on\nset -g prefix C-a");
    conf_there_and_back("# run-shell 'longhaul tmux setup'\n");
}

#[test]
fn what_somebody_has_written_by_hand_is_enough_and_stays() {
    for text in [
        "run-shell 'longhaul tmux setup'\n",
        "set -g @plugin 'somebody/longhaul'\n",
        "run-shell ~/src/longhaul/longhaul.tmux\n",
    ] {
        assert!(is_set_up(text), "{text}");
        assert_eq!(with_line(Some(text)), None);
        assert_eq!(without_line(text), None);
    }
    assert!(!is_set_up("set -g @plugin 'somebody/longhaul-theme'\n"));
}
