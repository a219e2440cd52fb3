//! Text that must fit: the client cuts what a hook injects at 10,000 characters.

/// What one reply may inject, in characters, with room to spare below the client's own limit.
pub const CONTEXT_CHARS: usize = 9_500;

/// Returns `text` cut to `chars` characters, ending in a note of how many are missing where it was cut.
pub fn cut(text: &str, chars: usize) -> String {
    let total = text.chars().count();
    if total <= chars {
        return text.to_owned();
    }
    let notice = format!(" [… {total} characters in all]");
    let kept = chars.saturating_sub(notice.chars().count());
    let mut short: String = text.chars().take(kept).collect();
    short.push_str(&notice);
    short.chars().take(chars).collect()
}

/// Returns the tokens that a text costs, about: four characters each.
pub fn tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// Returns the tokens of a text of which only the length is at hand.
pub fn tokens_of_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// Returns a number of tokens as a glance takes it in.
pub fn round_tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => format!("{}k", (count + 500) / 1_000),
        _ => format!("{:.1}M", count as f64 / 1_000_000.0).replace(".0M", "M"),
    }
}
