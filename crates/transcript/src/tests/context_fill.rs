use std::collections::BTreeMap;

use longhaul_core::Millis;

use crate::{ContextFill, ReportedBy, ReportedContext, Usage, WindowSource, context_fill};

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
