//! Escaping and cleaning text for terminals, shells and AppleScript.

/// Returns `text` without control characters (C0, DEL, C1), including line breaks, and without characters that change the
/// direction of text.
///
/// A terminal treats control characters as keys: a line break submits, an escape interrupts.
pub fn printable(text: &str) -> String {
    text.chars().filter(|ch| is_printable(*ch)).collect()
}

/// Returns whether a character is no control character, does not change the direction of text, and does not end a line.
pub fn is_printable(ch: char) -> bool {
    !ch.is_control() && !matches!(ch, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// Returns `text` as one word for a POSIX shell, in single quotes.
///
/// NUL characters are removed, because no argument can contain one.
pub fn shell_single_quote(text: &str) -> String {
    format!("'{}'", text.replace('\0', "").replace('\'', r"'\''"))
}

/// Returns `text` as an AppleScript string literal.
pub fn applescript_string(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for ch in text.chars() {
        match ch {
            '"' | '\\' => literal.extend(['\\', ch]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            other => literal.push(other),
        }
    }
    literal.push('"');
    literal
}
