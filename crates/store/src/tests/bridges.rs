use longhaul_core::Millis;
use longhaul_handoff::continuation::{Plan, PlanAction, PlanOutcome, State};

use super::empty;
use crate::{NewChain, StepTaker};

#[test]
fn a_client_is_known_from_its_first_word_to_its_last() {
    let (_folder, store) = empty();
    store.begin_bridge(7, "longhaul", Millis(1)).unwrap();
    store.note_bridge_trouble(7, "no").unwrap();
    store.hear_bridge(7, "longhaul", Millis(5)).unwrap();
    store.hear_bridge(7, "longhaul", Millis(3)).unwrap();
    let heard = store.connection.query_row("SELECT heard_ms FROM bridges", (), |row| row.get(0));
    assert_eq!(heard, Ok(5));
    assert_eq!(store.bridge(7).unwrap().unwrap().trouble.as_deref(), Some("no"));
    store.begin_bridge(7, "longhaul", Millis(9)).unwrap();
    assert_eq!(store.bridge(7).unwrap().unwrap().trouble, None, "another client with the same number");
    store.drop_bridge(7).unwrap();
    assert_eq!(store.bridges().unwrap(), []);
}

#[test]
fn an_errand_is_done_by_one() {
    let (_folder, store) = empty();
    assert!(!store.leave_errand(7, "compact").unwrap(), "there is nobody to leave it for");
    store.begin_bridge(7, "longhaul", Millis(1)).unwrap();
    assert!(store.leave_errand(7, "compact").unwrap() && store.has_errand(7).unwrap());
    assert_eq!(store.take_errand(7).unwrap().as_deref(), Some("compact"));
    assert_eq!((store.take_errand(7).unwrap(), store.has_errand(7).unwrap()), (None, false));
}

#[test]
fn a_step_is_taken_by_the_module_or_typed_never_both() {
    let (_folder, store) = empty();
    let plan = Plan::new("s", Millis(1));
    let decide = |plan: &Plan, _: &[String]| {
        let mut plan = plan.clone();
        plan.state = State::Clearing;
        PlanOutcome::new(plan, PlanAction::Nothing)
    };
    let new = NewChain { project_path: "/p", client_pid: 7, terminal_lock: None };
    let id = store.begin_chain(&new, &plan, Millis(1), decide).unwrap().unwrap().chain.id;
    let take = |step: &str, by| store.take_step(id, step, by).unwrap();
    assert!(take("one", StepTaker::Bridge) && store.is_with_bridge(id, "one").unwrap());
    assert!(!take("one", StepTaker::Bridge) && !take("one", StepTaker::Typist));
    assert!(take("two", StepTaker::Typist) && !store.is_with_bridge(id, "two").unwrap());
    assert!(take("two", StepTaker::Typist), "whoever typed may have been killed");
    assert!(!take("two", StepTaker::Bridge));
}
