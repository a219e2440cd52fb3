use std::collections::BTreeMap;

use longhaul_core::Millis;
use proptest::prelude::*;

use crate::{
    ContextFill, ReportedBy, ReportedContext, Usage, WindowSource, context_fill, ends_in_interrupt, latest_usage,
    window_tokens,
};

const STATUS_LINE: WindowSource = WindowSource::Reported(ReportedBy::StatusLine);

/// A reply at 10.
fn replied(tokens: u64, model: &str) -> Usage {
    Usage { tokens, model: Some(model.to_owned()), at: Some(Millis(10)), window: None }
}

fn reported(at: u64, model: &str, window: u64) -> ReportedContext<'_> {
    let model = Some(model).filter(|model| !model.is_empty());
    ReportedContext { model, tokens: Some(5), window: Some(window), at: Millis(at), by: ReportedBy::StatusLine }
}

fn of<'a>(
    usage: Option<&'a Usage>,
    own: Option<ReportedContext<'a>>,
    others: &[ReportedContext<'a>],
) -> ContextFill<'a> {
    context_fill(usage, own, others.iter().copied(), &BTreeMap::from([("own".to_owned(), 77)]))
}

#[track_caller]
fn check(
    usage: Usage,
    own: Option<ReportedContext<'_>>,
    others: &[ReportedContext<'_>],
    expected: (u64, WindowSource),
) {
    let filled = of(Some(&usage), own, others);
    assert_eq!((filled.window, filled.source), expected);
}

#[test]
fn the_window_is_the_reported_one_then_the_configured_then_the_built_in() {
    let usage = || replied(9, "claude-opus-5-5");
    check(
        usage(),
        Some(reported(1, "claude-opus-5-5", 300)),
        &[reported(1, "claude-opus-5-5", 400)],
        (300, STATUS_LINE),
    );
    let bridge = ReportedContext { by: ReportedBy::Bridge, ..reported(1, "", 300) };
    check(usage(), Some(bridge), &[], (300, WindowSource::Reported(ReportedBy::Bridge)));
    let others = [reported(3, "claude-opus-5-5", 400), reported(2, "claude-opus-5-5", 500)];
    check(usage(), None, &others, (400, WindowSource::SameModel));
    check(usage(), None, &[reported(1, "claude-opus-4-1", 400)], (1_000_000, WindowSource::ModelTable));
    check(replied(9, "own-model"), None, &[], (77, WindowSource::ModelTable));
    check(replied(9, "claude-sonnet-4-5"), None, &[], (200_000, WindowSource::ModelTable));
    check(replied(200_001, "claude-sonnet-4-5"), None, &[], (1_000_000, WindowSource::ModelTable));
}

#[test]
fn a_rollout_knows_its_window_itself() {
    let usage = Usage { window: Some(258_400), ..replied(9, "gpt-5.5") };
    check(usage, Some(reported(20, "gpt-5.5", 300)), &[], (258_400, WindowSource::Rollout));
}

#[test]
fn a_switched_model_has_another_window_and_a_dated_one_has_not() {
    let opus = reported(1, "claude-opus-5-5", 300);
    check(replied(9, "claude-sonnet-4-5"), Some(opus), &[], (200_000, WindowSource::ModelTable));
    let large = reported(1, "claude-sonnet-4-5[1m]", 300);
    check(replied(9, "claude-sonnet-4-5-20250929"), Some(large), &[], (300, STATUS_LINE));
    let since = replied(9, "claude-sonnet-4-5");
    let filled = of(Some(&since), Some(reported(11, "claude-opus-5-5", 300)), &[]);
    assert_eq!((filled.window, filled.model), (300, Some("claude-opus-5-5")), "reported after the reply");
}

#[test]
fn the_newer_of_report_and_reply_counts() {
    let usage = replied(9, "m");
    let tokens = |usage, own| of(usage, own, &[]).tokens;
    assert_eq!(tokens(Some(&usage), Some(reported(9, "m", 300))), Some(9));
    assert_eq!(tokens(Some(&usage), Some(reported(10, "m", 300))), Some(5));
    let unsaid = ReportedContext { tokens: None, ..reported(10, "m", 300) };
    assert_eq!(tokens(Some(&usage), Some(unsaid)), Some(9));
    assert_eq!(tokens(None, Some(reported(1, "m", 300))), Some(5));
    assert_eq!(tokens(None, None), None);
}

#[test]
fn a_known_size_comes_before_the_built_in_ones() {
    let known = BTreeMap::from([("claude-opus-5".to_owned(), 500_000), ("claude-opus-5-5".to_owned(), 700_000)]);
    assert_eq!(window_tokens(Some("claude-opus-5-5"), 0, &known), 700_000);
    assert_eq!(window_tokens(Some("claude-opus-5-1"), 0, &known), 500_000);
    assert_eq!(window_tokens(None, 0, &known), 200_000);
}

#[test]
fn the_built_in_size_follows_id_generation_and_use() {
    for (model, used, window) in [
        ("claude-opus-5-5", 0, 1_000_000),
        ("claude-opus-6", 0, 1_000_000),
        ("claude-sonnet-4-5", 0, 200_000),
        ("claude-sonnet-4-5[1m]", 0, 1_000_000),
        ("claude-sonnet-4-5", 200_000, 200_000),
        ("claude-sonnet-4-5", 200_001, 1_000_000),
        ("claude-3-5-haiku-20241022", 0, 200_000),
    ] {
        assert_eq!(window_tokens(Some(model), used, &BTreeMap::new()), window, "{model} with {used} tokens used");
    }
}

pub(super) fn reply(tokens: u64, sidechain: bool) -> String {
    format!(
        r#"{{"type":"assistant","isSidechain":{sidechain},"message":{{"model":"claude-opus-5-5","usage":{{"input_tokens":{tokens},"cache_read_input_tokens":10,"output_tokens":3}}}}}}"#
    )
}

#[track_caller]
fn check_usage(tail: &str, tokens: Option<u64>) {
    let usage = tokens.map(|tokens| Usage { tokens, model: Some("claude-opus-5-5".into()), at: None, window: None });
    assert_eq!(latest_usage(tail.as_bytes()), usage);
}

#[test]
fn the_newest_reply_of_the_main_loop_counts() {
    check_usage(&format!("{}\n{}\n", reply(100, false), reply(200, false)), Some(210));
    check_usage(&format!("{}\n{}\n", reply(100, false), reply(200, true)), Some(110));
}

#[test]
fn what_is_cut_odd_or_made_up_is_passed_over() {
    let whole = reply(100, false);
    check_usage(&format!("usage\": 1}}\n{whole}\n{{\"usage\": {{\n"), Some(110));
    check_usage(&format!("{whole}\n{}", &whole[..60]), Some(110));
    let made_up = r#"{"message":{"model":"<synthetic>","usage":{"input_tokens":0}}}"#;
    check_usage(&format!("{whole}\n{made_up}\n"), Some(110));
    check_usage("", None);
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = (latest_usage(&bytes), ends_in_interrupt(&bytes));
    }
}

const BOUNDARY: &str = r#"{"parentUuid":null,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"manual","preTokens":42008,"postTokens":2809}}"#;

#[test]
fn after_a_compaction_what_it_left_counts_until_the_next_reply() {
    let summary =
        r#"{"type":"user","isCompactSummary":true,"message":{"content":"a \"compact_boundary\" is no \"usage\""}}"#;
    check_usage(&format!("{}\n{BOUNDARY}\n{summary}\n", reply(42_000, false)), Some(2809));
    check_usage(&format!("{}\n{BOUNDARY}\n{summary}\n{}\n", reply(42_000, false), reply(3_000, false)), Some(3_010));
    assert_eq!(latest_usage(BOUNDARY.as_bytes()).map(|usage| (usage.tokens, usage.model)), Some((2809, None)));
}

#[test]
fn a_compaction_that_does_not_say_what_it_left_makes_the_use_unknown() {
    let bare = r#"{"type":"system","subtype":"compact_boundary"}"#;
    check_usage(&format!("{}\n{bare}\n", reply(42_000, false)), None);
}

#[test]
fn a_compaction_is_newer_than_a_report_before_it() {
    let boundary = BOUNDARY.replacen('{', r#"{"timestamp":"1970-01-01T00:00:07Z","#, 1);
    let usage = latest_usage(format!("{}\n{boundary}\n", reply(42_000, false)).as_bytes());
    assert_eq!(usage.and_then(|usage| usage.at), Some(Millis(7_000)));
}
