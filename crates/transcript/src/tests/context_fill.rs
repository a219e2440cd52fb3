use std::collections::BTreeMap;

use longhaul_core::Millis;

use crate::{Filled, Listener, Told, Usage, WindowFrom, fill};

const STATUS_LINE: WindowFrom = WindowFrom::Told(Listener::StatusLine);

/// A reply at 10.
fn replied(tokens: u64, model: &str) -> Usage {
    Usage { tokens, model: Some(model.to_owned()), at: Some(Millis(10)), window: None }
}

fn told(at: u64, model: &str, window: u64) -> Told<'_> {
    let model = Some(model).filter(|model| !model.is_empty());
    Told { model, tokens: Some(5), window: Some(window), at: Millis(at), to: Listener::StatusLine }
}

fn of<'a>(usage: Option<&'a Usage>, own: Option<Told<'a>>, others: &[Told<'a>]) -> Filled<'a> {
    fill(usage, own, others.iter().copied(), &BTreeMap::from([("own".to_owned(), 77)]))
}

#[track_caller]
fn check(usage: Usage, own: Option<Told<'_>>, others: &[Told<'_>], expected: (u64, WindowFrom)) {
    let filled = of(Some(&usage), own, others);
    assert_eq!((filled.window, filled.from), expected);
}

#[test]
fn the_window_is_what_the_client_told_then_the_config_then_the_guess() {
    let usage = || replied(9, "claude-opus-5-5");
    check(usage(), Some(told(1, "claude-opus-5-5", 300)), &[told(1, "claude-opus-5-5", 400)], (300, STATUS_LINE));
    let bridge = Told { to: Listener::Bridge, ..told(1, "", 300) };
    check(usage(), Some(bridge), &[], (300, WindowFrom::Told(Listener::Bridge)));
    let others = [told(3, "claude-opus-5-5", 400), told(2, "claude-opus-5-5", 500)];
    check(usage(), None, &others, (400, WindowFrom::Model));
    check(usage(), None, &[told(1, "claude-opus-4-1", 400)], (1_000_000, WindowFrom::ModelTable));
    check(replied(9, "own-model"), None, &[], (77, WindowFrom::ModelTable));
    check(replied(9, "claude-sonnet-4-5"), None, &[], (200_000, WindowFrom::ModelTable));
    check(replied(200_001, "claude-sonnet-4-5"), None, &[], (1_000_000, WindowFrom::ModelTable));
}

#[test]
fn a_rollout_knows_its_window_itself() {
    let usage = Usage { window: Some(258_400), ..replied(9, "gpt-5.5") };
    check(usage, Some(told(20, "gpt-5.5", 300)), &[], (258_400, WindowFrom::Rollout));
}

#[test]
fn a_switched_model_has_another_window_and_a_dated_one_has_not() {
    let opus = told(1, "claude-opus-5-5", 300);
    check(replied(9, "claude-sonnet-4-5"), Some(opus), &[], (200_000, WindowFrom::ModelTable));
    let large = told(1, "claude-sonnet-4-5[1m]", 300);
    check(replied(9, "claude-sonnet-4-5-20250929"), Some(large), &[], (300, STATUS_LINE));
    let since = replied(9, "claude-sonnet-4-5");
    let filled = of(Some(&since), Some(told(11, "claude-opus-5-5", 300)), &[]);
    assert_eq!((filled.window, filled.model), (300, Some("claude-opus-5-5")), "told since the reply");
}

#[test]
fn the_newer_of_what_was_told_and_what_was_replied_counts() {
    let usage = replied(9, "m");
    let tokens = |usage, own| of(usage, own, &[]).tokens;
    assert_eq!(tokens(Some(&usage), Some(told(9, "m", 300))), Some(9));
    assert_eq!(tokens(Some(&usage), Some(told(10, "m", 300))), Some(5));
    let unsaid = Told { tokens: None, ..told(10, "m", 300) };
    assert_eq!(tokens(Some(&usage), Some(unsaid)), Some(9));
    assert_eq!(tokens(None, Some(told(1, "m", 300))), Some(5));
    assert_eq!(tokens(None, None), None);
}
