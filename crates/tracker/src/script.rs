//! What the user has set to be run when a session changes: a program, or the text of a shell script.

/// Characters that mean more to a shell than themselves, quotes and the backslash left out.
const ACTIVE: &[char] = &['$', '`', ';', '|', '&', '<', '>', '(', ')', '#', '\n'];

/// How the value of an option is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Script {
    /// A program, by its path. The values are its arguments.
    Program(String),
    /// Text for a shell, in which the values are `$1` to `$5`.
    Shell(String),
}

impl Script {
    /// Reads an option's value. `home` stands for `~`, and `is_file` says whether a path is that of a file.
    ///
    /// A path alone is a program, even with blanks in it. A path with arguments of its own gets the values behind these,
    /// unless the text says itself where they go, or is more than one command.
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

/// Returns an absolute path, with the home for `~`; `None` for anything else.
fn expand(text: &str, home: Option<&str>) -> Option<String> {
    match text.strip_prefix("~/") {
        Some(rest) => Some(format!("{}/{rest}", home?.trim_end_matches('/'))),
        None => text.starts_with('/').then(|| text.to_owned()),
    }
}

/// Returns the first word as a shell reads it, and what follows it; `None` where a quote is left open.
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

/// Returns a value as scripts get it: without control characters, which a terminal would obey.
pub fn without_control_chars(value: &str) -> String {
    value.chars().filter(|c| !c.is_control()).collect()
}
