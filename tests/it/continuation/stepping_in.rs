//! A user who types or cancels during a continuation, and whatever else ends a plan.

use std::time::Duration;

use rustix::process::{Signal, kill_process};

use super::{PROMPT, Stage, full_turn, handoff};
use crate::poll::{DEADLINE, wait_until};
use crate::standin::{Options, Reply};

#[test]
fn a_user_who_types_something_else_cancels_it() {
    let stage = Stage::new(Options::default().with_clear_delay(Duration::from_secs(3)));
    stage.standin.replies([full_turn(), handoff("the rest"), Reply::new("As you wish.")]);
    stage.types("count");
    stage.wait_for_state("clearing");
    wait_until(DEADLINE, "the clear to be typed", || stage.prompts().len() == 2);
    stage.types("wait, something else");
    stage.wait_for_state("cancelled");
    stage.standin.wait_for_session_change(DEADLINE);
    stage.standin.wait_for_state("the other turn", |state| state.stops == 3);
    assert!(!stage.prompts().contains(&PROMPT.to_owned()), "{:?}", stage.prompts());
}

/// Stops what types, between the typed `/clear` and Enter: the redraws are late, so that it waits. It goes on with [`go_on`].
fn typing() -> Stage {
    let stage = Stage::new(Options::default());
    stage.standin.replies([full_turn(), handoff("the rest")]);
    stage.standin.delay(Duration::from_secs(5));
    stage.types("count");
    wait_until(DEADLINE, "the clear to be typed", || stage.standin.state().draft == "/clear");
    signal(&stage, Signal::STOP);
    stage.standin.delay(Duration::ZERO);
    stage
}

fn go_on(stage: &Stage) {
    signal(stage, Signal::CONT);
}

fn signal(stage: &Stage, signal: Signal) {
    for pid in stage.sandbox.processes(Some("run-injector")) {
        kill_process(pid, signal).unwrap();
    }
}

#[test]
fn what_is_cancelled_before_enter_is_taken_back() {
    let stage = typing();
    let cancelled = stage.sandbox.longhaul(&["continuation", "cancel"]);
    assert_eq!(cancelled.status, Some(0), "{}", cancelled.stderr);
    go_on(&stage);
    stage.standin.wait_for_state("an empty input", |state| state.draft.is_empty());
    assert_eq!(stage.prompts(), ["count"]);
}

#[test]
fn a_turn_that_begins_before_enter_is_not_cleared() {
    let stage = typing();
    stage.standin.turn();
    go_on(&stage);
    stage.standin.wait_for_state("an empty input", |state| state.draft.is_empty());
    assert_eq!(stage.prompts(), ["count"]);
    // Its end is not in the handoff.
    stage.standin.stop();
    let cancelled = stage.wait_for_state("cancelled");
    assert!(cancelled["reason"].as_str().unwrap().contains("a turn ran"), "{cancelled}");
    // The turn that has ended may have its bookmark already.
    let prompts = stage.prompts();
    assert!(prompts.iter().all(|prompt| ["count", "·"].contains(&prompt.as_str())), "{prompts:?}");
}

/// A hook that could not write to the database has still noted the prompt.
#[test]
fn a_prompt_that_only_the_log_knows_of_stops_it() {
    let stage = Stage::with_step(Options::default().swallowing_clears(1), 2.0);
    let log = stage.sandbox.data_dir().join(format!("sessions/{}.log", stage.standin.session_id()));
    stage.standin.replies([full_turn(), handoff("the rest")]);
    stage.types("count");
    wait_until(DEADLINE, "the clear that is swallowed", || stage.prompts().len() == 2);
    let body = format!("cat > /dev/null; echo \"P $(date +%s%3N)\" >> {}; echo '{{}}'", log.display());
    stage.script("UserPromptSubmit", "longhaul-user-prompt-submit", &body);
    stage.types("something else");
    let cancelled = stage.wait_for_state("cancelled");
    assert!(cancelled["reason"].as_str().unwrap().contains("something else was begun"), "{cancelled}");
    assert_eq!(stage.prompts().iter().filter(|prompt| *prompt == "/clear").count(), 1);
}

#[test]
fn what_is_switched_off_meanwhile_stops() {
    let stage = Stage::with_step(Options::default().swallowing_clears(1), 2.0);
    stage.standin.replies([full_turn(), handoff("the rest")]);
    stage.types("count");
    wait_until(DEADLINE, "the clear that is swallowed", || stage.prompts().len() == 2);
    stage.sandbox.write_config("{}");
    let cancelled = stage.wait_for_state("cancelled");
    assert!(cancelled["reason"].as_str().unwrap().contains("switched off"), "{cancelled}");
    assert_eq!(stage.prompts(), ["count", "/clear"]);
}
