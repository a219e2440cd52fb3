//! The script that the user has set to run when a session changes: a program, or text for a shell, and the text that it
//! gets.

use longhaul_core::Status;

/// Characters with a special meaning in a shell, except quotes and the backslash.
const ACTIVE: &[char] = &['$', '`', ';', '|', '&', '<', '>', '(', ')', '#', '\n'];

/// How to run the value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Script {
    /// A program, by its path; the values of the change are its arguments.
    Program(String),
    /// Text for a shell, in which the values of the change are `$1` to `$5`.
    Shell(String),
}

impl Script {
    /// Parses an option's value. `home` replaces `~`, and `is_file` returns whether a path is an existing file.
    ///
    /// A path alone is a program, even with spaces in it. For a path with arguments, the values are appended to the
    /// arguments, unless the text uses other features of the shell.
    pub fn parse(text: &str, home: Option<&str>, is_file: impl Fn(&str) -> bool) -> Self {
        let text = text.trim();
        let path = |text: &str| expand(text, home).filter(|path| is_file(path));
        if let Some(program) = path(text) {
            return Self::Program(program);
        }
        match first_word(text) {
            Some((word, rest)) if path(&word).is_some() && !rest.contains(ACTIVE) => {
                if rest.trim().is_empty() {
                    return Self::Program(path(&word).unwrap_or(word));
                }
                Self::Shell(format!("{text} \"$@\""))
            }
            _ => Self::Shell(text.to_owned()),
        }
    }
}

/// Returns `text` as an absolute path, with `~` replaced; `None` where it is not an absolute path.
fn expand(text: &str, home: Option<&str>) -> Option<String> {
    match text.strip_prefix("~/") {
        Some(rest) => Some(format!("{}/{rest}", home?.trim_end_matches('/'))),
        None => text.starts_with('/').then(|| text.to_owned()),
    }
}

/// Returns the first word, as a shell reads it, and the rest of the text; `None` where a quote is not closed.
fn first_word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => return Some((word, &text[at..])),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '\\') => word.push(chars.next()?.1),
            (_, c) => word.push(c),
        }
    }
    quote.is_none().then_some((word, ""))
}

/// Returns the last value that a script gets: the reason why the session is blocked, or else its last prompt.
pub fn script_text<'t>(to: Status, reason: Option<&'t str>, last_prompt: Option<&'t str>) -> &'t str {
    reason.filter(|_| to == Status::Blocked).or(last_prompt).unwrap_or_default()
}

/// Returns `value` without control characters, which a terminal would interpret.
pub fn without_control_chars(value: &str) -> String {
    value.chars().filter(|c| !c.is_control()).collect()
}
