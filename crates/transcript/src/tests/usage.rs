use proptest::prelude::*;

use crate::{Usage, ends_in_interrupt, latest_usage};

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

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = (latest_usage(&bytes), ends_in_interrupt(&bytes));
    }
}
