use proptest::prelude::*;

use crate::left_to_do::left_to_do;
use crate::summarize::{without_commands, without_failures};
use crate::{Exchange, Kind, Observation, Summary, TurnText, summarize};

fn seen(kind: Kind, tool: &str, title: &str, read: &[&str], modified: &[&str]) -> Observation {
    let files = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
    Observation {
        kind,
        tool: tool.to_owned(),
        title: title.to_owned(),
        narrative: String::new(),
        facts: Vec::new(),
        files_read: files(read),
        files_modified: files(modified),
    }
}

#[test]
fn a_session_is_told_in_five_parts() {
    let turns = [
        TurnText { asked: "Fix the login\n\nIt fails on Mondays.\nMore.", replied: "Looking." },
        TurnText {
            asked: "go on",
            replied: "# Done\n\nThe clock was read twice. It is read once now. So it works. And more.\n\nDecision: one clock\n\n## Next steps\n- test on Monday\n- [x] write it\n- [ ] tell Ann\n",
        },
    ];
    let observations = [
        seen(Kind::Discovery, "Read", "Read src/auth.rs", &["src/auth.rs"], &[]),
        seen(Kind::Discovery, "Grep", "Searched for `now`: 2 files", &["src/a.rs"], &[]),
        seen(Kind::Problem, "Bash", "Failed: `cargo test 2>&1 | tail -5` (exit status 101)", &[], &[]),
        seen(Kind::Problem, "Bash", "Failed: `make` (exit status 2)", &[], &[]),
        seen(Kind::Change, "Edit", "Edited src/auth.rs", &[], &["src/auth.rs"]),
        seen(Kind::Change, "Edit", "Edited src/auth.rs", &[], &["src/auth.rs"]),
        seen(Kind::Fix, "Bash", "Fixed: `cargo test` passes again", &[], &[]),
        seen(Kind::Command, "Bash", "Ran `git status`", &[], &[]),
        seen(Kind::Command, "Bash", "Ran `false` (exit status 1)", &[], &[]),
    ];
    let summary = summarize(&turns, &observations);
    let expected = Summary {
        request: "go on (before: Fix the login It fails on Mondays.)".to_owned(),
        investigated: "Read src/auth.rs. Searched for `now`: 2 files".to_owned(),
        learned: "Decided: one clock. The clock was read twice. It is read once now.".to_owned(),
        completed: "Changed src/auth.rs. Fixed: `cargo test` passes again. Ran `git status`".to_owned(),
        next_steps: "test on Monday; tell Ann. Failed: `make` (exit status 2)".to_owned(),
        exchanges: vec![Exchange {
            asked: "Fix the login It fails on Mondays.".to_owned(),
            outcome: "Decided: one clock. The clock was read twice.".to_owned(),
            is_decision: true,
        }],
    };
    assert_eq!(summary, expected);
}

#[test]
fn a_title_with_one_backquote_names_no_command() {
    let ran = [seen(Kind::Command, "Bash", "Ran `", &[], &[])];
    assert_eq!(summarize(&[TurnText::default()], &ran).completed, "");
}

#[test]
fn nothing_in_nothing_out() {
    assert_eq!(summarize(&[], &[]), Summary::default());
    assert_eq!(summarize(&[TurnText::default()], &[]), Summary::default());
}

#[test]
fn what_is_left_is_found_under_its_heading() {
    for (reply, left) in [
        ("Next steps: run it", &["run it"][..]),
        ("**Next steps**\n1. one\n2) two\n\nAnything else?", &["one", "two"]),
        ("**Remaining:**\n\n* a\n* b\n\n## Other\n- not this", &["a", "b"]),
        ("TODO\n- a", &["a"]),
        ("Next steps\n\nRun the tests on a Mac.", &["Run the tests on a Mac."]),
        ("- [ ] open\n- [x] done\n☐ also open", &["open", "also open"]),
        ("The remaining cases are handled.\n- x", &[]),
        ("Nothing is left.", &[]),
    ] {
        assert_eq!(left_to_do(reply), left, "{reply}");
    }
}

#[test]
fn what_was_decided_in_any_turn_is_learned_and_the_newest_comes_first() {
    let turns = [
        TurnText {
            asked: "how do we store amounts?",
            replied: "Decided: cents as i64, one column. I wrote it into docs/amounts.md.",
        },
        TurnText { asked: "and yen?", replied: "Decided: the currency's minor unit. The scale travels with it." },
        TurnText { asked: "note it", replied: "Added to CHANGELOG.md." },
    ];
    let summary = summarize(&turns, &[]);
    assert_eq!(
        summary.learned,
        "Decided: the currency's minor unit, cents as i64, one column. The scale travels with it."
    );
    assert_eq!(summary.completed, "");
}

#[test]
fn a_report_is_no_conclusion() {
    let turns = [TurnText { asked: "note it", replied: "Added to CHANGELOG.md. All tests pass." }];
    assert_eq!(summarize(&turns, &[]).learned, "");
}

#[test]
fn the_list_of_commands_can_be_left_out() {
    for (completed, expected) in [
        ("Changed a.rs. Ran `x`, `y`", "Changed a.rs."),
        ("Ran `x`", ""),
        ("Changed a.rs", "Changed a.rs"),
        ("I Ran `x` myself", "I Ran `x` myself"),
        ("", ""),
    ] {
        assert_eq!(without_commands(completed), expected);
    }
    assert_eq!(without_failures("test it. Failed: `make` (exit status 2)"), "test it.");
    assert_eq!(without_failures("Failed: `make`"), "");
}

/// Returns the exchanges of a session, each as `asked → outcome`.
fn paired(turns: &[(&str, &str)]) -> Vec<String> {
    let turns: Vec<TurnText<'_>> = turns.iter().map(|(asked, replied)| TurnText { asked, replied }).collect();
    let exchanges = summarize(&turns, &[]).exchanges;
    exchanges.into_iter().map(|exchange| format!("{} → {}", exchange.asked, exchange.outcome)).collect()
}

#[test]
fn a_request_is_paired_with_the_conclusion_of_its_own_turn() {
    let paired = paired(&[
        ("Support complains that search by IBAN is slow.", "The query strips blanks, so every posting is scanned."),
        ("why did the deployment take so long?", "The migration waited for a lock because a report was running."),
        ("who signs the release?", "I do not know."),
        ("and where do the keys live?", "Decided: in the vault, never in the repository. More."),
    ]);
    assert_eq!(
        paired,
        [
            "and where do the keys live? → Decided: in the vault, never in the repository.",
            "Support complains that search by IBAN is slow. → The query strips blanks, so every posting is scanned.",
            "why did the deployment take so long? → The migration waited for a lock because a report was running.",
            "who signs the release? → I do not know.",
        ]
    );
}

#[test]
fn a_prompt_that_says_nothing_alone_belongs_to_the_request_before() {
    let found = paired(&[
        ("why does the parser lose quotes?", "Let me look."),
        ("go on", "It loses them because the lexer ends a token at every backslash."),
        ("", "The nightly build is done."),
    ]);
    let cause = "It loses them because the lexer ends a token at every backslash.";
    assert_eq!(found, [format!("why does the parser lose quotes? → {cause}")]);
    let found = paired(&[
        ("We need to decide how we store amounts.", "Two candidates come to mind for that."),
        ("ok, cents as i64 everywhere", "Decided: amounts are integers in minor units."),
    ]);
    assert_eq!(
        found[0],
        "We need to decide how we store amounts. / ok, cents as i64 everywhere → Decided: amounts are integers in minor \
         units."
    );
    assert_eq!(paired(&[("okra or beans in spring?", "Beans, because okra needs heat.")]).len(), 1);
}

#[test]
fn what_was_done_is_the_outcome_where_nothing_was_concluded() {
    let found = paired(&[("note the release in the changelog", "Done. I added an entry to CHANGELOG.md. Pushed.")]);
    assert_eq!(found, ["note the release in the changelog → I added an entry to CHANGELOG.md."]);
    assert_eq!(paired(&[("note the release in the changelog", "Done. Shall I push?")]), [""; 0]);
}

#[test]
fn conclusions_of_the_same_kind_are_joined_and_lesser_ones_left_out() {
    let found = paired(&[
        ("why does the parser lose quotes?", "It loses them because the lexer stops."),
        ("go on, please", "It also loses them because the buffer is short."),
        ("ok, and now measure how long it takes", "I measured the parser with the longest file."),
    ]);
    let both = "It loses them because the lexer stops. It also loses them because the buffer is short.";
    assert_eq!(found, [format!("why does the parser lose quotes? → {both}")]);
    // A report that says nothing gives way to a remark.
    assert_eq!(
        paired(&[("how many beans are there?", "42 beans. Pushed.")]),
        ["how many beans are there? → 42 beans."]
    );
}

#[test]
fn a_request_is_recognised_by_its_words_and_its_length() {
    let found = paired(&[
        ("why does the parser lose quotes?", "It loses them because the lexer stops."),
        ("okra or beans in spring?", "Beans, because okra needs heat."),
        ("なぜ失敗するのか", "It fails because the zone is wrong."),
    ]);
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn a_request_with_its_continuation_keeps_to_the_limit() {
    let (first, second) = ("why ".repeat(30), format!("ok, {}", "x".repeat(150)));
    let found = paired(&[(&first, "Two candidates come to mind for that."), (&second, "Decided: integers.")]);
    let asked = found[0].split(" → ").next().unwrap();
    assert!(asked.contains(" / ok, xxx") && (155..=160).contains(&asked.chars().count()), "{asked}");
}

#[test]
fn a_problem_is_open_until_its_command_passes() {
    let failed = |command: &str, status: u8| {
        seen(Kind::Problem, "Bash", &format!("Failed: `{command}` (exit status {status})"), &[], &[])
    };
    let ran = |title: &str| seen(Kind::Command, "Bash", title, &[], &[]);
    let next = |observations: &[Observation]| summarize(&[], observations).next_steps;
    let problems = [failed("make", 2), failed("npm test", 1), failed("make", 3)];
    assert_eq!(next(&problems), "Failed: `npm test` (exit status 1); Failed: `make` (exit status 3)");
    let [make, npm, _] = problems;
    let passed = [make.clone(), npm.clone(), ran("Ran `make`")];
    assert_eq!(next(&passed), npm.title);
    let interrupted = [make.clone(), ran("Ran `make` (interrupted)")];
    assert_eq!(next(&interrupted), make.title);
}

#[test]
fn what_was_done_is_listed_within_its_share() {
    let reads: Vec<Observation> =
        (10..30).map(|number| seen(Kind::Discovery, "Read", "Read x", &[&format!("f{number}")], &[])).collect();
    let investigated = summarize(&[], &reads).investigated;
    assert!(investigated.starts_with("Read f18, ") && investigated.ends_with(", f29"), "{investigated}");
    let other = seen(Kind::Command, "Other", "Ran `make`", &[], &[]);
    assert_eq!(summarize(&[], &[other]).completed, "", "only a shell runs commands");
    let (first, second) = ("a".repeat(150), "b".repeat(180));
    let replied = format!("I renamed {first} to something shorter. I replaced {second} by something else.");
    let completed = summarize(&[TurnText { asked: "shorten the names", replied: &replied }], &[]).completed;
    assert_eq!(completed, format!("I renamed {first} to something shorter"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_part_has_its_bound(asked in any::<String>(), replied in "(Next steps|TODO|:|\n|- |\\[ \\]|x|é|\\. |`|#|\\*\\*|1\\.){0,200}", many in 0..400_usize) {
        let turns = vec![TurnText { asked: &asked, replied: &replied }; 3];
        let observations = vec![seen(Kind::Change, "Edit", &asked, &[], &[&asked]); many];
        let summary = summarize(&turns, &observations);
        prop_assert!(summary.request.chars().count() <= 300);
        prop_assert!(summary.exchanges.len() <= 4);
        for exchange in &summary.exchanges {
            prop_assert!(exchange.asked.chars().count() <= 160 && exchange.outcome.chars().count() <= 300);
        }
        prop_assert_eq!(Exchange::from_json(&Exchange::to_json(&summary.exchanges)), summary.exchanges);
        for part in [summary.investigated, summary.learned, summary.completed, summary.next_steps] {
            prop_assert!(part.chars().count() <= 600);
        }
    }
}
