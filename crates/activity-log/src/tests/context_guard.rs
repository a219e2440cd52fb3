use longhaul_core::Millis;
use longhaul_core::config::Guard;

use crate::{Metrics, Pressure, TailStart, denial, measure, should_compact, should_deny_agents, starts_subagent};

const NOW: Millis = Millis(1_000_000);

fn guard() -> Guard {
    let mut guard = Guard::default();
    guard.enabled = true;
    guard
}

fn metrics(log: &str) -> Metrics {
    measure(log.as_bytes(), TailStart::LogStart)
}

#[test]
fn pressure_is_the_used_share_of_the_window() {
    for (tokens, window, share) in [(0, 200, 0.0), (50, 200, 0.25), (200, 200, 1.0), (900, 200, 1.0), (0, 0, 0.0)] {
        assert_eq!(Pressure::of(tokens, window), Pressure(share), "{tokens} of {window}");
    }
    assert_eq!(Pressure::of(1, 0), Pressure(1.0), "a window of unknown size counts as one token");
}

#[test]
fn the_estimate_takes_a_quarter_of_the_window_for_output() {
    let of_output = metrics("T 1 400\n");
    assert_eq!(of_output.estimated_tokens(), 100);
    for (window, share) in [(4_000, 0.1), (800, 0.5), (400, 1.0), (100, 1.0), (0, 1.0)] {
        assert_eq!(Pressure::estimate(&of_output, window), Pressure(share), "{window}");
    }
    assert_eq!(Pressure::estimate(&Metrics::default(), 0), Pressure(0.0));
}

#[test]
fn compaction_is_due_from_its_threshold_on() {
    let check = |pressure: f64, expected: bool| {
        assert_eq!(should_compact(&guard(), Pressure(pressure), &metrics("T 1 1\n"), NOW), expected, "{pressure}");
    };
    check(0.0, false);
    check(0.75, false);
    check(0.76, true);
    check(1.0, true);
    assert!(!should_compact(&Guard::default(), Pressure(1.0), &metrics(""), NOW));
}

#[test]
fn a_burst_of_subagents_lowers_the_threshold() {
    let (four, five) = ("A 1 1\nA 2 1\nA 3 1\nA 4 1\n", "A 1 1\nA 2 1\nA 3 1\nA 4 1\nA 5 1\n");
    assert!(!should_compact(&guard(), Pressure(0.7), &metrics(four), NOW));
    assert!(should_compact(&guard(), Pressure(0.7), &metrics(five), NOW));
    assert!(should_compact(&guard(), Pressure(0.61), &metrics(five), NOW));
    assert!(!should_compact(&guard(), Pressure(0.6), &metrics(five), NOW));
}

#[test]
fn compaction_waits_for_the_cooldown_after_a_compaction_and_after_an_injection() {
    let check = |log: &str, expected: bool| {
        assert_eq!(should_compact(&guard(), Pressure(0.9), &metrics(log), NOW), expected, "{log:?}");
    };
    check("C 880000\n", true);
    check("C 880001\n", false);
    check("I 880000\n", true);
    check("I 880001\n", false);
    check("C 500000\nI 999000\n", false);
    check("I 500000\nC 999000\n", false);
}

#[test]
fn subagents_are_denied_from_the_threshold_on() {
    for (pressure, expected) in [(0.0, false), (0.84, false), (0.85, true), (1.0, true)] {
        assert_eq!(should_deny_agents(&guard(), Pressure(pressure)), expected, "{pressure}");
    }
    assert!(!should_deny_agents(&Guard::default(), Pressure(1.0)));
}

#[test]
fn only_tools_that_start_a_subagent_are_denied_and_the_text_has_both_figures() {
    assert!(starts_subagent("Agent") && starts_subagent("Task"));
    assert!(!starts_subagent("Bash") && !starts_subagent("TaskList"));
    let text = denial(&guard(), Pressure(0.9));
    assert!(text.starts_with("The context window is 90 % full, above the limit of 85 % for new subagents: "), "{text}");
}
