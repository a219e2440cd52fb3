//! Parsing a captured screen into rows of cells.

/// One character with its style. A wide character is one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) ch: char,
    pub(crate) style: Style,
}

/// The parts of a character's style that the crate uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    /// Faint, as placeholders are shown.
    pub(crate) dim: bool,
    /// Reverse video, as Claude Code draws its cursor.
    pub(crate) reverse: bool,
    /// With a background colour, as Claude Code shows earlier prompts.
    pub(crate) background: bool,
}

/// One row of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// The style at the end of the row. tmux cuts trailing spaces, and with them a cursor after the last character.
    pub(crate) end: Style,
}

impl Row {
    pub(crate) fn text(&self) -> String {
        self.cells.iter().map(|cell| cell.ch).collect()
    }

    /// Returns the cells from the first one that is not white space; none for a blank row.
    pub(crate) fn content(&self) -> &[Cell] {
        let at = self.cells.iter().position(|cell| !cell.ch.is_whitespace());
        at.map_or(&[], |at| &self.cells[at..])
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.content().is_empty()
    }

    pub(crate) fn has_cursor(&self) -> bool {
        self.end.reverse || self.cells.iter().any(|cell| cell.style.reverse)
    }
}

/// Parses the rows of `screen`.
///
/// A style continues in the next row, as tmux writes it. Escape sequences other than SGR and other control characters are
/// dropped. A sequence ends at the end of its row at the latest.
pub(crate) fn rows(screen: &str) -> Vec<Row> {
    let mut style = Style::default();
    screen.lines().map(|line| row(line, &mut style)).collect()
}

/// Returns the rows of a captured screen as text, without escape sequences and other control characters.
pub fn plain_rows(screen: &str) -> Vec<String> {
    rows(screen).iter().map(Row::text).collect()
}

fn row(line: &str, style: &mut Style) -> Row {
    let mut cells = Vec::new();
    let mut rest = line;
    while let Some(ch) = rest.chars().next() {
        let after = &rest[ch.len_utf8()..];
        rest = match ch {
            '\x1b' => sequence(after, style),
            _ if ch.is_control() => after,
            _ => {
                cells.push(Cell { ch, style: *style });
                after
            }
        };
    }
    Row { cells, end: *style }
}

/// Applies the escape sequence at the beginning of `text`, without its escape character; returns the text after it.
fn sequence<'a>(text: &'a str, style: &mut Style) -> &'a str {
    if let Some(body) = text.strip_prefix('[') {
        let Some(end) = body.find(|ch| !matches!(ch, '\x20'..='\x3f')) else { return "" };
        let (params, rest) = body.split_at(end);
        return match rest.strip_prefix('m') {
            Some(rest) => {
                select(params, style);
                rest
            }
            None => rest.strip_prefix(|ch| matches!(ch, '\x40'..='\x7e')).unwrap_or(rest),
        };
    }
    // OSC (hyperlinks), DCS, SOS, PM and APC contain text up to BEL or ST.
    if text.starts_with([']', 'P', 'X', '^', '_']) {
        // The bell itself is dropped as a control character.
        let bell = text.find('\x07');
        let terminator = text.find("\x1b\\").map(|at| at + 2);
        let end = [bell, terminator].into_iter().flatten().min().unwrap_or(text.len());
        return &text[end..];
    }
    let rest = text.trim_start_matches(|ch| matches!(ch, '\x20'..='\x2f'));
    rest.strip_prefix(|ch| matches!(ch, '\x30'..='\x7e')).unwrap_or(rest)
}

/// Applies the parameters of one SGR sequence.
fn select(params: &str, style: &mut Style) {
    let mut params = params.split(';');
    while let Some(param) = params.next() {
        // `38:2::r:g:b` is one parameter, `38;2;r;g;b` is five.
        let (code, whole) = param.split_once(':').map_or((param, false), |(code, _)| (code, true));
        match code {
            "" | "0" => *style = Style::default(),
            "2" => style.dim = true,
            "7" => style.reverse = true,
            "22" => style.dim = false,
            "27" => style.reverse = false,
            "49" => style.background = false,
            "38" | "48" | "58" => {
                style.background |= code == "48";
                if !whole {
                    let values = match params.next() {
                        Some("5") => 1,
                        Some("2") => 3,
                        Some(_) | None => 0,
                    };
                    params.by_ref().take(values).for_each(drop);
                }
            }
            _ => style.background |= matches!(code.parse(), Ok(40..=47 | 100..=107)),
        }
    }
}
