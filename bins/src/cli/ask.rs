//! Yes-or-no questions to the user.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Result, bail};

/// Asks the question, unless `is_confirmed`. Fails if the answer is no, or if there is no terminal to ask on.
pub(crate) fn confirm(question: &str, is_confirmed: bool) -> Result<()> {
    if is_confirmed {
        return Ok(());
    }
    match ask(question)? {
        Some(true) => Ok(()),
        Some(false) => bail!("cancelled: nothing was changed"),
        None => bail!("cannot ask for confirmation without a terminal: add --yes"),
    }
}

/// Asks the question; `None` if standard input is not a terminal. Everything except `y` and `yes` means no.
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
