//! How far something has come: a bar on a terminal, else a line now and then.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::out;

/// A bar, or lines where there is no terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    says_lines: bool,
}

impl Bar {
    /// Begins one of this look, in indicatif's words.
    pub(crate) fn new(look: &str, total: u64, is_quiet: bool) -> Self {
        let is_shown = !is_quiet && io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        if let Ok(style) = ProgressStyle::with_template(look) {
            bar.set_style(style);
        }
        Self { bar, says_lines: !is_quiet && !is_shown }
    }

    /// So much more is done.
    pub(crate) fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    /// Says a line, where there is no bar to see.
    pub(crate) fn line(&self, text: &str) {
        if self.says_lines {
            out::message(text);
        }
    }

    /// Takes the bar away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
