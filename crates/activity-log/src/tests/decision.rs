use longhaul_core::config::{Bookmarks, BookmarksOn, Count, Guard, Seconds, Share};
use longhaul_core::event::{HookEvent, Stop, parse};
use longhaul_core::{Config, Millis};
use proptest::prelude::*;

use crate::{
    BookmarkVerdict, LogLine, Metrics, Pressure, Situation, SkipReason, TailStart, ThresholdMet, decide, denial,
    measure, meets_any_threshold, should_compact, starts_subagent,
};

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
    off.enabled = BookmarksOn::Never;
    turn_end_only.enabled = BookmarksOn::TurnEnd;
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

fn guard() -> Guard {
    let mut guard = Guard::default();
    (guard.compact_percent, guard.deny_percent) = (Some(Share(0.76)), Some(Share(0.85)));
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
        assert_eq!(denial(&guard(), Pressure(pressure)).is_some(), expected, "{pressure}");
    }
    assert!(denial(&Guard::default(), Pressure(1.0)).is_none());
}

#[test]
fn only_tools_that_start_a_subagent_are_denied_and_the_text_has_both_figures() {
    assert!(starts_subagent("Agent") && starts_subagent("Task"));
    assert!(!starts_subagent("Bash") && !starts_subagent("TaskList"));
    let text = denial(&guard(), Pressure(0.9)).unwrap();
    assert!(text.starts_with("The context window is 90 % full, above the limit of 85 % for new subagents: "), "{text}");
}

/// What can happen next in a session.
#[derive(Debug, Clone, Copy)]
enum Step {
    Tool(u64),
    Agent(u64),
    Prompt,
    /// The marker that was typed arrives, or a person types one.
    Marker,
    Stop,
    Compact,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..40_000_u64).prop_map(Step::Tool),
        2 => (0..40_000_u64).prop_map(Step::Agent),
        1 => Just(Step::Prompt),
        2 => Just(Step::Marker),
        2 => Just(Step::Stop),
        1 => Just(Step::Compact),
        3 => (0..60_000_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_500))]

    #[test]
    fn no_two_injections_within_the_cooldown_and_none_without_work(
        steps in proptest::collection::vec(step(), 1..60),
        cooldown in 0..60_u32,
    ) {
        let mut config = Bookmarks::default();
        config.thresholds.cooldown_seconds = Seconds::new(cooldown);
        config.thresholds.min_tool_calls = Count(3);
        let mut log = String::new();
        let mut now = Millis(1_000_000);
        let mut last_injection: Option<Millis> = None;
        let mut work_since_bookmark = 0;
        for step in steps {
            now.0 += 1;
            let mut asks = false;
            match step {
                Step::Tool(chars) => { log += &format!("{}\n", LogLine::Tool { at: now, chars, mark: None }); work_since_bookmark += 1; asks = true; }
                Step::Agent(chars) => { log += &format!("{}\n", LogLine::Agent { at: now, chars }); work_since_bookmark += 1; asks = true; }
                Step::Prompt => log += &format!("{}\n", LogLine::Prompt { at: now }),
                Step::Marker => { log += &format!("{}\n", LogLine::Bookmark { at: now }); work_since_bookmark = 0; }
                Step::Compact => { log += &format!("C {now}\nB {now}\n"); work_since_bookmark = 0; }
                Step::Stop => asks = true,
                Step::Wait(ms) => now.0 += ms,
            }
            if !asks { continue; }
            let verdict = decide(Situation::ToolCall, &config, true, &measure(log.as_bytes(), TailStart::LogStart), now);
            if let BookmarkVerdict::Inject(_) = verdict {
                if let Some(last) = last_injection {
                    prop_assert!(now.since(last) >= u64::from(cooldown) * 1000, "{last} and {now} are closer than {cooldown} s");
                }
                prop_assert!(work_since_bookmark > 0, "nothing was done since the last bookmark");
                log += &format!("{}\n", LogLine::Injection { at: now });
                last_injection = Some(now);
            }
        }
    }
}
