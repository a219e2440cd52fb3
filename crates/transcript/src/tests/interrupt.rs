use super::RECORDED;
use crate::ends_in_interrupt;

#[test]
fn an_interrupt_is_the_last_word_or_none() {
    let reply = r#"{"type":"assistant","message":{"content":"x"}}"#;
    let interrupted =
        r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#;
    let system = r#"{"type":"system","content":"x"}"#;
    assert!(ends_in_interrupt(format!("{reply}\n{interrupted}\n{system}\n{{\"type\":\"us").as_bytes()));
    assert!(!ends_in_interrupt(format!("{interrupted}\n{reply}\n").as_bytes()));
    assert!(!ends_in_interrupt(b""));
}

#[test]
fn the_recorded_interrupt_is_found_and_no_other() {
    let found: Vec<&str> =
        RECORDED.iter().filter(|(_, text)| ends_in_interrupt(text.as_bytes())).map(|(name, _)| *name).collect();
    assert!(found.iter().all(|name| matches!(*name, "interrupted" | "permission-denied")), "{found:?}");
}
