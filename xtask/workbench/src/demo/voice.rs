//! The output of the demo: numbered steps, remarks, a framed screen. Colours only on a terminal.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use xtask::run;

const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";
const CYAN: &str = "36";

/// Maximum line length of a quotation.
const LINE: usize = 90;

/// Writes to standard output.
pub(crate) struct Voice {
    colours: bool,
    step: usize,
}

impl Voice {
    /// Colours are used if standard output is a terminal and `NO_COLOR` is not set.
    pub(crate) fn new() -> Self {
        Self { colours: io::stdout().is_terminal() && run::var("NO_COLOR").is_none(), step: 0 }
    }

    /// Prints the heading of the next step.
    pub(crate) fn step(&mut self, title: &str) -> Result<()> {
        self.step += 1;
        let title = self.paint(BOLD, format!("{}  {title}", self.step));
        Ok(writeln!(io::stdout(), "\n{title}")?)
    }

    /// Prints an indented text.
    pub(crate) fn say(&self, text: &str) -> Result<()> {
        for line in text.lines() {
            writeln!(io::stdout(), "{}", format!("   {line}").trim_end())?;
        }
        Ok(())
    }

    /// Prints a check that has passed.
    pub(crate) fn succeed(&self, text: &str) -> Result<()> {
        Ok(writeln!(io::stdout(), "   {} {text}", self.paint(GREEN, "✓"))?)
    }

    /// Prints output of a program, or a line of a file, with its meaning.
    pub(crate) fn show(&self, text: &str, meaning: &str) -> Result<()> {
        let text = self.paint(CYAN, format!("{text:<25}"));
        Ok(writeln!(io::stdout(), "     {text}  {meaning}")?)
    }

    /// Prints a longer text, wrapped.
    pub(crate) fn quote(&self, text: &str) -> Result<()> {
        let mut lines = vec![String::new()];
        for word in format!("“{text}”").split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) if line.chars().count() + word.chars().count() < LINE => *line += &format!(" {word}"),
                _ => lines.push(word.to_owned()),
            }
        }
        lines.iter().try_for_each(|line| self.say(&format!("  {}", self.paint(CYAN, line))))
    }

    /// Prints a screen in a frame, without the blank lines at its top and bottom.
    pub(crate) fn frame(&self, screen: &[String], columns: usize) -> Result<()> {
        let mut out = io::stdout();
        let edge = |left, right| self.paint(DIM, format!("{left}{}{right}", "─".repeat(columns)));
        let side = self.paint(DIM, "│");
        let blank = |line: &&String| line.trim().is_empty();
        let above = screen.iter().take_while(blank).count();
        let below = screen.iter().rev().take_while(blank).count();
        writeln!(out, "   {}", edge("┌", "┐"))?;
        for line in &screen[above..screen.len().saturating_sub(below).max(above)] {
            writeln!(out, "   {side}{line:<columns$}{side}")?;
        }
        Ok(writeln!(out, "   {}", edge("└", "┘"))?)
    }

    fn paint(&self, colour: &str, text: impl Display) -> String {
        if self.colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_string() }
    }
}
