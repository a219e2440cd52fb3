//! Prints data to standard output and messages to standard error, without control characters.

use std::io::{self, Write};

use serde::Serialize;

/// Prints a line of data.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Prints JSON, with control and invisible characters escaped.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        // Between values there are only line ends, so every other such character is inside a string.
        match c {
            '\n' => escaped.push(c),
            c if longhaul_inject::is_printable(c) => escaped.push(c),
            c => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    line(&escaped)
}

/// Prints text of several lines, without control characters.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    for row in text.lines() {
        line(&longhaul_inject::printable(&row.replace('\t', "    ")))?;
    }
    Ok(())
}

/// Prints a message for the user.
pub(crate) fn message(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", longhaul_inject::printable(text));
}

/// Returns whether `error` means that the reader of the output has closed it.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
