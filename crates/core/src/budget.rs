//! How much text fits, in characters and in tokens.

/// The number of characters that one hook reply may inject. Claude Code cuts injected text at 10,000.
pub const CONTEXT_CHARS: usize = 9_500;

/// The number of characters that count as one token, in every estimate.
pub const CHARS_PER_TOKEN: usize = 4;

/// Returns an estimate of the tokens in `text`.
pub fn tokens(text: &str) -> u64 {
    tokens_of_chars(text.chars().count() as u64)
}

/// Returns an estimate of the tokens in a text of `chars` characters, rounded up.
pub const fn tokens_of_chars(chars: u64) -> u64 {
    chars.div_ceil(CHARS_PER_TOKEN as u64)
}

/// Returns the number of characters that `tokens` tokens hold.
pub const fn chars_of_tokens(tokens: u64) -> u64 {
    tokens.saturating_mul(CHARS_PER_TOKEN as u64)
}

/// Formats a token count compactly: `950`, `12k`, `1.5M`.
pub fn round_tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => format!("{}k", (count + 500) / 1_000),
        _ => format!("{:.1}M", count as f64 / 1_000_000.0).replace(".0M", "M"),
    }
}
