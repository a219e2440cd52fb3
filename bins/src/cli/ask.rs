//! Questions to the person at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Result, bail};

/// Asks, unless the user has said yes already; what cannot be asked is not done.
pub(crate) fn confirm(question: &str, is_confirmed: bool) -> Result<()> {
    if is_confirmed {
        return Ok(());
    }
    match ask(question)? {
        Some(true) => Ok(()),
        Some(false) => bail!("nothing was done"),
        None => bail!("nobody can be asked here: add --yes"),
    }
}

/// Asks; `None` where nobody is there to answer. Anything but a yes is a no.
pub(crate) fn ask(question: &str) -> Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut error = io::stderr().lock();
    write!(error, "{} [y/N] ", longhaul_inject::printable(question))?;
    error.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")))
}
