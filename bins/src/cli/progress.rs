//! A progress bar on a terminal, or else a line now and then.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::out;

/// A progress bar, or lines if there is no terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    prints_lines: bool,
}

impl Bar {
    /// Returns a new bar. `look` is a template of indicatif.
    pub(crate) fn new(look: &str, total: u64, is_quiet: bool) -> Self {
        let is_shown = !is_quiet && io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        if let Ok(style) = ProgressStyle::with_template(look) {
            bar.set_style(style);
        }
        Self { bar, prints_lines: !is_quiet && !is_shown }
    }

    /// Advances the bar.
    pub(crate) fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    /// Prints a line, if no bar is visible.
    pub(crate) fn line(&self, text: &str) {
        if self.prints_lines {
            out::message(text);
        }
    }

    /// Removes the bar.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
