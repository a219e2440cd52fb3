//! Data to standard output, messages to standard error, nothing in them that could drive the terminal.

use std::io::{self, Write};

/// Prints a line of data.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Prints text of several lines, without what could drive the terminal.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    for row in text.lines() {
        line(&longhaul_inject::printable(&row.replace('\t', "    ")))?;
    }
    Ok(())
}

/// Prints a message for the person at the terminal.
pub(crate) fn message(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", longhaul_inject::printable(text));
}

/// Returns whether `error` only means that nobody reads our output any more.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
