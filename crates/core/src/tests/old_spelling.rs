use serde_json::{Value, json};

use crate::Config;
use crate::config::{Origin, Setting, WarningKind, explain};

/// A configuration file that sets every key of the version that mixed camelCase and snake_case to another value than its
/// default.
const BEFORE: &str = include_str!("config_before_renaming.json");

const RENAMED: [(&str, &str); 9] = [
    ("bookmarks.midTurn", "bookmarks.mid_turn"),
    ("bookmarks.thresholds.minTokens", "bookmarks.thresholds.min_tokens"),
    ("bookmarks.thresholds.minToolCalls", "bookmarks.thresholds.min_tool_calls"),
    ("bookmarks.thresholds.minSeconds", "bookmarks.thresholds.min_seconds"),
    ("bookmarks.thresholds.agentBurstThreshold", "bookmarks.thresholds.agent_burst_threshold"),
    ("bookmarks.thresholds.cooldownSeconds", "bookmarks.thresholds.cooldown_seconds"),
    ("guard.compactPercent", "guard.compact_percent"),
    ("guard.denyPercent", "guard.deny_percent"),
    ("guard.compactCooldownSeconds", "guard.compact_cooldown_seconds"),
];

/// Returns the value at a key such as `guard.enabled`.
fn at<'a>(json: &'a Value, key: &str) -> Option<&'a Value> {
    json.pointer(&format!("/{}", key.replace('.', "/")))
}

/// Returns the old spelling of a key, or the key itself if it was not renamed.
fn before(key: &str) -> &str {
    RENAMED.iter().find(|(_, new)| *new == key).map_or(key, |(old, _)| old)
}

#[test]
fn every_key_of_the_version_before_still_sets_the_same_value() {
    let file: Value = serde_json::from_str(BEFORE).unwrap();
    let (config, warnings) = Config::from_json(BEFORE);
    let in_force = config.to_json();
    for key in Config::keys() {
        // A setting that is added later was not in that version.
        let Some(set) = at(&file, before(&key.path)) else { continue };
        assert_ne!(set, &key.default, "{} must differ from its default here", key.path);
        assert_eq!(at(&in_force, &key.path), Some(set), "{}", key.path);
    }
    assert!(warnings.iter().all(|warning| warning.kind == WarningKind::OldSpelling), "{warnings:?}");
    let named: Vec<&str> = warnings.iter().map(|warning| warning.key.as_str()).collect();
    assert_eq!(named, RENAMED.map(|(old, _)| old));
}

#[test]
fn an_old_spelling_is_named_with_the_new_one() {
    let (_, warnings) = Config::from_json(r#"{"bookmarks":{"thresholds":{"minTokens":1}}}"#);
    assert_eq!(
        warnings[0].to_string(),
        "bookmarks.thresholds.minTokens: `minTokens` is the old spelling of `min_tokens`: it still works; rename it"
    );
}

#[test]
fn of_both_spellings_the_new_one_is_used() {
    let (config, warnings) = Config::from_json(r#"{"guard":{"denyPercent":0.1,"deny_percent":0.2}}"#);
    assert_eq!(config.guard.deny_percent.0, 0.2);
    assert_eq!(warnings[0].kind, WarningKind::Unusable);
    assert_eq!(warnings[0].problem, "`denyPercent` is the old spelling of `deny_percent`, which is set too: ignored");
}

#[test]
fn a_value_in_an_old_spelling_comes_from_the_user() {
    let file: Value = serde_json::from_str(BEFORE).unwrap();
    let explanation = explain(Some(BEFORE), None);
    // A setting that is added later was not in that version.
    let mut set = explanation.values.iter().filter(|value| at(&file, before(&value.key)).is_some());
    assert!(set.all(|value| value.origin == Origin::User), "{:?}", explanation.values);
}

#[test]
fn an_old_spelling_of_no_section_is_left_alone() {
    for text in [r#"{"bookmarks":[]}"#, r#"{"bookmarks":{"thresholds":7}}"#, r#"{"guard":null}"#, "{}"] {
        assert_eq!(Config::from_json(text).0, Config::default(), "{text}");
    }
}

#[test]
fn the_schema_accepts_old_spellings_as_deprecated() {
    let schema = Config::json_schema();
    for (old, new) in RENAMED {
        let of = |key: &str| key.split('.').try_fold(&schema, |at, name| at.get("properties")?.get(name)).unwrap();
        assert_eq!(of(old)["deprecated"], json!(true), "{old}");
        assert_eq!((&of(old)["type"], &of(old)["oneOf"]), (&of(new)["type"], &of(new)["oneOf"]), "{old}");
    }
}

#[test]
fn every_key_is_in_snake_case() {
    for key in Config::keys() {
        assert!(key.path.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '.')), "{}", key.path);
    }
}
