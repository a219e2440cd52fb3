//! Text that arrives as that text, whatever is in it.

/// Returns `text` without its control characters (C0, DEL, C1), line breaks included.
///
/// To a terminal they are keys: a line break submits, an escape interrupts.
pub fn printable(text: &str) -> String {
    text.chars().filter(|ch| !ch.is_control()).collect()
}

/// Returns `text` as one word of a POSIX shell, in single quotes.
///
/// A NUL is dropped: no argument can hold one.
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
