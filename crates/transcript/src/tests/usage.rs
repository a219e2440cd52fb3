use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{Usage, ends_in_interrupt, latest_usage, window_tokens};

pub(super) fn reply(tokens: u64, sidechain: bool) -> String {
    format!(
        r#"{{"type":"assistant","isSidechain":{sidechain},"message":{{"model":"claude-opus-5-5","usage":{{"input_tokens":{tokens},"cache_read_input_tokens":10,"output_tokens":3}}}}}}"#
    )
}

#[track_caller]
pub(super) fn check(tail: &str, tokens: Option<u64>) {
    let usage = tokens.map(|tokens| Usage { tokens, model: Some("claude-opus-5-5".into()), at: None, window: None });
    assert_eq!(latest_usage(tail.as_bytes()), usage);
}

#[test]
fn the_newest_reply_of_the_main_loop_counts() {
    check(&format!("{}\n{}\n", reply(100, false), reply(200, false)), Some(210));
    check(&format!("{}\n{}\n", reply(100, false), reply(200, true)), Some(110));
}

#[test]
fn what_is_cut_odd_or_made_up_is_passed_over() {
    let whole = reply(100, false);
    check(&format!("usage\": 1}}\n{whole}\n{{\"usage\": {{\n"), Some(110));
    check(&format!("{whole}\n{}", &whole[..60]), Some(110));
    let made_up = r#"{"message":{"model":"<synthetic>","usage":{"input_tokens":0}}}"#;
    check(&format!("{whole}\n{made_up}\n"), Some(110));
    check("", None);
}

#[test]
fn windows_follow_the_model() {
    let known = BTreeMap::from([("claude-opus-5".to_owned(), 500_000), ("claude-opus-5-5".to_owned(), 700_000)]);
    let guess = |model: &str, used| window_tokens(Some(model), used, &BTreeMap::new());
    assert_eq!(guess("claude-opus-5-5", 0), 1_000_000);
    assert_eq!(guess("claude-sonnet-4-5", 0), 200_000);
    assert_eq!(guess("claude-sonnet-4-5[1m]", 0), 1_000_000);
    assert_eq!(guess("claude-sonnet-4-5", 200_001), 1_000_000);
    assert_eq!(guess("claude-3-5-haiku-20241022", 0), 200_000);
    assert_eq!(window_tokens(None, 0, &known), 200_000);
    assert_eq!(window_tokens(Some("claude-opus-5-5"), 0, &known), 700_000);
    assert_eq!(window_tokens(Some("claude-opus-5-1"), 0, &known), 500_000);
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = (latest_usage(&bytes), ends_in_interrupt(&bytes));
    }
}
