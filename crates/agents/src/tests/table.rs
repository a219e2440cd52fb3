use std::collections::BTreeSet;

use longhaul_core::{AGENTS_WITH_SEVERAL_SESSIONS, OTHER_AGENTS, SessionId};

use crate::{ALL, Condition, Feature, SessionsAtOnce, TimeoutUnit, find, newest_use, resume_command};

#[test]
fn every_agent_has_a_prefix_for_its_ids() {
    assert_eq!(ALL.map(|agent| agent.name), OTHER_AGENTS);
    for agent in ALL {
        assert_eq!(find(agent.name), Some(agent));
        assert_eq!(ALL.into_iter().filter(|other| *other == agent).count(), 1, "{}", agent.name);
    }
    assert_eq!(find("claude"), None);
}

#[test]
fn the_agents_with_several_sessions_are_those_that_the_tracker_knows() {
    let several = ALL.into_iter().filter(|agent| agent.sessions == SessionsAtOnce::Several).map(|agent| agent.name);
    assert_eq!(several.collect::<Vec<_>>(), AGENTS_WITH_SEVERAL_SESSIONS);
}

#[test]
fn every_agent_says_of_every_feature_whether_it_works() {
    for agent in ALL {
        let features: Vec<Feature> = agent.features.iter().map(|(feature, _)| *feature).collect();
        assert_eq!(features, Feature::ALL, "{}", agent.name);
    }
}

#[test]
fn every_feature_has_a_description_of_its_own() {
    let texts: BTreeSet<&str> = Feature::ALL.into_iter().map(Feature::about).collect();
    assert_eq!(texts.len(), Feature::ALL.len());
    assert!(texts.contains("How full the context is"));
}

/// Codex's users have trusted these commands: a change of one would make Codex ask for all of them again.
#[test]
fn the_commands_of_codex_never_change() {
    let codex = find("codex").unwrap();
    let arguments: Vec<(&str, &str, u64)> =
        codex.events.iter().map(|rule| (rule.theirs, rule.argument, rule.seconds)).collect();
    assert_eq!(codex.option, "--codex");
    assert_eq!(
        arguments,
        [
            ("SessionStart", "session-start", 5),
            ("UserPromptSubmit", "user-prompt-submit", 3),
            ("PermissionRequest", "permission-request", 3),
            ("PostToolUse", "post-tool-use", 3),
            ("PreCompact", "pre-compact", 10),
            ("Stop", "stop", 5),
            ("SessionEnd", "session-end", 3),
        ]
    );
}

#[test]
fn the_command_of_a_hook_names_the_agent() {
    for agent in ALL.into_iter().filter(|agent| agent.name != "codex") {
        assert_eq!(agent.option, format!("--agent {}", agent.name));
        assert!(agent.events.iter().all(|rule| rule.argument == rule.theirs));
    }
}

#[test]
fn no_event_is_in_a_table_twice() {
    for agent in ALL {
        let names: BTreeSet<&str> = agent.events.iter().map(|rule| rule.theirs).collect();
        assert_eq!(names.len(), agent.events.len(), "{}", agent.name);
        assert!(agent.events.iter().all(|rule| rule.seconds >= 3), "{}", agent.name);
    }
}

#[test]
fn timeouts_have_the_unit_of_the_agent() {
    assert_eq!([TimeoutUnit::Seconds, TimeoutUnit::Milliseconds].map(|unit| unit.of_seconds(5)), [5, 5000]);
}

#[test]
fn a_session_is_resumed_by_the_agents_own_command() {
    let argv = |id: &str| resume_command(&SessionId::new(id).unwrap()).map(|argv| argv.join(" "));
    assert_eq!(argv("gemini:4ee8"), Some("gemini --resume 4ee8".to_owned()));
    assert_eq!(argv("qwen:4ee8"), Some("qwen --resume 4ee8".to_owned()));
    assert_eq!(argv("opencode:ses_e1"), Some("opencode --session ses_e1".to_owned()));
    assert_eq!(argv("codex:4ee8"), Some("codex resume 4ee8".to_owned()));
    for id in ["4ee8", "codex:-c", "gemini:--yolo"] {
        assert_eq!(argv(id), None, "{id}");
    }
    assert_eq!(argv(&format!("gemini:{}", "a".repeat(101))), None);
}

#[test]
fn the_use_of_the_context_is_that_of_the_newest_line() {
    let line = |input: u64| format!("{{\"type\":\"gemini\",\"tokens\":{{\"input\":{input}}},\"model\":\"flash\"}}\n");
    let tail = format!("cut off\"tokens\"\n{}{}{{\"$set\":{{}}}}\n", line(5), line(7));
    let found = newest_use(tail.as_bytes(), 100).unwrap();
    assert_eq!((found.tokens, found.window, found.model.as_deref()), (7, Some(100), Some("flash")));
    assert_eq!(newest_use(line(0).as_bytes(), 100), None);
    assert_eq!(newest_use(b"", 100), None);
}

#[test]
fn conditions_name_fields_of_the_payload() {
    let fields: BTreeSet<&str> = ALL
        .iter()
        .flat_map(|agent| agent.events)
        .filter_map(|rule| match rule.condition {
            Condition::Always => None,
            Condition::Filled(field) | Condition::Equals(field, _) => Some(field),
        })
        .collect();
    assert_eq!(fields, BTreeSet::from(["notification_type", "prompt"]));
}
