use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::Config;
use crate::config::{Count, Days, ModelPrice, Port, Seconds, Setting, Share, Trust, with_setting, without_setting};

#[track_caller]
fn check(text: &str, expected: &[&str]) -> Config {
    let (config, warnings) = Config::from_json(text);
    assert_eq!(warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    config
}

#[test]
fn a_partial_file_is_merged_deeply() {
    let config = check(r#"{"bookmarks":{"thresholds":{"min_tokens":100}}}"#, &[]);
    assert_eq!(config.bookmarks.thresholds.min_tokens, Count(100));
    assert_eq!(config.bookmarks.thresholds.min_tool_calls, Count(15));
    assert!(config.bookmarks.is_on());
    assert_eq!(check("{}", &[]), Config::default());
}

#[test]
fn a_number_may_be_a_numeric_string_and_nothing_else() {
    let number = |json: &str| {
        let (config, warnings) = Config::from_json(&format!(r#"{{"inject":{{"patience_seconds":{json}}}}}"#));
        (config.inject.patience_seconds.get(), warnings.len())
    };
    for (json, expected) in [("0", 0.0), ("2.5", 2.5), (r#""12""#, 12.0)] {
        assert_eq!(number(json), (expected, 0), "{json}");
    }
    for json in ["null", "true", "[]", "{}", r#""""#, r#""NaN""#, r#""inf""#, "-1", "1e999"] {
        assert_eq!(number(json).0, 30.0, "{json}");
    }
    for json in ["null", "true", "[]", "{}", r#""""#, r#""NaN""#, r#""inf""#, "-1"] {
        assert_eq!(number(json).1, 1, "{json}");
    }
}

#[test]
fn each_bad_value_is_named_and_the_others_stand() {
    let text = r#"{"bookmarks":{"enabled":"yes","marker":"/x","typo":1},"guard":7,"models":{"m":{"window":0},"n":{"window":9}}}"#;
    let config = check(
        text,
        &[
            "bookmarks.typo: no such key: ignored",
            r#"bookmarks.enabled: "yes" is not true, false or "turn_end": the default true is in force"#,
            r#"bookmarks.marker: "/x" is not a text without control characters that does not start with /, !, #, @ or ?: the default "·" is in force"#,
            "guard: is not a JSON object: `guard.compact_percent` and `guard.deny_percent` are off until it is corrected",
            r#"models.m: {"window":0} is not an object with `window`, a number of tokens, or the prices `input` and `output`, and perhaps `cache_read`, `cache_write_5m` and `cache_write_1h`, in dollars per million tokens: left out"#,
        ],
    );
    assert_eq!(config.models.windows.get("n"), Some(&9));
}

#[test]
fn hosts_are_names_that_cannot_be_options() {
    let config = check(r#"{"view":{"hosts":["build1","me@build2.example.com"]}}"#, &[]);
    assert_eq!(config.view.hosts.0, ["build1", "me@build2.example.com"]);
    let long = "x".repeat(256);
    for name in ["-oProxyCommand=x", "", "a b", "a\nb", "a\u{1b}", "a\u{a0}b", &long] {
        let text = json!({ "view": { "hosts": ["fine", name] } }).to_string();
        let (config, warnings) = Config::from_json(&text);
        assert_eq!((config.view.hosts.0.len(), warnings.len()), (0, 1), "{name:?}");
    }
    let many = json!({ "view": { "hosts": vec!["x"; 21] } }).to_string();
    assert_eq!(Config::from_json(&many).1.len(), 1);
}

#[test]
fn a_file_that_is_not_json_switches_everything_off() {
    let bad = [
        "bookmarks: yes",
        r#"{"memory":{"enabled":false,}}"#,
        "{ // mine\n\"memory\":{\"enabled\":false}}",
        r#"{"memory":{"enabled":fal"#,
        "",
        "\u{feff}",
    ];
    for text in bad {
        let (config, warnings) = Config::from_json(text);
        assert_eq!(config, Config::closed(), "{text}");
        assert!(warnings.len() == 1 && warnings[0].is_whole_file(), "{text}: {warnings:?}");
        assert!(warnings[0].to_string().starts_with("config is not JSON"), "{}", warnings[0]);
    }
    let problem = "config is not a JSON object: nothing is recorded and nothing is typed until it is corrected";
    assert_eq!(check("[]", &[problem]), Config::closed());
    // No section is left that does something by itself.
    let closed = Config::closed().to_json();
    for key in Config::keys().into_iter().filter(|key| key.path.split('.').count() == 2) {
        let value = closed.pointer(&format!("/{}", key.path.replace('.', "/"))).unwrap();
        assert!(!key.path.ends_with(".enabled") || *value == json!(false), "{}", key.path);
    }
    assert!(!check("\u{feff}{\"memory\":{\"enabled\":false}}", &[]).memory.enabled);
}

#[test]
fn a_bad_value_that_protects_privacy_falls_to_the_stricter_side() {
    let text = r#"{"memory":{"enabled":"no","redact_secrets":"sure","exclude":"~/private","skip_tools":["Bash",1]},"snapshots":{"exclude":"*.key"},"handoff":{"enabled":0},"sync":false}"#;
    let config = check(
        text,
        &[
            r#"snapshots.exclude: "*.key" is not a list of texts: no snapshot is taken until it is corrected"#,
            "handoff.enabled: 0 is not true or false: no handoff is recorded until it is corrected",
            r#"memory.enabled: "no" is not true or false: nothing is remembered until it is corrected"#,
            r#"memory.redact_secrets: "sure" is not true or false: the default true is in force"#,
            r#"memory.skip_tools: ["Bash",1] is not a list of texts: no tool call is recorded until it is corrected"#,
            r#"memory.exclude: "~/private" is not a list of texts: every project is excluded until it is corrected"#,
            "sync: is not a JSON object: nothing is exchanged until it is corrected",
        ],
    );
    assert!(!config.memory.enabled && config.memory.redact_secrets);
    assert_eq!((config.memory.exclude.0, config.memory.skip_tools.0), (vec!["*".to_owned()], vec!["*".to_owned()]));
    assert!(!config.snapshots.enabled && !config.handoff.enabled && !config.sync.enabled);
    let (config, _) = Config::from_json(r#"{"memory":"off"}"#);
    assert!(!config.memory.enabled && config.memory.exclude.0 == ["*"]);
}

#[test]
fn a_repeated_key_switches_everything_off() {
    for text in [
        r#"{"memory":{"enabled":false,"enabled":true}}"#,
        r#"{"memory":{"enabled":false},"worker":{},"memory":{"retention_days":1}}"#,
        r#"{"view":{"hosts":[{"a":1,"a":2}]}}"#,
    ] {
        let (config, warnings) = Config::from_json(text);
        assert_eq!(config, Config::closed(), "{text}");
        assert!(warnings.len() == 1 && warnings[0].is_whole_file(), "{text}: {warnings:?}");
        assert!(warnings[0].to_string().contains("is there twice"), "{}", warnings[0]);
    }
}

#[test]
fn a_mistyped_key_that_was_to_protect_privacy_counts_as_set() {
    for (text, problem) in [
        (r#"{"memory":{"enable":false}}"#, "memory.enable: no such key (did you mean memory.enabled?)"),
        (r#"{"memory":{"excludes":["~/x"]}}"#, "memory.excludes: no such key (did you mean memory.exclude?)"),
        (r#"{"memory":{"colour":1}}"#, "memory.colour: no such key"),
        (r#"{"memroy":{"enabled":false}}"#, "memroy: no such key (did you mean memory?)"),
        (r#"{"Memory":{"enabled":false}}"#, "Memory: no such key (did you mean memory?)"),
        (r#"{"memory.enabled":false}"#, "memory.enabled: no such key"),
        (r#"{"exclude":["~/x"]}"#, "exclude: no such key"),
        (r#"{"skip_tools":["Bash"]}"#, "skip_tools: no such key (did you mean memory.skip_tools?)"),
    ] {
        let config = check(text, &[&format!("{problem}: nothing is remembered until it is corrected")]);
        assert!(!config.memory.enabled && config.memory.exclude.0 == ["*"], "{text}");
    }
    let text = r#"{"snapshot":{},"handoff":{"enabeld":false},"sync":{"off":true},"memory":{"model":{"x":1}},"worker":{"x":1}}"#;
    let (config, warnings) = Config::from_json(text);
    assert_eq!(warnings.len(), 5, "{warnings:?}");
    assert!(!config.snapshots.enabled && !config.handoff.enabled && !config.sync.enabled && config.memory.enabled);
}

#[test]
fn a_key_that_does_not_exist_switches_continuation_or_the_guard_off() {
    let continuation = "`continuation.at` is off until it is corrected";
    for (text, problem) in [
        (r#"{"continuation":{"enabled":false,"at":0.6}}"#, "continuation.enabled: no such key"),
        (
            r#"{"continuation":{"at":0.6,"maxRounds":3}}"#,
            "continuation.maxRounds: no such key (did you mean continuation.max_rounds?)",
        ),
        (r#"{"continuation":{"at":0.6},"continuaton":{}}"#, "continuaton: no such key (did you mean continuation?)"),
    ] {
        assert!(!check(text, &[&format!("{problem}: {continuation}")]).continuation.at.is_on, "{text}");
    }
    let guard = check(
        r#"{"guard":{"enabled":false,"compact_percent":0.7,"deny_percent":0.8}}"#,
        &["guard.enabled: no such key: `guard.compact_percent` and `guard.deny_percent` are off until it is corrected"],
    )
    .guard;
    assert!(!guard.is_on(), "{guard:?}");
    assert!(
        !check(r#"{"continuation":false}"#, &[&format!("continuation: is not a JSON object: {continuation}")])
            .continuation
            .at
            .is_on
    );
}

#[test]
fn markers_that_the_client_would_take_for_commands_are_refused() {
    for marker in ["", " ", "/x", "!x", "#x", "@x", "?x", " /x", "a\nb", "a\u{7}"] {
        let (config, warnings) = Config::from_json(&json!({ "bookmarks": { "marker": marker } }).to_string());
        assert_eq!((config.bookmarks.marker.as_str(), warnings.len()), ("·", 1), "{marker:?}");
    }
    let config = check(&json!({ "bookmarks": { "marker": r#"'"\$;#{} "# } }).to_string(), &[]);
    assert_eq!(config.bookmarks.marker.as_str(), r#"'"\$;#{}"#);
}

#[test]
fn what_is_printed_can_be_read_back() {
    let config = Config::default();
    assert_eq!(check(&config.to_json().to_string(), &[]), config);
}

#[test]
fn the_schema_describes_every_key() {
    let schema = Config::json_schema();
    for key in Config::keys() {
        let found = key.path.split('.').try_fold(&schema, |at: &Value, part| at.get("properties")?.get(part));
        assert_eq!(found.and_then(|property| property.get("default")), Some(&key.default), "{}", key.path);
    }
}

#[test]
fn a_limit_is_a_number_or_a_list() {
    let at = |json: &str| {
        let (config, warnings) = Config::from_json(&format!(r#"{{"continuation":{{"at":{json}}}}}"#));
        (config.continuation.at.is_on, config.continuation.at.limits, warnings.len())
    };
    assert_eq!(at("0.6"), (true, vec![0.6], 0));
    assert_eq!(at("150000"), (true, vec![150_000.0], 0));
    assert_eq!(at("[0.6, 0.9]"), (true, vec![0.6, 0.9], 0));
    assert_eq!(at(r#""on""#), (true, vec![0.75], 0));
    assert_eq!(at(r#""off""#), (false, vec![0.75], 0));
    for bad in ["0", "[]", "[0.5, \"x\"]", "null", "{}", "75", "[0.5, 2]", "999", "true"] {
        assert_eq!(at(bad), (false, vec![0.75], 1), "{bad}");
    }
}

#[test]
fn a_value_outside_its_range_is_named_with_the_range() {
    check(
        r#"{"continuation":{"at":75},"guard":{"deny_percent":85},"worker":{"port":80000}}"#,
        &[
            "continuation.at: 75 is not on, off, a share from 0.01 to 1, a number from 1000 to 1000000000, or a list of \
             such (did you mean 0.75?): the default \"off\" is in force",
            "worker.port: 80000 is not a whole number from 0 to 65535: the default 37777 is in force",
            r#"guard.deny_percent: 85 is not a share from 0 to 1, or "off" (did you mean 0.85?): the default "off" is in force"#,
        ],
    );
    check(
        r#"{"worker":{"port":1.5}}"#,
        &["worker.port: 1.5 is not a whole number from 0 to 65535: the default 37777 is in force"],
    );
    check(r#"{"worker":{"port":65535},"continuation":{"at":[0.01,1,1000]}}"#, &[]);
}

#[test]
fn the_guard_is_off_until_a_share_is_set() {
    assert!(!check("{}", &[]).guard.is_on());
    for off in ["0", r#""off""#] {
        assert!(!check(&format!(r#"{{"guard":{{"compact_percent":{off},"deny_percent":{off}}}}}"#), &[]).guard.is_on());
    }
    let guard = check(r#"{"guard":{"compact_percent":0.76}}"#, &[]).guard;
    assert_eq!((guard.compact_percent, guard.deny_percent, guard.is_on()), (Some(Share(0.76)), None, true));
    let guard = check(r#"{"guard":{"deny_percent":"1"}}"#, &[]).guard;
    assert_eq!((guard.compact_percent, guard.deny_percent, guard.is_on()), (None, Some(Share(1.0)), true));
}

#[test]
fn a_count_may_be_written_as_a_float_and_has_no_fraction() {
    for json in ["15", "15.0", "1.5e1", r#""15""#, r#""15.0""#] {
        let config = check(&format!(r#"{{"continuation":{{"max_rounds":{json}}}}}"#), &[]);
        assert_eq!(config.continuation.max_rounds, Count(15), "{json}");
    }
    check(
        r#"{"bookmarks":{"thresholds":{"min_tool_calls":2.5,"min_tokens":1e13}}}"#,
        &[
            "bookmarks.thresholds.min_tokens: 10000000000000.0 is not a whole number from 0 to 1000000000000: the \
             default 6000 is in force",
            "bookmarks.thresholds.min_tool_calls: 2.5 is not a whole number from 0 to 1000000000000: the default 15 \
             is in force",
        ],
    );
}

#[test]
fn a_port_may_be_written_as_a_float_and_fits_a_socket_address() {
    for (json, expected) in [("0", 0), ("8080.0", 8080), (r#""65535""#, 65_535)] {
        let config = check(&format!(r#"{{"worker":{{"port":{json}}}}}"#), &[]);
        assert_eq!(config.worker.port, Port(expected), "{json}");
    }
    check(
        r#"{"worker":{"port":"http"}}"#,
        &[r#"worker.port: "http" is not a whole number from 0 to 65535: the default 37777 is in force"#],
    );
}

#[test]
fn a_time_is_in_the_unit_of_its_key_and_is_printed_as_it_was_written() {
    let text = r#"{"bookmarks":{"thresholds":{"min_seconds":90.0,"cooldown_seconds":0.1}},
                   "memory":{"retention_days":0.5}}"#;
    let config = check(text, &[]);
    let thresholds = &config.bookmarks.thresholds;
    assert_eq!((thresholds.min_seconds.as_millis(), thresholds.cooldown_seconds.as_millis()), (90_000, 100));
    assert_eq!(config.memory.retention_days.as_duration(), Duration::from_secs(12 * 3600));
    let printed = config.to_json();
    assert_eq!(printed["bookmarks"]["thresholds"]["min_seconds"], json!(90));
    assert_eq!(printed["bookmarks"]["thresholds"]["cooldown_seconds"], json!(0.1));
    check(
        r#"{"memory":{"retention_days":36501}}"#,
        &["memory.retention_days: 36501 is not a number from 0 to 36500: the default 365 is in force"],
    );
}

#[test]
fn a_program_makes_a_time_from_a_duration() {
    let minute_and_a_half = Duration::from_secs(90);
    assert_eq!(Seconds::from(minute_and_a_half), Seconds::new(90));
    assert_eq!(Days::from(minute_and_a_half * 960).get(), 1.0);
    assert_eq!(Days::from(minute_and_a_half).as_duration(), minute_and_a_half);
}

#[test]
fn every_number_declares_a_range_that_has_its_default_and_stands_in_the_schema() {
    let schema = Config::json_schema();
    for key in Config::keys() {
        let Some(number) = key.default.as_f64() else { continue };
        let range = key.range.unwrap_or_else(|| panic!("{} declares no range", key.path));
        assert!(range.contains(number), "{}", key.path);
        let found = key.path.split('.').try_fold(&schema, |at: &Value, part| at.get("properties")?.get(part)).unwrap();
        assert_eq!(found["oneOf"][0]["minimum"].as_f64(), Some(range.least), "{}", key.path);
        assert_eq!(found["oneOf"][0]["maximum"].as_f64(), Some(range.most), "{}", key.path);
    }
}

#[test]
fn a_mistyped_key_gets_a_suggestion() {
    for (text, meant) in [
        (r#"{"bookmark":{}}"#, Some("bookmarks")),
        (r#"{"limits":{"projectDay":3}}"#, Some("limits.project_day")),
        (r#"{"tracker":{"enabeld":true}}"#, Some("tracker.enabled")),
        (r#"{"worker":{"prot":1}}"#, Some("worker.port")),
        (r#"{"marker":"x"}"#, Some("bookmarks.marker")),
        (r#"{"bookmarks":{"cooldown_seconds":3}}"#, Some("bookmarks.thresholds.cooldown_seconds")),
        (r#"{"enabled":true}"#, None),
        (r#"{"zzzzzz":true}"#, None),
    ] {
        let (_, warnings) = Config::from_json(text);
        let expected = match meant {
            Some(meant) => format!("no such key (did you mean {meant}?): ignored"),
            None => "no such key: ignored".to_owned(),
        };
        assert_eq!(warnings.iter().map(|warning| warning.problem.as_str()).collect::<Vec<_>>(), [expected], "{text}");
    }
}

/// JSON of the config's own keys with values that may be anything.
fn configlike() -> impl Strategy<Value = String> {
    let keys: Vec<String> = Config::keys().into_iter().map(|key| key.path).collect();
    let value =
        prop::sample::select(vec!["null", "-1", "1e300", "\"12\"", "\"\"", "[]", "{}", "[0.5, -2, \"x\"]", "true"]);
    prop::collection::vec((prop::sample::select(keys), value), 0..8).prop_map(|settings| {
        let mut config = json!({});
        for (key, value) in settings {
            let pointer = key.split('.').fold(&mut config, |inner, part| {
                if !inner.is_object() {
                    *inner = json!({});
                }
                &mut inner[part]
            });
            *pointer = serde_json::from_str(value).unwrap();
        }
        config.to_string()
    })
}

/// Returns whether a value is the one that was given; a number may have been given as text.
fn is_same(value: &Value, given: &Value) -> bool {
    let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok());
    value == given || number(value).is_some_and(|value| number(given) == Some(value))
}

#[test]
fn typing_is_tried_for_an_hour_at_most() {
    let patience = |seconds: u32| {
        let mut inject = Config::default().inject;
        inject.patience_seconds = Seconds::new(seconds);
        inject.patience().as_secs()
    };
    assert_eq!((patience(90), patience(3_600), patience(7_200)), (90, 3_600, 3_600));
}

proptest! {
    #[test]
    fn any_text_leaves_the_defaults_or_switches_everything_off(text in any::<String>(), braces in "[{}\\[\\]\":,a0 ]{0,60}") {
        for text in [text, braces] {
            let (config, warnings) = Config::from_json(&text);
            let is_unread = warnings.iter().any(|warning| warning.is_whole_file());
            let expected = if is_unread { Config::closed() } else { Config::default() };
            prop_assert!(config == expected, "{text:?}");
        }
    }

    #[test]
    fn any_value_is_taken_or_named_in_a_warning(text in configlike()) {
        let (config, warnings) = Config::from_json(&text);
        let (given, taken) = (serde_json::from_str::<Value>(&text).unwrap(), config.to_json());
        for key in Config::keys() {
            let pointer = format!("/{}", key.path.replace('.', "/"));
            let Some(value) = given.pointer(&pointer) else { continue };
            // Of a list or a table a part may be left out, and is named with its place.
            // And one bad value can switch off the whole section, whatever else it says.
            let section = key.path.split('.').next();
            let is_warned = warnings.iter().any(|warning| {
                let is_switched_off = warning.problem.ends_with("until it is corrected");
                warning.key.starts_with(&key.path) || is_switched_off && warning.key.split('.').next() == section
            });
            let is_taken = taken.pointer(&pointer).is_some_and(|taken| is_same(taken, value));
            prop_assert!(is_taken || is_warned, "{} of {}: {:?}", key.path, text, warnings);
        }
        for trust in [Trust::Trusted, Trust::Untrusted] {
            let _ = config.with_project(&text, trust);
        }
    }
}

#[test]
fn a_value_that_is_set_is_read_as_its_key_takes_it() {
    let set = |key: &str, given: &str| with_setting(Some("{}"), key, given).map(|(_, value)| value);
    assert_eq!(set("bookmarks.enabled", "false"), Ok(json!(false)));
    assert_eq!(set("bookmarks.thresholds.min_tool_calls", "20"), Ok(json!(20)));
    assert_eq!(set("bookmarks.marker", "5"), Ok(json!("5")), "a number is a text where a text is meant");
    assert_eq!(set("notify.quiet_hours", "22:00-07:00"), Ok(json!("22:00-07:00")));
    assert_eq!(set("snapshots.exclude", r#"["*.sqlite"]"#), Ok(json!(["*.sqlite"])));
    let (text, _) = with_setting(None, "models.a-model-4.5", r#"{"window": 200000}"#).unwrap();
    let models: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(models, json!({ "models": { "a-model-4.5": { "window": 200_000 } } }));
    assert_eq!(without_setting(Some(&text), "models.a-model-4.5").unwrap().unwrap().trim(), "{}");
}

#[test]
fn what_cannot_be_set_or_unset_is_refused_with_the_reason() {
    let refused = |text: &str, key: &str, given: &str| with_setting(Some(text), key, given).unwrap_err();
    assert_eq!(
        refused("{}", "bookmarks.enabled", "maybe"),
        r#"bookmarks.enabled: "maybe" is not true, false or "turn_end""#
    );
    assert_eq!(
        refused("{}", "bookmarks.enable", "true"),
        "bookmarks.enable: no such key (did you mean bookmarks.enabled?)"
    );
    assert!(refused("{}", "worker.port", "99999999").starts_with("worker.port: 99999999 is not"));
    assert!(refused("[1]", "worker.port", "4000").contains("not a JSON object"));
    assert!(refused(r#"{"worker": 1}"#, "worker.port", "4000").contains("has no place"));
    assert_eq!(without_setting(Some(r#"{"worker": {}}"#), "worker.port"), Ok(None));
    assert!(without_setting(None, "worker.prot").unwrap_err().contains("did you mean worker.port"));
    // What was wrong before is no reason to refuse something else.
    assert!(with_setting(Some(r#"{"nothing": 1}"#), "worker.port", "4000").is_ok());
}

#[test]
fn models_are_read_and_written_alike() {
    let text = r#"{"models":{"a":{"input":3,"output":15.5},
        "b":{"window":9,"input":0,"output":1,"cache_read":0.1,"cache_write_5m":2,"cache_write_1h":3}}}"#;
    let (config, warnings) = Config::from_json(text);
    assert_eq!(warnings, []);
    let prices = &config.models.prices;
    assert_eq!(prices["a"], ModelPrice::new(3.0, 15.5));
    assert_eq!((prices["b"].cache_read, prices["b"].cache_write_1h), (Some(0.1), Some(3.0)));
    let (again, _) = Config::from_json(&config.to_json().to_string());
    assert_eq!(again, config);
}

#[test]
fn what_is_said_of_a_model_and_cannot_be_used_is_left_out_and_named() {
    for bad in [
        json!(3),
        json!({}),
        json!({ "input": 1 }),
        json!({ "output": 1 }),
        json!({ "input": -1, "output": 1 }),
        json!({ "input": 1, "output": 1_000_001 }),
        json!({ "input": "1", "output": 1 }),
        json!({ "input": 1, "output": 1, "cache_raed": 1 }),
        json!({ "input": 1, "output": 1, "cache_read": null }),
        json!({ "window": 0 }),
        json!({ "window": 9, "input": 1 }),
    ] {
        let text = json!({ "models": { "bad": bad, "good": { "input": 1, "output": 1_000_000 } } });
        let (config, warnings) = Config::from_json(&text.to_string());
        assert_eq!(config.models.prices.keys().collect::<Vec<_>>(), ["good"], "{text}");
        assert_eq!(warnings.len(), 1, "{text}");
        let warning = warnings[0].to_string();
        assert!(warning.starts_with("models.bad: ") && warning.ends_with(": left out"), "{warning}");
    }
    let (config, warnings) = Config::from_json(r#"{"models":[]}"#);
    assert_eq!((config.models.prices.len(), warnings.len()), (0, 1));
}
