use std::path::Path;

use longhaul_core::catalog::REGISTRATIONS;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::settings::{
    Refusal, executables_in, with_hooks, with_status_line, without_empty, without_hooks, without_status_line,
};

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
    assert!(with.find("theirs") < with.find("longhaul-stop\""), "{with}");
}

#[test]
fn a_new_version_replaces_the_old_ones_hooks_in_their_place() {
    let old = with_hooks(None, Path::new("/old/bin")).unwrap().unwrap();
    let mut settings: Value = serde_json::from_str(&old).unwrap();
    settings["hooks"]["Stop"].as_array_mut().unwrap().push(json!({ "hooks": [{ "command": "later" }] }));
    settings["hooks"]["Gone"] = json!([{ "hooks": [{ "command": "/old/bin/longhaul-stop" }, { "command": "x" }] }]);
    let new = with_hooks(Some(&settings.to_string()), bin()).unwrap().unwrap();
    let new: Value = serde_json::from_str(&new).unwrap();
    assert_eq!(executables_in(&new).len(), REGISTRATIONS.len());
    assert_eq!(new["hooks"]["Stop"][0]["hooks"][0]["command"], "/opt/x/bin/longhaul-stop");
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
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"command":"/a/longhaul-stop"},{"command":"theirs"}]}]}}"#;
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
