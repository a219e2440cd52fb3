use std::collections::BTreeMap;

use crate::window_tokens;

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
