//! Text that must fit: the client cuts what a hook injects at 10,000 characters.

/// What one reply may inject, in characters, with room to spare below the client's own limit.
pub const CONTEXT_CHARS: usize = 9_500;

/// Collects lines up to a number of characters and says how many did not fit.
#[derive(Debug)]
pub struct Budget {
    text: String,
    left: usize,
    omitted: usize,
}

/// Room kept for the line that says what was left out.
const NOTICE_CHARS: usize = 80;

impl Budget {
    /// Starts an empty text of at most `chars` characters.
    pub fn new(chars: usize) -> Self {
        Self { text: String::new(), left: chars.saturating_sub(NOTICE_CHARS), omitted: 0 }
    }

    /// Adds a line if it fits, and returns whether it did; one that does not is counted as left out.
    ///
    /// Lines after one that did not fit are still tried: a short one may.
    pub fn push(&mut self, line: &str) -> bool {
        let chars = line.chars().count() + 1;
        if chars > self.left {
            self.omitted += 1;
            return false;
        }
        self.left -= chars;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Returns the text, with a last line that counts what was left out, if anything was.
    pub fn finish(mut self, what: &str) -> String {
        if self.omitted > 0 {
            let notice: String =
                format!("[{} {what} left out for space]", self.omitted).chars().take(NOTICE_CHARS - 1).collect();
            self.text.push_str(&notice);
            self.text.push('\n');
        }
        self.text
    }
}

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
