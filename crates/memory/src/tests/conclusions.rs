use crate::conclusions::{conclusions, joined};

fn learned(reply: &str) -> Vec<String> {
    conclusions([reply].into_iter()).learned
}

fn reported(reply: &str) -> Vec<String> {
    conclusions([reply].into_iter()).reported
}

#[test]
fn a_cause_a_decision_and_a_finding_are_conclusions() {
    for sentence in [
        "The importer stalls because batch.rs opens a write transaction per row.",
        "The 31st is counted twice, so the balance is off by a day.",
        "Settled: originals older than 18 months move to the cold bucket.",
        "Decision 0004 is amended: amounts are i64 in the currency's minor unit.",
        "From now on Mosquitto on the Pi is the broker.",
        "On the copy of production it drops from 3.4 s to 2 ms.",
        "Der Regler rechnet mit Fahrenheit, weil die Einheit nirgends steht.",
        "日付が和暦で書かれているため、一致していませんでした。",
        "`elem_shift` looks at the rounded size of the array.",
        "It turned out that St. Michael is closed until 1.5 hours before, e.g. on Sundays.",
    ] {
        assert_eq!(learned(sentence), [sentence]);
    }
}

#[test]
fn reports_plans_questions_and_courtesies_are_none() {
    for reply in [
        "Added to CHANGELOG.md.",
        "I added the entry to CHANGELOG.md and updated the tests.",
        "I've also renamed the module.",
        "The README has been updated to match.",
        "Pushed as fix/accrual-range, CI is green.",
        "All 14 tests pass.",
        "Let me look at the log first.",
        "I'll fix that now.",
        "Looking at the importer.",
        "Shall I also clean up the old migration?",
        "Would you like me to continue?",
        "Done.",
        "I switched to the zstd crate, so no program is needed.",
        "Great, that works.",
        "Here is what I found:",
        "元号表を追加しました。",
        "",
    ] {
        assert_eq!(learned(reply), [""; 0], "{reply}");
    }
}

#[test]
fn code_tables_headings_and_what_is_left_are_not_read() {
    let reply = "# Why it failed because of x\n\n```\nfails because = 1\n```\n| a | because |\n> quoted because\n\n\
                 The lock is held while the rates are fetched.\n\n\
                 - The rate service times out after fifteen minutes.\n- [ ] tell support because they asked\n\n\
                 ## Next steps\n- fetch the rates first, because that is cheap\n\nDecision: one transaction per file\n";
    assert_eq!(
        learned(reply),
        ["The lock is held while the rates are fetched.", "The rate service times out after fifteen minutes."]
    );
}

#[test]
fn decisions_come_first_then_the_answer_to_the_first_prompt() {
    let replies = [
        "The probe reads 100 because GPIO2 is on ADC2. The wiring table names it.",
        "Settled: twenty minutes of rest per valve.",
        "They chattered because the threshold has no hysteresis. Now I run the simulation.",
        "Changed: thirty minutes of rest per valve. I edited src/control/valve.cpp and the table.",
    ];
    let found = conclusions(replies.into_iter());
    assert_eq!(
        found.learned,
        [
            "Changed: thirty minutes of rest per valve.",
            "Settled: twenty minutes of rest per valve.",
            "The probe reads 100 because GPIO2 is on ADC2.",
            "They chattered because the threshold has no hysteresis.",
            "The wiring table names it.",
        ]
    );
    assert_eq!(found.reported, ["I edited src/control/valve.cpp and the table."]);
}

#[test]
fn a_short_answer_or_a_proposal_counts_where_there_is_nothing_else() {
    let proposal = "I suggest that we fetch the rates first.";
    assert_eq!(learned(proposal), [proposal]);
    assert_eq!(learned(&format!("{proposal} The lock is held for minutes.")), ["The lock is held for minutes."]);
    assert_eq!(learned("42 beans."), ["42 beans."]);
    assert_eq!(
        learned("42 beans. They are counted twice because the belt stops."),
        ["They are counted twice because the belt stops."]
    );
    assert_eq!(conclusions(["42 beans.", "Done."].into_iter()).learned, [""; 0]);
}

#[test]
fn what_was_done_is_reported_apart() {
    let reply =
        "The bank sends field 86 without subfields. I replaced the unwrap by a fallback that keeps the raw text.";
    assert_eq!(learned(reply), ["The bank sends field 86 without subfields."]);
    assert_eq!(reported(reply), ["I replaced the unwrap by a fallback that keeps the raw text."]);
    assert_eq!(reported("Done."), [""; 0]);
}

#[test]
fn a_long_session_is_read_up_to_a_limit() {
    let long = "The lock is held because nobody lets go. ".repeat(4_000);
    let found = conclusions([long.as_str(), long.as_str()].into_iter());
    assert_eq!(found.learned, ["The lock is held because nobody lets go."]);
}

#[test]
fn the_first_reply_comes_before_the_newest_except_with_a_decision() {
    let replies = ["It drifts because of the probe. Settled: one probe per bed.", "It leaks because of the valve."];
    assert_eq!(
        conclusions(replies.into_iter()).learned,
        ["Settled: one probe per bed.", "It drifts because of the probe.", "It leaks because of the valve."]
    );
    let decisions = ["Settled: one probe per bed.", "Settled: two probes per bed."];
    assert_eq!(conclusions(decisions.into_iter()).learned, [decisions[1], decisions[0]]);
}

#[test]
fn the_newest_replies_and_the_first_are_read() {
    let reply = |number: usize| format!("Settled: {number} valves per bed. {}", "Let me look at it. ".repeat(1_000));
    let replies: Vec<String> = (0..5).map(reply).collect();
    let learned = conclusions(replies.iter().map(String::as_str)).learned;
    assert_eq!(learned, [4, 3, 0].map(|number| format!("Settled: {number} valves per bed.")));
}

#[test]
fn a_reply_adds_two_findings_and_a_session_has_six_conclusions() {
    let findings = "The lock is held for minutes. The rates are fetched too late. The belt stops every hour.";
    assert_eq!(learned(findings), ["The lock is held for minutes.", "The rates are fetched too late."]);
    let causes: String = (0..7).map(|number| format!("It stalls because of lock {number}. ")).collect();
    assert_eq!(learned(&causes).len(), 6);
}

#[test]
fn reports_are_those_of_the_newest_reply_that_has_any() {
    let report = "I replaced the unwrap by a fallback that keeps the raw text.";
    assert_eq!(conclusions([report, "It stalls because the lock is held."].into_iter()).reported, [report]);
}

#[test]
fn a_language_without_spaces_needs_fewer_characters() {
    let finding = "元号表は和暦のままになっている。";
    assert_eq!(learned(&format!("短い。\n\n{finding}")), [finding]);
}

#[test]
fn sentences_are_joined_while_they_fit() {
    let sentences = ["Four".to_owned(), "Five".to_owned()];
    assert_eq!(joined(&sentences, 9), "Four Five");
    assert_eq!(joined(&sentences, 8), "Four");
    assert_eq!(joined(&sentences, 3), "");
}

#[test]
fn what_follows_a_heading_of_things_to_do_is_left_out() {
    let reply = "## Next steps\nFetch the rates first because that is cheap.\n\nThe lock is held for minutes.";
    assert_eq!(learned(reply), ["The lock is held for minutes."]);
    let list = "## Next steps\n- fetch the rates because\nthat is cheap and quick.\nThe lock is held for minutes.";
    assert_eq!(learned(list), ["The lock is held for minutes."]);
}

#[test]
fn sentences_end_where_a_reader_would_end_them() {
    assert_eq!(learned("The lock is held\nfor many minutes."), ["The lock is held for many minutes."]);
    let code = "The call `open. Close` is held for minutes.";
    assert_eq!(learned(code), [code]);
    assert_eq!(
        learned("元号表は和暦のままです。日付は西暦で書かれています。"),
        ["元号表は和暦のままです。", "日付は西暦で書かれています。"]
    );
}

#[test]
fn a_report_that_says_nothing_is_no_conclusion_of_its_reply() {
    assert!(conclusions(["I added tests."].into_iter()).of_reply(0).is_none());
    let told = conclusions(["Pushed as fix/accrual-range, and all 14 tests pass."].into_iter());
    assert_eq!(told.of_reply(0).unwrap().sentences, ["Pushed as fix/accrual-range, and all 14 tests pass."]);
}
