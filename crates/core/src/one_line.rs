//! Texts as one line of limited length.

/// Returns a text as one line of at most `chars` characters.
///
/// Every run of white space becomes one space. A text that is longer is cut and ends in `…`. The cost does not grow with the
/// part that is cut off.
pub fn one_line(text: &str, chars: usize) -> String {
    if text.len() <= chars && is_plain_line(text) {
        return text.to_owned();
    }
    let mut line = String::new();
    let mut left = chars;
    for (index, word) in text.split_whitespace().enumerate() {
        let gap = usize::from(index > 0);
        let length = word.chars().take(left.saturating_add(1)).count() + gap;
        if length > left {
            let kept = left.saturating_sub(gap + 1);
            line.push_str(if kept > 0 && gap > 0 { " " } else { "" });
            line.extend(word.chars().take(kept));
            line.push('…');
            return line.chars().take(chars).collect();
        }
        line.push_str(if gap > 0 { " " } else { "" });
        line.push_str(word);
        left -= length;
    }
    line
}

/// Returns whether a text is ASCII words with one space between them. Most texts are, and need no second look.
fn is_plain_line(text: &str) -> bool {
    let mut before = b' ';
    let is_plain = text.bytes().all(|byte| {
        let is_word = byte.is_ascii_graphic() || (byte == b' ' && before != b' ');
        before = byte;
        is_word
    });
    is_plain && (text.is_empty() || before != b' ')
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn white_space_becomes_one_space_and_a_long_text_is_cut() {
        for (text, chars, expected) in [
            (" one\n\ttwo  three ", 20, "one two three"),
            ("one two three", 13, "one two three"),
            ("one two three", 12, "one two thr…"),
            ("one two three", 8, "one two…"),
            ("one two three", 9, "one two…"),
            ("ありがとう ございます", 7, "ありがとう…"),
            ("anything", 0, ""),
            ("anything", 4, "any…"),
            (" \n ", 5, ""),
            ("no limit at all", usize::MAX, "no limit at all"),
            ("", 5, ""),
            ("ends in a space ", 20, "ends in a space"),
            (" begins with one", 20, "begins with one"),
            ("two  spaces", 20, "two spaces"),
            ("a\u{a0}b", 20, "a b"),
        ] {
            let line = one_line(text, chars);
            assert_eq!(line, expected, "{text:?} in {chars}");
            assert!(line.chars().count() <= chars, "{text:?} in {chars}");
        }
    }
}
