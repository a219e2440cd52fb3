use serde_json::json;

use crate::Config;
use crate::config::{Origin, ProjectReading, Trust, Verdict, explain};

const ASKS: &str =
    r#"{"continuation":{"at":0.3,"max_rounds":99,"after_rate_limit":true},"memory":{"enabled":false},"x":1}"#;

fn read(own: &str, project: &str, trust: Trust) -> ProjectReading {
    Config::from_json(own).0.with_project(project, trust)
}

/// Returns one letter for each value: in force, waiting for trust, refused.
fn verdicts(reading: &ProjectReading) -> Vec<(&str, char)> {
    let letter = |verdict: &Verdict| match verdict {
        Verdict::InForce => 'f',
        Verdict::NeedsTrust(_) => 'w',
        Verdict::Refused(_) => 'r',
    };
    reading.values.iter().map(|value| (value.key.as_str(), letter(&value.verdict))).collect()
}

#[test]
fn without_trust_nothing_is_switched_on() {
    let reading = read("{}", ASKS, Trust::Untrusted);
    assert_eq!(reading.config, Config::default());
    assert_eq!(
        verdicts(&reading),
        [
            ("continuation.at", 'w'),
            ("continuation.max_rounds", 'r'),
            ("continuation.after_rate_limit", 'r'),
            ("memory.enabled", 'r'),
            ("x", 'r'),
        ]
    );
}

#[test]
fn a_project_cannot_name_hosts() {
    for trust in [Trust::Untrusted, Trust::Trusted] {
        let reading = read("{}", r#"{"view":{"hosts":["evil"]}}"#, trust);
        assert_eq!((verdicts(&reading), reading.config.view.hosts.0.len()), (vec![("view.hosts", 'r')], 0));
    }
}

#[test]
fn with_trust_a_project_says_whether_and_when_and_no_more() {
    let reading = read("{}", ASKS, Trust::Trusted);
    let mut expected = Config::default();
    (expected.continuation.at.is_on, expected.continuation.at.limits) = (true, vec![0.3]);
    assert_eq!(reading.config, expected);
    assert_eq!(reading.waiting().count(), 0);
    assert_eq!(reading.refused().count(), 4);
}

#[test]
fn without_trust_things_may_become_stricter() {
    let own = r#"{"continuation":{"at":[0.6,0.9],"after_rate_limit":true}}"#;
    let stricter = r#"{"continuation":{"at":0.7,"max_rounds":2,"after_rate_limit":false}}"#;
    let reading = read(own, stricter, Trust::Untrusted);
    assert!(verdicts(&reading).iter().all(|(_, verdict)| *verdict == 'f'), "{reading:?}");
    let continuation = reading.config.continuation;
    assert_eq!((continuation.at.is_on, continuation.at.limits, continuation.max_rounds.0), (true, vec![0.7], 2));
    assert!(!continuation.after_rate_limit);
    let off = read(own, r#"{"continuation":{"at":"off"}}"#, Trust::Untrusted);
    let at = off.config.continuation.at;
    assert_eq!((at.is_on, at.limits), (false, vec![0.6, 0.9]), "Codex is still warned at the user's own limits");
}

#[test]
fn whatever_switches_a_continuation_on_needs_trust() {
    for at in [json!("on"), json!(0.75), json!(1), json!([0.8, 0.9]), json!(900_000)] {
        let project = json!({ "continuation": { "at": at } }).to_string();
        for own in ["{}", r#"{"continuation":{"at":"off"}}"#] {
            let reading = read(own, &project, Trust::Untrusted);
            assert_eq!(verdicts(&reading), [("continuation.at", 'w')], "{at}");
            assert!(!reading.config.continuation.at.is_on, "{at}");
            assert!(read(own, &project, Trust::Trusted).config.continuation.at.is_on, "{at}");
        }
    }
}

#[test]
fn what_is_not_surely_later_is_not_stricter() {
    let own = r#"{"continuation":{"at":[0.6,0.9]}}"#;
    for (at, verdict) in [
        (json!([0.6, 0.9]), 'f'),
        (json!(1), 'f'),
        (json!(0.59), 'w'),
        (json!("on"), 'f'),
        (json!([0.7, 0.8, 0.9]), 'w'),
        (json!([0.7, 900_000]), 'w'),
        (json!(900_000), 'w'),
        (json!(0.1), 'r'),
        (json!(19_999), 'r'),
        (json!(75), 'r'),
        (json!("soon"), 'r'),
    ] {
        let project = json!({ "continuation": { "at": at } }).to_string();
        assert_eq!(verdicts(&read(own, &project, Trust::Untrusted)), [("continuation.at", verdict)], "{at}");
    }
}

#[test]
fn a_limit_may_only_become_stricter_trusted_or_not() {
    let own = r#"{"limits":{"session":5,"day":"20M","subagents":{"at_once":4}}}"#;
    for (asked, verdict) in [
        (json!({ "session": 4 }), 'f'),
        (json!({ "session": 6 }), 'r'),
        (json!({ "session": "off" }), 'r'),
        (json!({ "session": "1k" }), 'r'),
        (json!({ "day": "20M" }), 'f'),
        (json!({ "day": "21M" }), 'r'),
        (json!({ "project_day": 1 }), 'f'),
        (json!({ "subagents": { "at_once": 0 } }), 'r'),
        (json!({ "subagents": { "at_once": 3 } }), 'f'),
        (json!({ "subagents": { "in_turn": 9 } }), 'f'),
        (json!({ "loops": "off" }), 'r'),
        (json!({ "loops": "stop" }), 'r'),
    ] {
        for trust in [Trust::Untrusted, Trust::Trusted] {
            let reading = read(own, &json!({ "limits": asked }).to_string(), trust);
            assert_eq!(verdicts(&reading)[0].1, verdict, "{asked} {trust:?}");
        }
    }
}

/// A setting that is added to the config is refused in a project's file until somebody adds a rule for it.
#[test]
fn every_key_without_a_rule_is_refused_even_with_trust() {
    let allowed: Vec<&str> = Config::project_keys().map(|(path, ..)| path).collect();
    let known: Vec<String> = Config::keys().into_iter().map(|key| key.path).collect();
    assert!(allowed.iter().all(|path| known.iter().any(|known| known == path)), "{allowed:?}");
    for key in Config::keys().into_iter().filter(|key| !allowed.contains(&key.path.as_str())) {
        let project = key.path.rsplit('.').fold(key.default.clone(), |value, name| json!({ name: value }));
        let reading = read("{}", &project.to_string(), Trust::Trusted);
        assert_eq!(reading.config, Config::default(), "{}", key.path);
        assert!(reading.values.iter().all(|value| matches!(value.verdict, Verdict::Refused(_))), "{}", key.path);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_changes_nothing() {
    for text in ["no json", "[]", "{"] {
        let reading = read(r#"{"continuation":{"at":"on"}}"#, text, Trust::Trusted);
        assert!(reading.problem.is_some() && reading.config.continuation.at.is_on, "{text}");
    }
    let marked = read("{}", "\u{feff}{\"continuation\":{\"max_rounds\":1}}", Trust::Untrusted);
    assert_eq!(marked.config.continuation.max_rounds.0, 1);
}

#[test]
fn every_value_says_where_it_comes_from() {
    let own = r#"{"continuation":{"max_rounds":5},"worker":{"port":80000},"memory":{"show":[]}}"#;
    let project = r#"{"continuation":{"max_rounds":2,"at":"on"}}"#;
    let explanation = explain(Some(own), Some((project, Trust::Untrusted)));
    let of = |key: &str| explanation.values.iter().find(|value| value.key == key).unwrap();
    assert_eq!(
        (of("continuation.max_rounds").origin, &of("continuation.max_rounds").value),
        (Origin::Project, &json!(2))
    );
    assert_eq!(of("memory.show").origin, Origin::User);
    assert_eq!(of("worker.port").origin, Origin::Default);
    assert!(of("worker.port").problem.as_ref().unwrap().contains("80000"));
    let at = of("continuation.at");
    assert_eq!((at.origin, &at.value), (Origin::Default, &json!("off")));
    assert_eq!(at.refused.as_ref().unwrap().0, json!("on"));
    assert!(explain(None, None).values.iter().all(|value| value.origin == Origin::Default));
}

#[test]
fn a_refusal_says_why() {
    let why = |text: &str| {
        let reading = read("{}", text, Trust::Trusted);
        let [value] = reading.values.as_slice() else { panic!("one value: {reading:?}") };
        match &value.verdict {
            Verdict::Refused(why) => format!("{}: {why}", value.key),
            other => panic!("{other:?}"),
        }
    };
    let own = "only your own configuration may set it";
    assert_eq!(why(r#"{"memory":{"enabled":false}}"#), format!("memory.enabled: {own}"));
    assert_eq!(why(r#"{"memory":7}"#), format!("memory: {own}"), "a whole section");
    assert_eq!(why(r#"{"x":{"y":1}}"#), "x: no such key: ignored");
    assert_eq!(
        why(r#"{"continuation":{"max_ronds":1}}"#),
        "continuation.max_ronds: no such key (did you mean continuation.max_rounds?): `continuation.at` is off until it is \
         corrected"
    );
    assert_eq!(
        why(r#"{"continuation":{"after_rate_limit":true}}"#),
        "continuation.after_rate_limit: in a project it may be only false"
    );
}

#[test]
fn a_key_that_does_not_exist_switches_continuation_off_in_a_project() {
    for trust in [Trust::Untrusted, Trust::Trusted] {
        for project in [
            r#"{"continuation":{"enabled":false}}"#,
            r#"{"continuation":{"enabled":false,"at":0.9}}"#,
            r#"{"continuaton":{"at":"off"}}"#,
        ] {
            let reading = read(r#"{"continuation":{"at":0.6}}"#, project, trust);
            assert!(!reading.config.continuation.at.is_on, "{project}");
            assert!(verdicts(&reading).iter().all(|(_, verdict)| *verdict == 'r'), "{project}: {reading:?}");
        }
    }
    let other =
        read(r#"{"continuation":{"at":0.6}}"#, r#"{"memory":{"enable":false},"guard":{"x":1}}"#, Trust::Trusted);
    assert!(other.config.continuation.at.is_on && other.config.memory.enabled, "{other:?}");
}

#[test]
fn limits_of_tokens_have_a_least_of_their_own() {
    let own = r#"{"continuation":{"at":[0.9,150000]}}"#;
    let verdict = |at: &str, trust: Trust| {
        let reading = read(own, &format!(r#"{{"continuation":{{"at":{at}}}}}"#), trust);
        verdicts(&reading)[0].1
    };
    assert_eq!(verdict("1", Trust::Trusted), 'f', "1 is a share");
    assert_eq!((verdict("1000", Trust::Trusted), verdict("20000", Trust::Trusted)), ('r', 'f'));
    assert_eq!((verdict("160000", Trust::Untrusted), verdict("1", Trust::Untrusted)), ('f', 'f'));
    assert_eq!((verdict("140000", Trust::Untrusted), verdict("0.8", Trust::Untrusted)), ('w', 'w'));
}

#[test]
fn a_value_is_shown_up_to_a_length() {
    let reading = read("{}", r#"{"x":"a long text"}"#, Trust::Trusted);
    assert_eq!(
        [5, 13, 99].map(|most| reading.values[0].shown(most)),
        ["\"a lo…", "\"a long text\"", "\"a long text\""]
    );
    assert_eq!([Origin::Default, Origin::User, Origin::Project].map(Origin::as_str), ["default", "user", "project"]);
}
