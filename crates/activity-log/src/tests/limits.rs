use longhaul_core::Millis;
use proptest::prelude::*;

use crate::limits::{LoopStep, MAX_CALLS, Repetition, agent_mark, loop_step, mark, notified, told};
use crate::{LogLine, TailStart};

/// Returns a log with a call for each letter, one second apart; `.` is a call that waits.
fn log(calls: &str) -> String {
    let mark = |letter: char| (letter != '.').then_some(letter as u16);
    let call = |(n, letter)| LogLine::Tool { at: Millis((n as u64 + 1) * 1000), chars: 1, mark: mark(letter) };
    calls.chars().enumerate().map(call).map(|line| format!("{line}\n")).collect()
}

fn step(log: &str) -> LoopStep {
    loop_step(log.as_bytes(), TailStart::LogStart, 0)
}

#[track_caller]
fn check(calls: &str, expected: LoopStep) {
    assert_eq!(step(&log(calls)), expected, "{calls}");
}

fn seen(cycle: usize, times: usize, since: u64) -> Repetition {
    Repetition { cycle, times, since: Millis(since * 1000) }
}

#[test]
fn five_times_the_same_is_told_and_ten_times_is_notified() {
    check("aaaa", LoopStep::Nothing);
    check("aaaaa", LoopStep::Tell(seen(1, 5, 1)));
    check("xxaaaaaa", LoopStep::Tell(seen(1, 6, 3)));
    check("xaaaaaaaaaa", LoopStep::Notify(seen(1, 10, 2)));
}

#[test]
fn a_cycle_of_two_or_three_counts_and_one_of_four_does_not() {
    check("ababababa", LoopStep::Nothing);
    check("ababababab", LoopStep::Tell(seen(2, 5, 1)));
    check("xabcabcabcabcabc", LoopStep::Tell(seen(3, 5, 2)));
    check("abcdabcdabcdabcdabcdabcd", LoopStep::Nothing);
    check("abababababababababab", LoopStep::Notify(seen(2, 10, 1)));
}

#[test]
fn what_changes_or_waits_is_no_repetition() {
    check("abcdefghij", LoopStep::Nothing);
    check("aaaabaaaa", LoopStep::Nothing);
    check("..........", LoopStep::Nothing);
    check("a.a.a.a.a.a.", LoopStep::Nothing);
}

#[test]
fn a_prompt_begins_anew() {
    let mut log = log("aaaa");
    log += "P 4500\nT 5000 1 97\n";
    assert_eq!(step(&log), LoopStep::Nothing);
}

#[test]
fn every_step_is_taken_once() {
    check_stages("aaaaaaaaaaaabaaaaa", &[1, 2, 0, 1]);
}

#[test]
fn a_repetition_that_is_longer_than_what_is_compared_is_notified_once_and_is_over_once() {
    for cycle in ["a", "ab", "abc"] {
        check_stages(&format!("{}xyz", cycle.repeat(3 * MAX_CALLS)), &[1, 2, 0]);
    }
}

/// Checks which stages are recorded while the calls are made.
#[track_caller]
fn check_stages(calls: &str, expected: &[u8]) {
    let mut text = String::new();
    let mut steps = Vec::new();
    for letter in calls.chars() {
        let at = Millis(text.len() as u64);
        text += &format!("{}\n", LogLine::Tool { at, chars: 1, mark: Some(letter as u16) });
        let step = step(&text);
        if let Some(stage) = step.stage() {
            text += &format!("{}\n", LogLine::Loop { at, agent: 0, stage });
            steps.push(stage);
        }
    }
    assert_eq!(steps, expected, "{calls}");
}

#[test]
fn subagents_are_apart_from_each_other_and_from_the_main_conversation() {
    let (first, second) = (agent_mark(Some("a1")), agent_mark(Some("a2")));
    assert!(first != second && first != 0 && agent_mark(None) == 0);
    let mut log = String::new();
    for at in 1..=5 {
        for agent in [first, second, 0] {
            // The main conversation makes different calls that fail.
            let mark = Some(if agent == 0 { at as u16 } else { 7 });
            log += &format!("{}\n", LogLine::Call { at: Millis(at), agent, mark });
        }
    }
    let step = |agent| loop_step(log.as_bytes(), TailStart::LogStart, agent);
    assert!(matches!(step(first), LoopStep::Tell(_)) && matches!(step(second), LoopStep::Tell(_)));
    assert_eq!(step(0), LoopStep::Nothing);
}

#[test]
fn a_call_is_recognised_by_tool_input_and_result() {
    let of = |tool, input, result| mark("s", tool, input, result, Some(30));
    let same = of("Bash", r#"{"command":"ls"}"#, r#"{"stdout":"a"}"#);
    assert!(same.is_some());
    assert_eq!(same, of("Bash", r#"{"command":"ls"}"#, r#"{"stdout":"a"}"#));
    assert_ne!(same, of("Bash", r#"{"command":"ls"}"#, r#"{"stdout":"b"}"#));
    assert_ne!(same, of("Bash", r#"{"command":"lt"}"#, r#"{"stdout":"a"}"#));
    assert_ne!(same, of("Read", r#"{"command":"ls"}"#, r#"{"stdout":"a"}"#));
    assert_ne!(same, mark("another", "Bash", r#"{"command":"ls"}"#, r#"{"stdout":"a"}"#, Some(30)));
    // Where one ends and the next begins counts.
    assert_ne!(of("Bash", "ab", "c"), of("Bash", "a", "bc"));
}

#[test]
fn waiting_has_no_mark() {
    assert_eq!(mark("s", "Bash", r#"{"command":"sleep 30; cat log"}"#, "", Some(30)), None);
    assert_eq!(mark("s", "BashOutput", "{}", "", Some(3)), None);
    assert_eq!(mark("s", "Bash", r#"{"command":"make"}"#, "", Some(60_000)), None);
    assert!(mark("s", "Bash", r#"{"command":"make"}"#, "", None).is_some());
    assert_eq!(mark("s", "Bash", r#"{"command":"make &\nwait $!"}"#, "", Some(30)), None);
    assert!(mark("s", "Edit", r#"{"old_string":"await next()"}"#, "not found", Some(3)).is_some());
}

#[test]
fn a_growing_log_is_read_without_an_alarm() {
    let mut text = String::new();
    let mut lines = String::new();
    for at in 0..200 {
        lines += &format!("line {at}\\n");
        let mark = mark("s", "Bash", r#"{"command":"tail -n 1000 log"}"#, &lines, Some(20));
        text += &format!("{}\n", LogLine::Tool { at: Millis(at), chars: 1, mark });
        assert_eq!(step(&text), LoopStep::Nothing);
    }
}

#[test]
fn the_texts_say_what_how_often_and_since_when() {
    let text = told(&seen(1, 5, 1), "Bash", "14:02");
    assert!(text.contains("call of Bash") && text.contains("5 times in a row, since 14:02"), "{text}");
    assert!(told(&seen(3, 6, 1), "Edit", "14:02").contains("The same 3 calls, the last one of Edit"));
    assert_eq!(
        notified(&seen(1, 10, 1), "Bash", "14:02"),
        "the same call of Bash with the same result, 10 times since 14:02"
    );
}

proptest! {
    #[test]
    fn calls_that_differ_from_the_three_before_are_never_a_repetition(calls in prop::collection::vec(0..1000_u16, 0..80)) {
        // Each call differs from its three predecessors by construction.
        let calls: Vec<u16> = calls.iter().enumerate().map(|(n, call)| call * 4 + n as u16 % 4).collect();
        let log: String = calls.iter().map(|mark| format!("T 1 1 {mark}\n")).collect();
        prop_assert_eq!(step(&log), LoopStep::Nothing);
    }

    #[test]
    fn whatever_came_before_a_repetition_is_found(
        before in "[a-z.]{0,40}", cycle in 1..=3_usize, times in 5..12_usize,
    ) {
        let calls = format!("{before}#{}", "XYZ"[..cycle].repeat(times));
        let expected = if times >= 10 { LoopStep::Notify } else { LoopStep::Tell };
        let first = (before.len() + 2) as u64;
        prop_assert_eq!(step(&log(&calls)), expected(seen(cycle, times, first)));
    }

    #[test]
    fn any_log_is_read(bytes in prop::collection::vec(any::<u8>(), 0..400), agent in any::<u16>()) {
        let _ = loop_step(&bytes, TailStart::Midway, agent);
    }
}
