use longhaul_core::Millis;

use super::usage::{check, reply};
use crate::latest_usage;

const BOUNDARY: &str = r#"{"parentUuid":null,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"manual","preTokens":42008,"postTokens":2809}}"#;

#[test]
fn after_a_compaction_what_it_left_counts_until_the_next_reply() {
    let summary =
        r#"{"type":"user","isCompactSummary":true,"message":{"content":"a \"compact_boundary\" is no \"usage\""}}"#;
    check(&format!("{}\n{BOUNDARY}\n{summary}\n", reply(42_000, false)), Some(2809));
    check(&format!("{}\n{BOUNDARY}\n{summary}\n{}\n", reply(42_000, false), reply(3_000, false)), Some(3_010));
    assert_eq!(latest_usage(BOUNDARY.as_bytes()).map(|usage| (usage.tokens, usage.model)), Some((2809, None)));
}

#[test]
fn a_compaction_that_does_not_say_what_it_left_makes_the_use_unknown() {
    let bare = r#"{"type":"system","subtype":"compact_boundary"}"#;
    check(&format!("{}\n{bare}\n", reply(42_000, false)), None);
}

#[test]
fn a_compaction_is_newer_than_a_report_before_it() {
    let boundary = BOUNDARY.replacen('{', r#"{"timestamp":"1970-01-01T00:00:07Z","#, 1);
    let usage = latest_usage(format!("{}\n{boundary}\n", reply(42_000, false)).as_bytes());
    assert_eq!(usage.and_then(|usage| usage.at), Some(Millis(7_000)));
}
