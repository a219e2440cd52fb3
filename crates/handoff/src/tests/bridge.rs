use longhaul_core::Millis;
use serde_json::json;

use crate::bridge::{BridgeAction, StatusFacts, answer, step, step_name};
use crate::continuation::{Plan, PlanRules, Question, State, WindowUse};

fn rules() -> PlanRules<'static> {
    PlanRules { limits: &[0.75], max_rounds: 10, step_ms: 60_000, prompt: "Go on.", can_type: true, remaining: &[] }
}

fn plan(state: State) -> Plan {
    Plan {
        session: "s".to_owned(),
        state,
        nonce: "lh-1".to_owned(),
        asked_at: Millis(5),
        since: Millis(5),
        ..Plan::default()
    }
}

#[test]
fn each_state_is_one_thing_to_do() {
    let wanted = |state| step(&plan(state), &rules(), "s");
    assert_eq!(wanted(State::Clearing), Some(BridgeAction::Clear));
    assert_eq!(wanted(State::Prompting), Some(BridgeAction::Submit("Go on.".to_owned())));
    for state in [State::Armed, State::Asked, State::Done, State::Failed, State::Cancelled] {
        assert_eq!(wanted(state), None, "{state}");
    }
    let carried_on = Plan { question: Question::ReminderToType, ..plan(State::Asked) };
    assert!(matches!(step(&carried_on, &rules(), "s"), Some(BridgeAction::Submit(text)) if text.contains("lh-1")));
    assert_eq!(step(&plan(State::Clearing), &rules(), "other"), None, "the plan of another session");
    assert_eq!(step(&Plan { paused: true, ..plan(State::Clearing) }, &rules(), "s"), None);
}

#[test]
fn a_second_try_is_another_step() {
    let first = plan(State::Clearing);
    let second = Plan { attempt: 2, ..first.clone() };
    assert_ne!(step_name(&first), step_name(&second));
    assert_eq!(step_name(&first), step_name(&Plan { reason: "other words".to_owned(), ..first.clone() }));
}

/// Claude Code puts a warning sign before the line.
#[test]
fn the_line_names_problems_only() {
    let fill = |tokens| Some(WindowUse { tokens, window: 1_000_000 });
    let quiet = StatusFacts { fill: fill(899_000), ..StatusFacts::default() };
    assert_eq!(quiet.line(), None);
    let loud = StatusFacts { fill: fill(920_000), handoff_waits: true, problems: vec!["a".into(), "b".into()] };
    let line = "context 92 %, 80k left · a handoff waits for /clear · a · b";
    assert_eq!(loud.line().unwrap(), line);
}

#[test]
fn actions_are_what_the_module_reads() {
    let actions = [BridgeAction::Clear, BridgeAction::Submit("x".to_owned()), BridgeAction::Status(None)];
    assert_eq!(
        answer(&actions),
        json!({ "actions": [{ "do": "clear" }, { "do": "submit", "text": "x" }, { "do": "status", "text": null }] })
    );
}
