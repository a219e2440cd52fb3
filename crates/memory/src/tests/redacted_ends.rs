use longhaul_core::text::cut_middle;
use proptest::prelude::*;

use crate::redact::{redact, redacted_ends};

const KEY: &str = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";

/// A text of `before` and `after` characters around a secret.
fn around(secret: &str, before: usize, after: usize) -> String {
    let words = |length: usize| "lorem ipsum ".chars().cycle().take(length).collect::<String>();
    format!("{} {secret} {}", words(before), words(after))
}

#[test]
fn a_short_text_is_redacted_whole() {
    let text = around(KEY, 100, 100);
    assert_eq!(redacted_ends(&text, 1000), redact(&text));
}

#[test]
fn a_secret_survives_nowhere() {
    let token = format!("eyJ{}.eyJ{}.{}", "a".repeat(3_000), "b".repeat(30_000), "c".repeat(500));
    let block = format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "QUJD\n".repeat(9_000));
    for (secret, parts) in
        [(KEY, &["sk-ant", "0123456789"][..]), (&token, &["aaaa", "bbbb", "cccc"]), (&block, &["QUJD"])]
    {
        for before in [0, 40, 60, 66, 90, 4_000, 8_000, 30_000] {
            for after in [0, 20, 33, 50, 4_000, 8_000, 30_000] {
                let kept = redacted_ends(&around(secret, before, after), 100);
                for part in parts {
                    assert!(!kept.contains(part), "{part} with {before} before, {after} after: {kept}");
                }
            }
        }
    }
}

#[test]
fn a_key_goes_on_to_its_end_or_to_the_end_of_the_text() {
    let open = format!("{}-----BEGIN RSA PRIVATE KEY-----\n{}", "lorem ipsum ".repeat(800), "QUJD\n".repeat(9_000));
    let kept = redacted_ends(&open, 100);
    assert!(!kept.contains("QUJD"), "{kept}");
    let closed = format!("{open}-----END RSA PRIVATE KEY-----\n{}", "dolor sit ".repeat(2_000));
    let kept = redacted_ends(&closed, 100);
    assert!(kept.trim_end().ends_with("dolor sit"), "{kept}");
}

#[test]
fn a_key_that_is_only_mentioned_hides_nothing() {
    let text = around("a PRIVATE KEY is in the file", 20_000, 20_000);
    assert_eq!(redacted_ends(&text, 100), cut_middle(&redact(&text), 100));
}

#[test]
fn the_text_beside_a_long_secret_fills_the_space() {
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----", "QUJD\n".repeat(860));
    for (before, after) in [(0, 30_000), (30_000, 0)] {
        let text = around(&key, before, after);
        assert_eq!(redacted_ends(&text, 300), cut_middle(&redact(&text), 300), "{before} before, {after} after");
    }
}

#[test]
fn a_name_is_seen_before_its_secret() {
    let secret = format!("aws_secret_access_key = {}", "A1b2".repeat(10));
    for after in 0..100 {
        let kept = redacted_ends(&around(&secret, 60_000, after), 100);
        assert!(!kept.contains("A1b2"), "{after}: {kept}");
    }
}

proptest! {
    #[test]
    fn what_is_kept_is_what_the_whole_would_keep(text in "[a-z <\\\\\"é-]{0,40}", times in 1_usize..4_000, max in 60_usize..400) {
        let text = text.repeat(times);
        let (fast, whole) = (redacted_ends(&text, max), cut_middle(&redact(&text), max));
        prop_assert_eq!(fast, whole);
    }
}
