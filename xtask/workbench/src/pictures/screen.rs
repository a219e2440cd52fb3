//! A captured screen as rows of runs: adjacent cells of one style.

use unicode_width::UnicodeWidthChar;

use super::sgr::Style;

/// A screen without the blank rows above and below its content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) rows: Vec<Row>,
}

/// One row, from left to right.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct Row {
    pub(crate) runs: Vec<Run>,
}

/// Adjacent cells of one style.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The column of its first cell.
    pub(crate) column: usize,
    /// Its width in columns, which may differ from its number of characters.
    pub(crate) width: usize,
    pub(crate) text: String,
    pub(crate) style: Style,
}

impl Screen {
    /// Parses the output of `tmux capture-pane -p -e`, with or without `-N`.
    ///
    /// Styles carry over from row to row, as tmux writes them. Sequences other than SGR are ignored.
    pub(crate) fn parse(capture: &str) -> Self {
        let mut style = Style::default();
        let mut rows: Vec<_> = capture.lines().map(|line| Row::parse(line, &mut style)).collect();
        let end = rows.iter().rposition(|row| !row.runs.is_empty()).map_or(0, |last| last + 1);
        rows.truncate(end);
        let start = rows.iter().position(|row| !row.runs.is_empty()).unwrap_or(0);
        rows.drain(..start);
        Self { rows }
    }

    /// Returns the width of the longest row in columns.
    pub(crate) fn width(&self) -> usize {
        self.rows.iter().filter_map(|row| row.runs.last()).map(|run| run.column + run.width).max().unwrap_or(0)
    }
}

impl Row {
    fn parse(line: &str, style: &mut Style) -> Self {
        let mut row = Self::default();
        let mut column = 0;
        let mut rest = line;
        while let Some(ch) = rest.chars().next() {
            rest = &rest[ch.len_utf8()..];
            if ch == '\u{1b}' {
                rest = escape(rest, style);
            } else if let Some(width) = ch.width() {
                row.push(ch, column, width, *style);
                column += width;
            }
        }
        row.trim();
        row
    }

    /// Appends a character: to the last run if the style is the same or the character combines with the one before.
    fn push(&mut self, ch: char, column: usize, width: usize, style: Style) {
        match self.runs.last_mut() {
            Some(run) if run.style == style || width == 0 => {
                run.text.push(ch);
                run.width += width;
            }
            _ => self.runs.push(Run { column, width, text: ch.into(), style }),
        }
    }

    /// Removes invisible blanks at the end.
    fn trim(&mut self) {
        while let Some(run) = self.runs.last_mut() {
            if !run.style.shows_on_blank() {
                let blanks = run.text.len() - run.text.trim_end_matches(' ').len();
                run.text.truncate(run.text.len() - blanks);
                run.width -= blanks;
            }
            if !run.text.is_empty() {
                break;
            }
            self.runs.pop();
        }
    }
}

/// Parses an escape sequence after the escape character, and returns the rest.
fn escape<'a>(rest: &'a str, style: &mut Style) -> &'a str {
    if let Some(sequence) = rest.strip_prefix('[') {
        let Some(end) = sequence.find(|ch: char| ('@'..='~').contains(&ch)) else { return "" };
        let (parameters, after) = sequence.split_at(end);
        if let Some(after) = after.strip_prefix('m') {
            *style = style.after(parameters);
            return after;
        }
        return &after[1..];
    }
    // A link, which ends in BEL or ESC \: its text is kept, its address dropped.
    if let Some(command) = rest.strip_prefix(']') {
        let ends = ["\u{7}", "\u{1b}\\"].map(|end| command.find(end).map(|at| at + end.len()));
        return ends.into_iter().flatten().min().map_or("", |end| &command[end..]);
    }
    // A character set (`ESC ( B`) has two characters, any other sequence one.
    let length = if rest.starts_with(['(', ')']) { 2 } else { 1 };
    rest.char_indices().nth(length).map_or("", |(at, _)| &rest[at..])
}

#[cfg(test)]
mod tests;
