use longhaul_core::config::{Bookmarks, Seconds};
use longhaul_core::event::{HookEvent, Stop, parse};
use longhaul_core::{Config, Millis};

use crate::{BookmarkVerdict, Situation, SkipReason, TailStart, ThresholdMet, decide, measure, meets_any_threshold};

const NOW: Millis = Millis(1_000_000);

#[track_caller]
fn check(situation: Situation<'_>, log: &str, expected: Result<&str, SkipReason>) {
    let verdict = decide(situation, &Bookmarks::default(), true, &measure(log.as_bytes(), TailStart::LogStart), NOW);
    match (verdict, expected) {
        (BookmarkVerdict::Inject(reason), Ok(text)) => assert_eq!(reason.to_string(), text),
        (verdict, Ok(text)) => panic!("{verdict:?} instead of {text}"),
        (verdict, Err(skip)) => assert_eq!(verdict, BookmarkVerdict::Skip(skip)),
    }
}

fn tools(n: u64) -> String {
    (0..n).map(|i| format!("T {} 10\n", 900_000 + i)).collect()
}

fn stop(extra: &str) -> Stop {
    let text = format!(r#"{{"session_id":"s"{extra}}}"#);
    Stop::from_wire(parse(&text).unwrap()).unwrap()
}

#[test]
fn any_threshold_is_enough_and_says_what_it_counted() {
    check(Situation::ToolCall, &tools(15), Ok("15 tool calls of 15"));
    check(Situation::ToolCall, "T 900000 24000\n", Ok("6000 tokens of 6000"));
    check(Situation::ToolCall, "T 800000 1\nT 920000 1\n", Ok("120 seconds of 120"));
    check(Situation::AgentReturn, "A 900000 1\nA 900001 1\nA 900002 1\n", Ok("3 subagents of 3"));
    check(Situation::ToolCall, &tools(14), Err(SkipReason::BelowThresholds));
}

#[test]
fn all_hooks_ask_the_same_question() {
    let stop = stop("");
    for situation in [Situation::ToolCall, Situation::AgentReturn, Situation::Stop(&stop)] {
        check(situation, &tools(20), Ok("20 tool calls of 15"));
    }
}

#[test]
fn switches_come_before_everything() {
    let metrics = measure(tools(20).as_bytes(), TailStart::LogStart);
    let (mut off, mut turn_end_only) = (Bookmarks::default(), Bookmarks::default());
    off.enabled = false;
    turn_end_only.mid_turn = false;
    assert_eq!(decide(Situation::ToolCall, &off, true, &metrics, NOW), BookmarkVerdict::Skip(SkipReason::Disabled));
    assert_eq!(
        decide(Situation::ToolCall, &turn_end_only, true, &metrics, NOW),
        BookmarkVerdict::Skip(SkipReason::Disabled)
    );
    assert!(matches!(decide(Situation::AgentReturn, &turn_end_only, true, &metrics, NOW), BookmarkVerdict::Inject(_)));
    let no_terminal = decide(Situation::ToolCall, &Bookmarks::default(), false, &metrics, NOW);
    assert_eq!(no_terminal, BookmarkVerdict::Skip(SkipReason::NoTerminal));
}

#[test]
fn a_stop_at_the_limit_or_by_the_user_is_left_alone() {
    for field in ["stop_reason", "stopReason", "reason", "end_turn_reason", "endTurnReason"] {
        check(
            Situation::Stop(&stop(&format!(r#","{field}":"Model_Context_Window_exceeded""#))),
            &tools(20),
            Err(SkipReason::ContextLimit),
        );
    }
    for reason in
        ["aborted", "ABORT", "cancel", "interrupt", "by_user_cancel_now", "user_interrupt", "ctrl_c", "manual_stop"]
    {
        check(Situation::Stop(&stop(&format!(r#","reason":"{reason}""#))), &tools(20), Err(SkipReason::UserAbort));
    }
    for extra in [r#","user_requested":true"#, r#","userRequested":true"#] {
        check(Situation::Stop(&stop(extra)), &tools(20), Err(SkipReason::UserAbort));
    }
    for reason in ["end_turn", "cancelled_by_tool", "interrupted"] {
        check(Situation::Stop(&stop(&format!(r#","reason":"{reason}""#))), &tools(20), Ok("20 tool calls of 15"));
    }
}

#[test]
fn nothing_since_the_bookmark_and_the_cooldown_hold_it_back() {
    check(Situation::ToolCall, &format!("{}B 900100\n", tools(20)), Err(SkipReason::NothingSinceBookmark));
    check(Situation::ToolCall, &format!("B 990000\n{}", tools(20)), Err(SkipReason::Cooldown { left_ms: 15_000 }));
    check(Situation::ToolCall, &format!("{}I 999000\n", tools(20)), Err(SkipReason::Cooldown { left_ms: 24_000 }));
    check(Situation::ToolCall, &format!("{}I 970000\n", tools(20)), Ok("20 tool calls of 15"));
}

#[test]
fn an_injection_on_its_way_is_not_sent_twice_even_without_a_cooldown() {
    let mut config = Bookmarks::default();
    config.thresholds.cooldown_seconds = Seconds::new(0);
    let decide =
        |log: String| decide(Situation::ToolCall, &config, true, &measure(log.as_bytes(), TailStart::LogStart), NOW);
    assert_eq!(decide(format!("{}I 999000\n", tools(20))), BookmarkVerdict::Skip(SkipReason::InFlight));
    assert!(matches!(decide(format!("{}I 994000\n", tools(20))), BookmarkVerdict::Inject(_)));
    assert_eq!(decide(format!("{}I 980000\nI 990000\n", tools(20))), BookmarkVerdict::Skip(SkipReason::Unconfirmed));
    let reason = ThresholdMet { what: "tool calls", actual: 20, limit: 15.0 };
    assert_eq!(decide(format!("{}I 980000\nI 990000\nP 990001\n", tools(20))), BookmarkVerdict::Inject(reason));
}

#[test]
fn a_clock_set_back_does_not_hold_up_bookmarks_for_ever() {
    check(Situation::ToolCall, &format!("I 9000000\n{}", tools(20)), Ok("20 tool calls of 15"));
}

#[test]
fn the_cooldown_ends_to_the_millisecond() {
    check(Situation::ToolCall, &format!("{}I 975001\n", tools(20)), Err(SkipReason::Cooldown { left_ms: 1 }));
    check(Situation::ToolCall, &format!("{}I 975000\n", tools(20)), Ok("20 tool calls of 15"));
    // A time ahead of the clock counts up to the length of the cooldown.
    check(Situation::ToolCall, &format!("{}I 1025000\n", tools(20)), Err(SkipReason::Cooldown { left_ms: 50_000 }));
    check(Situation::ToolCall, &format!("{}I 1025001\n", tools(20)), Ok("20 tool calls of 15"));
}

#[test]
fn an_injection_can_be_confirmed_for_five_seconds() {
    let (config, _) = Config::from_json(r#"{"bookmarks": {"thresholds": {"cooldown_seconds": 0}}}"#);
    let decide = |log: String| {
        decide(Situation::ToolCall, &config.bookmarks, true, &measure(log.as_bytes(), TailStart::LogStart), NOW)
    };
    assert_eq!(decide(format!("{}I 995001\n", tools(20))), BookmarkVerdict::Skip(SkipReason::InFlight));
    assert!(matches!(decide(format!("{}I 995000\n", tools(20))), BookmarkVerdict::Inject(_)));
    // A bookmark has confirmed it.
    assert!(matches!(decide(format!("I 999000\nB 999001\n{}", tools(20))), BookmarkVerdict::Inject(_)));
}

#[test]
fn without_any_work_no_threshold_is_met() {
    let none = r#"{"bookmarks": {"thresholds": {"min_tokens": 0, "min_tool_calls": 0, "min_seconds": 0}}}"#;
    let thresholds = Config::from_json(none).0.bookmarks.thresholds;
    assert_eq!(meets_any_threshold(&measure(b"P 1\n", TailStart::LogStart), &thresholds), None);
    let met = meets_any_threshold(&measure(b"T 1 0\n", TailStart::LogStart), &thresholds);
    assert_eq!(met.map(|met| met.to_string()).as_deref(), Some("0 tokens of 0"));
}

#[test]
fn every_reason_has_words() {
    for (reason, words) in [
        (SkipReason::Disabled, "bookmarks are switched off"),
        (SkipReason::NoTerminal, "no terminal that can be typed into"),
        (SkipReason::ContextLimit, "the turn stopped because the context is full"),
        (SkipReason::UserAbort, "the user stopped the turn"),
        (SkipReason::NothingSinceBookmark, "nothing done since the last bookmark"),
        (SkipReason::Cooldown { left_ms: 7 }, "cooling down for another 7 ms"),
        (SkipReason::InFlight, "a bookmark was typed and is not confirmed yet"),
        (
            SkipReason::Unconfirmed,
            "the last two bookmarks were not confirmed; the next one is typed after the next prompt",
        ),
        (SkipReason::BelowThresholds, "below every threshold"),
    ] {
        assert_eq!(reason.to_string(), words);
    }
}
