//! Yes-or-no questions to the user.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Result, bail};

/// Asks the question, unless `is_confirmed`. Fails if the answer is no, or if there is no terminal to ask on.
pub(crate) fn confirm(question: &str, is_confirmed: bool) -> Result<()> {
    if is_confirmed {
        return Ok(());
    }
    match ask(question, false)? {
        Some(true) => Ok(()),
        Some(false) => bail!("cancelled: nothing was changed"),
        None => bail!("cannot ask for confirmation without a terminal: add --yes"),
    }
}

/// Asks the question; `None` if standard input is not a terminal. `default` is what Enter means. The end of the input is a no;
/// any other answer than yes or no is asked for again.
pub(crate) fn ask(question: &str, default: bool) -> Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    let choices = if default { "[Y/n]" } else { "[y/N]" };
    loop {
        let mut error = io::stderr().lock();
        write!(error, "{} {choices} ", longhaul_inject::printable(question))?;
        error.flush()?;
        let mut answer = String::new();
        if io::stdin().lock().read_line(&mut answer)? == 0 {
            writeln!(error)?;
            return Ok(Some(false));
        }
        match answer.trim().to_lowercase().as_str() {
            "" => return Ok(Some(default)),
            "y" | "yes" => return Ok(Some(true)),
            "n" | "no" => return Ok(Some(false)),
            _ => writeln!(error, "Please answer y or n.")?,
        }
    }
}
