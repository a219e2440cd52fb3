use longhaul_core::Millis;

use crate::continuation::{is_rate_limit, lifted_at, notices};

#[test]
fn the_limit_is_lifted_when_the_last_one_that_is_used_up_ends() {
    let limits = |five: f64, seven: f64| {
        format!(
            r#"{{"five_hour":{{"used_percentage":{five},"resets_at":20}},"seven_day":{{"used_percentage":{seven},"resets_at":90}}}}"#
        )
    };
    assert_eq!(lifted_at(&limits(100.0, 50.0)), Some(Millis(20_000)));
    assert_eq!(lifted_at(&limits(99.0, 99.0)), Some(Millis(90_000)));
    assert_eq!(lifted_at(&limits(98.9, 99.0)), Some(Millis(90_000)));
    assert_eq!(lifted_at(&limits(98.9, 98.9)), Some(Millis(20_000)), "none is used up: the next one");
    assert_eq!(lifted_at(r#"{"five_hour":{"used_percentage":100}}"#), None);
    assert_eq!(lifted_at("[]"), None);
}

#[test]
fn only_a_rate_limit_pauses() {
    assert!(is_rate_limit("rate_limit") && is_rate_limit("rate_limit_error"));
    assert!(!is_rate_limit("overloaded") && !is_rate_limit(""));
}

#[test]
fn messages_name_the_reason_and_the_next_step() {
    assert_eq!(notices::asked(0.756), "the context is 76 % full; asked for a handoff");
    assert_eq!(notices::goes_on(2), "goes on from the handoff, round 2");
    assert_eq!(notices::not_continued("a loop"), "not continued: a loop");
    let yet = notices::not_continued_yet("a loop");
    assert_eq!(yet, "not continued: a loop; `longhaul continuation resume` tries again");
    let codex = |goes_on| notices::near_limit_of_codex(0.5, goes_on);
    assert_eq!(codex(true), "the context is 50 % full; the baton is written: a new session goes on in a moment");
    assert!(codex(false).ends_with("the baton is written: type /new, and the new session goes on from here"));
}
