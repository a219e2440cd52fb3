//! Prints data to standard output, and messages, questions and progress to standard error, without control characters.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use longhaul_core::text::{CHARS_PER_TOKEN, visible};
use longhaul_core::{Env, record};
use serde::Serialize;
use serde_json::Value;

/// The tokens of the frame around text of earlier sessions.
pub(crate) const FRAME_TOKENS: usize = (record::OPEN.len() + record::CLOSE.len() + 1).div_ceil(CHARS_PER_TOKEN);

pub(crate) fn line(text: &str) -> Result<()> {
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Prints lines, all at once: to write thousands one by one may take longer than to find them.
pub(crate) fn lines(lines: &[String]) -> Result<()> {
    if lines.is_empty() { Ok(()) } else { line(&lines.join("\n")) }
}

/// Prints JSON, with control and invisible characters escaped.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    line(&escaped_json(&serde_json::to_string_pretty(value)?))
}

/// Returns JSON with the same content, in which control and invisible characters are escaped.
pub(crate) fn escaped_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        // Between values there are only line ends, so every other such character is inside a string.
        match c {
            c if c == '\n' || longhaul_inject::is_printable(c) => escaped.push(c),
            c => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    escaped
}

/// Prints rows as a JSON array, or as a table; instead of a table without rows, the message `none`.
pub(crate) fn list<T>(
    as_json: bool,
    rows: &[T],
    json: impl Fn(&T) -> Value,
    none: &str,
    table: impl FnOnce() -> Vec<String>,
) -> Result<()> {
    if as_json {
        return self::json(&rows.iter().map(json).collect::<Vec<_>>());
    }
    if rows.is_empty() {
        message(none);
    } else {
        lines(&table())?;
    }
    Ok(())
}

/// Prints text of several lines, without control characters.
pub(crate) fn text(text: &str) -> Result<()> {
    for row in text.lines() {
        line(&longhaul_inject::printable(&row.replace('\t', "    ")))?;
    }
    Ok(())
}

/// Returns whether a model may read standard output: a client runs this program, or no terminal shows it.
pub(crate) fn is_for_model(env: &Env) -> bool {
    env.run_by_client || !io::stdout().is_terminal()
}

/// Prints text of earlier sessions, without control characters. A model gets it in the frame of a record, so that it does
/// not follow instructions in it.
pub(crate) fn recorded_text(env: &Env, recorded: &str) -> Result<()> {
    if is_for_model(env) { print_framed(recorded) } else { text(recorded) }
}

/// Prints lines of earlier sessions, whose only control characters are colours on a terminal. A model gets them in the frame
/// of a record.
pub(crate) fn recorded_lines(env: &Env, lines: &[String]) -> Result<()> {
    if is_for_model(env) { print_framed(&lines.join("\n")) } else { self::lines(lines) }
}

fn print_framed(recorded: &str) -> Result<()> {
    if recorded.is_empty() { Ok(()) } else { line(&framed(recorded)) }
}

/// Returns text of earlier sessions in the frame of a record.
///
/// Characters that a model must not get are removed first. Removing them later could leave a tag that ends the frame.
pub(crate) fn framed(recorded: &str) -> String {
    record::frame(&printable(recorded))
}

/// Returns text of several lines without control characters, and without characters that only a model reads.
pub(crate) fn printable(text: &str) -> String {
    let lines = text.lines().map(|line| longhaul_inject::printable(&line.replace('\t', "    ")));
    visible(&lines.collect::<Vec<_>>().join("\n")).into_owned()
}

pub(crate) fn message(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", longhaul_inject::printable(text));
}

/// Returns whether `error` means that the reader of the output has closed it.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

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

/// A progress bar, or lines if there is no terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    prints_lines: bool,
}

impl Bar {
    /// Returns a new bar, by a template of indicatif.
    pub(crate) fn new(template: &str, total: u64, is_quiet: bool) -> Self {
        let is_shown = !is_quiet && io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar, prints_lines: !is_quiet && !is_shown }
    }

    pub(crate) fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    /// Prints a line, if no bar is visible.
    pub(crate) fn line(&self, text: &str) {
        if self.prints_lines {
            message(text);
        }
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
