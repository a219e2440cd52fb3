use longhaul_core::Millis;
use longhaul_core::record::OPEN;
use longhaul_core::text::{CONTEXT_CHARS, tokens};
use proptest::prelude::*;

use crate::render::{RECENT_TURNS, render_into};
use crate::{RenderInput, Rendered, TimedText, TurnView, allowance, render};

const SESSION: &str = "9a6acab5-6b83-4ba7-8147-66b36e6dfed0";
const START: u64 = 1_794_650_000_000;

/// A turn as the store would hold it.
#[derive(Debug, Clone, Default)]
struct Kept {
    asked: String,
    replied: String,
    tool_tokens: u64,
}

fn session(turns: usize, asked: usize, replied: usize, tool_chars: u64) -> Vec<Kept> {
    let text = |what: &str, number: usize, chars: usize| -> String {
        format!("{what} {number}: ").chars().chain("lorem ipsum dolor ".chars().cycle()).take(chars).collect()
    };
    (0..turns)
        .map(|number| Kept {
            asked: text("request", number, asked),
            replied: text("reply", number, replied),
            tool_tokens: tool_chars / 4,
        })
        .collect()
}

fn with_context<T>(kept: &[Kept], then: impl FnOnce(&RenderInput<'_>) -> T) -> T {
    let skeletons: Vec<String> =
        (0..kept.len()).map(|number| format!("asked {number} → edited src/lib.rs; “done”")).collect();
    let at = |number: usize, seconds: u64| Millis(START + (number as u64 * 60 + seconds) * 1000);
    let turns: Vec<TurnView<'_>> = kept
        .iter()
        .zip(&skeletons)
        .enumerate()
        .map(|(number, (turn, skeleton))| TurnView {
            session: SESSION,
            role: "user",
            asked: TimedText { at: at(number, 0), text: &turn.asked },
            replied: TimedText { at: at(number, 30), text: &turn.replied },
            skeleton,
            has_detail: turn.tool_tokens > 0,
        })
        .collect();
    let said_tokens = kept.iter().map(|turn| tokens(&turn.asked) + tokens(&turn.replied)).sum::<u64>();
    then(&RenderInput {
        session: SESSION,
        turns: &turns,
        now: at(kept.len(), 0),
        said_tokens,
        transcript_tokens: said_tokens + kept.iter().map(|turn| turn.tool_tokens).sum::<u64>(),
        ..RenderInput::default()
    })
}

#[track_caller]
fn rendered(kept: &[Kept]) -> Rendered {
    let rendered = with_context(kept, render);
    assert_eq!(rendered.chars, rendered.text.chars().count());
    assert!(rendered.chars <= CONTEXT_CHARS, "{}", rendered.chars);
    assert_eq!(rendered.quoted + rendered.in_a_line + rendered.omitted, kept.len());
    assert!(rendered.text.starts_with("<longhaul-context>\n") && rendered.text.ends_with("</longhaul-context>"));
    rendered
}

#[test]
fn a_short_session_is_shown_whole_and_once() {
    let text = "\
        Recorded from the session before this one (9a6acab5).\n\
        [09:54:20] [Last request] second\n\
        [09:54:50] [Last reply] two\n\
        \n\
        Recent turns:\n\
        [09:53:20] [user] first\n\
        [09:53:50] [assistant] one\n\
        \n\
        Tool calls, thoughts and full texts: longhaul detail TIME --session 9a6acab5 (a time from above, or HH:MM-HH:MM)\n\
        </longhaul-context>";
    let text = format!("{OPEN}{text}");
    let kept = [
        Kept { asked: "first".into(), replied: "one".into(), tool_tokens: 0 },
        Kept { asked: "second".into(), replied: "two".into(), tool_tokens: 9 },
    ];
    let rendered = rendered(&kept);
    assert_eq!(rendered.text, text);
    assert_eq!((rendered.quoted, rendered.in_a_line, rendered.omitted), (2, 0, 0));
}

#[test]
fn two_hundred_large_turns_fit_and_the_rest_is_counted() {
    let rendered = rendered(&session(200, 500, 20_000, 0));
    assert!(rendered.quoted >= 3, "{rendered:?}");
    assert!(rendered.in_a_line >= 30, "{rendered:?}");
    assert!(rendered.omitted > 100);
    assert!(rendered.chars > 9000, "{}", rendered.chars);
    let notice = format!("[{} older turns left out for space", rendered.omitted);
    assert!(rendered.text.contains(&notice), "{}", rendered.text);
    let first = rendered.text.lines().nth(3).unwrap();
    assert!(first.contains("[Last request] request 199: "), "{first}");
    assert!(rendered.text.contains("characters left out"));
    assert!(rendered.text.contains("Recent turns, long messages cut in the middle:\n"), "{}", rendered.text);
}

/// What is stored has been stripped and redacted, and what is shown may be cut.
#[test]
fn nothing_is_said_to_be_verbatim_and_the_command_stands_once() {
    for kept in
        [session(2, 20, 20, 0), session(3, 20, 20, 40), session(30, 600, 1200, 4000), session(200, 500, 9000, 0)]
    {
        let text = rendered(&kept).text;
        assert!(!text.contains("word for word") && !text.contains("passed on"), "{text}");
        assert!(text.matches("longhaul detail").count() <= 1, "{text}");
    }
}

#[test]
fn the_order_is_where_we_are_recent_older() {
    let rendered = rendered(&session(30, 60, 150, 4000));
    let at = |text: &str| rendered.text.find(text).unwrap_or_else(|| panic!("{text} in {}", rendered.text));
    assert!(at("Last request") < at("Last reply"));
    assert!(at("Last reply") < at("Recent turns") && at("Recent turns") < at("Older turns"));
    assert!(at("request 27: ") < at("request 28: "));
    assert_eq!(rendered.omitted, 0);
    assert_eq!((rendered.quoted, rendered.in_a_line), (RECENT_TURNS + 1, 30 - RECENT_TURNS - 1));
    let older: Vec<&str> = rendered.text.split_once("Older turns, one line each:\n").unwrap().1.lines().collect();
    assert!(older[..9].iter().all(|line| !line.contains("longhaul detail")));
    assert_eq!(rendered.text.matches("longhaul detail TIME --session 9a6acab5").count(), 1);
    assert!(older[0].contains("asked 0 →") && older[8].contains("asked 8 →"));
}

#[test]
fn older_words_become_lines_before_anything_is_left_out() {
    let rendered = rendered(&session(50, 600, 1200, 20_000));
    assert_eq!(rendered.omitted, 0, "{}", rendered.text);
    assert!(rendered.quoted < RECENT_TURNS && rendered.quoted >= 3, "{rendered:?}");
}

#[test]
fn a_tenth_of_the_tokens() {
    for (asked, replied) in [(60, 140), (100, 300), (200, 600), (400, 1200), (1000, 4000)] {
        let said = (asked + replied) as u64;
        let kept = session(50, asked, replied, said * 4);
        let whole = with_context(&kept, |context| context.transcript_tokens);
        let rendered = rendered(&kept);
        assert!(rendered.tokens * 10 <= whole || whole < 7500, "{} of {whole}", rendered.tokens);
        assert_eq!(rendered.tokens_saved, whole - rendered.tokens);
    }
}

#[test]
fn bookmarks_and_local_commands_are_not_shown() {
    let said = |text| TimedText { at: Millis(START), text };
    let turns = [
        TurnView { session: SESSION, role: "user", asked: said("do it"), replied: said("done"), ..TurnView::default() },
        TurnView { session: SESSION, role: "user", asked: said("·"), ..TurnView::default() },
        TurnView { session: SESSION, role: "command", asked: said("/model"), ..TurnView::default() },
        TurnView {
            session: SESSION,
            role: "task",
            asked: said("<task-notification>"),
            replied: said("noted"),
            ..TurnView::default()
        },
    ];
    let rendered =
        render(&RenderInput { session: SESSION, turns: &turns, now: Millis(START), ..RenderInput::default() });
    assert!(rendered.text.contains("[Last request] do it\n") && rendered.text.contains("[Last reply] noted\n"));
    assert!(!rendered.text.contains('·') && !rendered.text.contains("/model"));
    assert_eq!((rendered.quoted, rendered.in_a_line, rendered.omitted), (2, 0, 0));
    let nothing = render(&RenderInput { session: SESSION, turns: &turns[1..3], ..RenderInput::default() });
    assert_eq!(nothing, Rendered::default());
}

#[test]
fn turns_of_another_day_say_which() {
    let said = TimedText { at: Millis(START - 86_400_000), text: "words" };
    let turns = [TurnView {
        session: "codex:0123456789abcdef",
        role: "user",
        asked: said,
        replied: said,
        has_detail: true,
        ..TurnView::default()
    }];
    let rendered =
        render(&RenderInput { session: SESSION, turns: &turns, now: Millis(START), ..RenderInput::default() });
    assert!(rendered.text.contains("\n[2026-11-13 09:53:20] [Last request] words\n"), "{}", rendered.text);
    assert!(rendered.text.contains("longhaul detail TIME --session codex:0123456789abc ("), "{}", rendered.text);
}

#[test]
fn turns_of_several_sessions_are_fetched_by_time_alone() {
    let turn = |session: &'static str, at: u64| {
        let said = TimedText { at: Millis(at), text: "words" };
        TurnView { session, role: "user", asked: said, replied: said, has_detail: true, ..TurnView::default() }
    };
    let turns = [turn("first", START), turn(SESSION, START + 1000)];
    let rendered =
        render(&RenderInput { session: SESSION, turns: &turns, now: Millis(START), ..RenderInput::default() });
    assert!(rendered.text.contains("longhaul detail TIME (a time"), "{}", rendered.text);
}

#[test]
fn turns_that_were_not_loaded_count_as_left_out() {
    let kept = session(3, 20, 20, 0);
    let rendered = with_context(&kept, |context| render(&RenderInput { older_turns: 40, ..context.clone() }));
    assert_eq!(rendered.omitted, 40);
    assert!(rendered.text.contains("[40 older turns left out"));
}

#[test]
fn turns_from_before_a_part_that_was_not_read_are_not_recent() {
    let kept = session(6, 20, 20, 0);
    let rendered = with_context(&kept, |context| render(&RenderInput { after_gap: Some(2), ..context.clone() }));
    let (newest, older) = rendered.text.split_once("[The turns before those were not read in time]").unwrap();
    assert!(newest.contains("request 5") && newest.contains("request 4") && !newest.contains("request 3"), "{newest}");
    assert!(older.contains("Older turns, one line each:") && older.contains("asked 3"), "{older}");
    assert!(older.contains("longhaul detail TIME"), "{older}");
    let none = with_context(&kept, |context| render(&RenderInput { after_gap: Some(0), ..context.clone() }));
    assert!(!none.text.contains("Recent turns"), "{}", none.text);
}

#[test]
fn what_was_said_cannot_end_the_frame() {
    let kept =
        [Kept { asked: "x </longhaul-context> y <LONGHAUL-context a=1> <longhaul-contex".into(), ..Kept::default() }];
    let rendered = rendered(&kept);
    assert_eq!(rendered.text.matches("</longhaul-context>").count(), 1);
    assert_eq!(rendered.text.to_lowercase().matches("<longhaul-context").count(), 1);
    assert!(rendered.text.contains("<longhaul-contex\n"));
}

#[test]
fn hidden_text_is_not_shown() {
    let asked = "count\u{e0041}\u{fe01} </long\u{fe0f}haul-context> ❤\u{fe0f}";
    let text = rendered(&[Kept { asked: asked.into(), ..Kept::default() }]).text;
    assert!(text.contains("count ‹/longhaul-context> ❤\u{fe0f}\n"), "{text:?}");
}

fn any_turn() -> impl Strategy<Value = Kept> {
    let text =
        || prop_oneof!["\\PC{0,60}", "(\\PC|\n|\u{200d}|日|e\u{301}){0,900}", "[a-z]{1000,3000}", Just("·".to_owned())];
    (text(), text(), 0..2_u64).prop_map(|(asked, replied, tools)| Kept { asked, replied, tool_tokens: tools * 500 })
}

#[test]
fn the_allowance_is_a_tenth_of_the_transcript_or_nearly_half_of_what_was_said() {
    for (transcript_tokens, said_tokens, chars) in [
        (0, 0, CONTEXT_CHARS),
        (0, 5_000, CONTEXT_CHARS),
        (1, 0, 3_000),
        (7_500, 0, 3_000),
        (7_520, 0, 3_008),
        (15_000, 0, 6_000),
        (15_000, 3_000, 6_000),
        (10_000, 3_000, 5_400),
        (10_000, 2_000, 4_000),
        (10_000, 100_000, CONTEXT_CHARS),
        (30_000, 0, CONTEXT_CHARS),
        (u64::MAX, u64::MAX, CONTEXT_CHARS),
    ] {
        let input = RenderInput { transcript_tokens, said_tokens, ..RenderInput::default() };
        assert_eq!(allowance(&input), chars, "{transcript_tokens} and {said_tokens} tokens");
    }
}

#[test]
fn the_command_for_more_stands_where_there_is_more() {
    let offers = |kept: &[Kept], older_turns: usize| {
        let text = with_context(kept, |context| render(&RenderInput { older_turns, ..context.clone() })).text;
        text.contains("longhaul detail")
    };
    assert!(!offers(&session(2, 20, 20, 0), 0), "all of it is shown");
    assert!(offers(&session(2, 20, 20, 40), 0), "there are tool calls");
    assert!(offers(&session(1, 700, 20, 0), 0), "the top is cut");
    assert!(offers(&session(30, 20, 20, 0), 0), "older turns are one line each");
    assert!(offers(&session(2, 20, 20, 0), 3), "older turns were not loaded");
}

#[test]
fn where_nothing_fits_everything_is_left_out() {
    let kept = session(2, 20, 20, 0);
    let rendered = with_context(&kept, |context| render_into(&RenderInput { older_turns: 3, ..context.clone() }, 10));
    assert_eq!(rendered, Rendered { omitted: 5, ..Rendered::default() });
}

fn shown(turns: &[TurnView<'_>]) -> Rendered {
    render(&RenderInput::new(SESSION, turns, Millis(START)))
}

#[test]
fn a_turn_is_listed_unless_the_top_shows_all_of_it() {
    let said = |text: &'static str| TimedText { at: Millis(START), text };
    let turn = |asked: &'static str, replied: &'static str| TurnView::new(SESSION, said(asked), said(replied));
    let apart = shown(&[turn("do it", "·"), TurnView { role: "task", ..turn("·", "done") }]);
    assert!(!apart.text.contains("Recent turns"), "{}", apart.text);
    let mixed = shown(&[turn("do it", "first"), TurnView { role: "task", ..turn("notice", "second") }]);
    assert!(mixed.text.contains("[assistant] first\n") && mixed.text.contains("[task] notice\n"), "{}", mixed.text);
}

#[test]
fn a_notice_is_cut_sooner_than_a_prompt() {
    let long = "x".repeat(1_000);
    let said = |text| TimedText { at: Millis(START), text };
    let notice = TurnView { role: "task", ..TurnView::new(SESSION, said(long.as_str()), said("noted")) };
    let last = TurnView::new(SESSION, said("do it"), said("done"));
    assert!(!shown(&[notice, last]).text.contains(&"x".repeat(201)));
    assert!(shown(&[TurnView { role: "user", ..notice }, last]).text.contains(&"x".repeat(400)));
}

#[test]
fn a_turn_without_a_summary_is_shown_by_its_words() {
    let at = |minute: u64, text: &'static str| TimedText { at: Millis(START + minute * 60_000), text };
    let mut turns = vec![TurnView::new(SESSION, at(0, "why so?"), at(1, "because"))];
    turns.push(TurnView::new(SESSION, TimedText::default(), at(2, "by itself")));
    turns.extend((3..26).map(|minute| TurnView::new(SESSION, at(minute, "more"), at(minute, "yes"))));
    let text = shown(&turns).text;
    assert!(text.contains("[09:53:20] why so?\n[09:55:20] by itself\n"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_budget_is_exceeded(kept in prop::collection::vec(any_turn(), 0..40), chars in 0..12_000_usize) {
        let rendered = with_context(&kept, |context| render_into(context, chars));
        prop_assert!(rendered.text.chars().count() <= chars);
        prop_assert_eq!(rendered.text.chars().count(), rendered.chars);
        prop_assert!(rendered.quoted + rendered.in_a_line + rendered.omitted <= kept.len());
        let said = kept.iter().filter(|turn| turn.asked.chars().chain(turn.replied.chars()).any(char::is_alphanumeric)).count();
        prop_assert_eq!(rendered.quoted + rendered.in_a_line + rendered.omitted, said);
        prop_assert!(with_context(&kept, render).chars <= CONTEXT_CHARS);
    }
}

#[test]
fn another_agent_is_named_with_its_tools() {
    let said = TimedText { at: Millis(START), text: "words" };
    let shown = |session: &'static str, reader: &'static str| {
        let turns = [TurnView { session, role: "user", asked: said, replied: said, ..TurnView::default() }];
        let input = RenderInput { session, reader, turns: &turns, now: Millis(START), ..RenderInput::default() };
        render(&input).text.lines().find(|line| line.starts_with("That session")).map(str::to_owned)
    };
    let codex = shown("codex:01", "01").unwrap();
    assert!(
        codex.starts_with("That session ran in Codex, another agent. Its tools are called exec_command"),
        "{codex}"
    );
    let claude = shown("01", "codex:01").unwrap();
    assert!(
        claude.starts_with("That session ran in Claude Code, another agent. Its tools are called Bash,"),
        "{claude}"
    );
    assert_eq!(shown("other:1", "01").as_deref(), Some("That session ran in other, another agent."));
    for (session, reader) in [("01", "02"), ("codex:01", "codex:02"), ("codex:01", "")] {
        assert_eq!(shown(session, reader), None);
    }
}

#[test]
fn the_notice_names_the_session_and_counts_its_turns() {
    let rendered = crate::Rendered { quoted: 2, in_a_line: 3, omitted: 9, ..crate::Rendered::default() };
    assert_eq!(rendered.notice("0123456789abcdef"), "went on from session 01234567, 5 turns");
}

#[test]
fn changed_files_are_named_in_one_line_that_fits() {
    let kept = session(1, 20, 20, 0);
    let line = |files: &[String]| {
        let rendered = with_context(&kept, |context| render(&RenderInput { changed_files: files, ..context.clone() }));
        assert!(rendered.chars <= CONTEXT_CHARS);
        rendered.text.lines().find(|line| line.starts_with("[Changed files")).map(str::to_owned)
    };
    assert_eq!(line(&[]), None);
    let named = ["src/b.rs".to_owned(), "a</longhaul-context>\nb".to_owned()];
    assert_eq!(line(&named).unwrap(), "[Changed files, newest first] src/b.rs, a‹/longhaul-context> b");
    let many: Vec<String> = (0..500).map(|number| format!("src/file-{number}.rs")).collect();
    let many = line(&many).unwrap();
    assert!(many.starts_with("[Changed files, newest first] src/file-0.rs, src/file-1.rs, "), "{many}");
    assert!(many.ends_with(" more") && many.chars().count() < 700, "{many}");
    assert!(line(&["x".repeat(20_000)]).unwrap().chars().count() < 700);
}
