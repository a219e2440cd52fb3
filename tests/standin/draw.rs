//! Draws the client's screen: conversation, ruled input box, footer, or a permission dialog in their place.

use crate::app::{App, Said};

const GREY: &str = "\x1b[38;5;246m";
const RULE: &str = "\x1b[38;5;244m";
const DIALOG: &str = "\x1b[38;5;153m";
const FAINT: &str = "\x1b[38;5;239m";
const BOLD: &str = "\x1b[1m";
const OFF: &str = "\x1b[0m";

/// One row of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Row {
    /// Text with its colours.
    pub(crate) text: String,
    /// How many columns it fills.
    pub(crate) width: usize,
}

impl Row {
    fn new() -> Self {
        Self::default()
    }

    /// Appends `text` in `style`, which is switched off afterwards.
    fn with(mut self, style: &str, text: &str) -> Self {
        self.width += width(text);
        let off = if style.is_empty() { "" } else { OFF };
        self.text.push_str(&format!("{style}{text}{off}"));
        self
    }
}

/// A whole screen.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    rows: Vec<Row>,
    /// Row and column, from 0, of the terminal's cursor: hidden, but moved along as the client does it.
    cursor: (usize, usize),
}

/// Returns the screen of `columns` × `rows` for the state of `app`.
pub(crate) fn frame(app: &App, columns: usize, rows: usize) -> Frame {
    let mut top = conversation(app, columns);
    let bottom = if app.dialog { dialog(&app.dialog_file, columns) } else { input_box(app, columns, rows) };
    let room = rows.saturating_sub(bottom.len());
    if top.len() > room {
        top.drain(..top.len() - room);
    }
    // The input box stands at the bottom, a dialog right below the conversation.
    let gap = room - top.len();
    let (between, below) = if app.dialog { (0, gap) } else { (gap, 0) };
    top.extend(vec![Row::new(); between]);
    top.extend(bottom);
    top.extend(vec![Row::new(); below]);
    top.truncate(rows);
    let cursor = if app.dialog {
        (top.iter().rposition(|row| row.text.contains('❯')).unwrap_or(0), 1)
    } else {
        // The draft ends above the second rule and the footer.
        let row = rows - 3;
        (row, top[row].width - 1)
    };
    Frame { rows: top, cursor }
}

/// Returns the bytes that turn `before` into `after` on the screen; only rows that differ are written.
pub(crate) fn difference(before: &Frame, after: &Frame, columns: usize) -> String {
    let mut bytes = String::new();
    for (index, row) in after.rows.iter().enumerate() {
        if before.rows.get(index) != Some(row) {
            // A full row must not be followed by "clear to the end", which would take its last column away.
            let clear = if row.width < columns { "\x1b[K" } else { "" };
            bytes.push_str(&format!("\x1b[{};1H{OFF}{}{clear}", index + 1, row.text));
        }
    }
    let (row, column) = after.cursor;
    bytes.push_str(&format!("\x1b[{};{}H", row + 1, column + 1));
    bytes
}

fn conversation(app: &App, columns: usize) -> Vec<Row> {
    let logo = "\x1b[38;5;174m";
    let mut rows = vec![
        Row::new(),
        Row::new().with(logo, " ▐▛███▛█").with("", "   ").with(BOLD, "Claude Code").with(GREY, " v2.1.325 (stand-in)"),
        Row::new().with(logo, "▝▜██████▀").with(GREY, "  Opus 5.5 · API Usage Billing"),
        Row::new().with(logo, " ▝▝   ▝▝ ").with(GREY, &fit(&format!("  {}", app.cwd.display()), columns - 9)),
        Row::new(),
    ];
    for said in &app.conversation {
        rows.push(Row::new());
        match said {
            Said::User(text) => rows.extend(wrap(text, columns - 3).into_iter().enumerate().map(|(index, line)| {
                Row::new().with("\x1b[48;5;237m", &format!("{}{line}", if index == 0 { "❯ " } else { "  " }))
            })),
            Said::Model(text) => rows.extend(wrap(text, columns - 3).into_iter().enumerate().map(|(index, line)| {
                Row::new().with("\x1b[38;5;231m", if index == 0 { "●" } else { " " }).with("", &format!(" {line}"))
            })),
            Said::Note(text) => rows.push(Row::new().with(GREY, &fit(text, columns - 1))),
        }
    }
    rows.push(Row::new());
    rows
}

fn input_box(app: &App, columns: usize, rows: usize) -> Vec<Row> {
    let running = app.looks_busy();
    let mut lines = Vec::new();
    for &index in app.queue.iter().rev().take(3).rev() {
        lines.push(Row::new().with(GREY, &fit(&format!("  ❯ {}", app.submitted[index].text), columns - 1)));
    }
    if running {
        let seconds = app.turn_began.elapsed().as_secs();
        lines.push(
            Row::new().with("\x1b[38;5;174m", "· Nebulizing… ").with(GREY, &format!("({seconds}s · ↓ 4 tokens)")),
        );
    }
    let status = if app.stash.is_some() { "◐ medium · /effort · › stashed" } else { "◐ medium · /effort" };
    lines.push(Row::new().with("", &" ".repeat(columns - width(status) - 2)).with(GREY, status));
    lines.push(rule(RULE, columns));
    lines.extend(draft(app, columns, rows / 3));
    lines.push(rule(RULE, columns));
    let footer = match (running, app.draft.is_empty()) {
        (true, _) => "⏸ manual mode on · esc to interrupt",
        (false, true) => "⏸ manual mode on · ? for shortcuts",
        (false, false) => "⏸ manual mode on",
    };
    lines.push(Row::new().with("", "  ").with(GREY, footer));
    lines
}

/// Returns the input: at most `room` lines, the last ones, with the cursor as a reversed cell behind the text.
fn draft(app: &App, columns: usize, room: usize) -> Vec<Row> {
    let prompt = if app.looks_busy() { GREY } else { "" };
    let mut lines = wrap(&app.draft, columns - 4);
    lines.drain(..lines.len().saturating_sub(room));
    let last = lines.len() - 1;
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| {
            let lead = if index == 0 { Row::new().with(prompt, "❯\u{a0}") } else { Row::new().with("", "  ") };
            let row = lead.with("", line);
            if index == last { row.with("\x1b[7m", " ") } else { row }
        })
        .collect()
}

fn dialog(file: &str, columns: usize) -> Vec<Row> {
    let dashes = || Row::new().with(FAINT, &"╌".repeat(columns));
    let option =
        |number: &str, text: &str| Row::new().with(GREY, &format!("   {number} ")).with("", &fit(text, columns - 8));
    vec![
        rule(DIALOG, columns),
        Row::new().with("", " ").with(&format!("{BOLD}{DIALOG}"), "Create file"),
        Row::new().with(GREY, &format!(" {file}")),
        dashes(),
        Row::new().with("\x1b[2m", "  1 ").with("", "written by the stand-in"),
        dashes(),
        Row::new().with("", " Do you want to create ").with(BOLD, file).with("", "?"),
        Row::new().with(DIALOG, " ❯").with(GREY, " 1. ").with(DIALOG, "Yes"),
        option("2.", "Yes, and switch to accept edits for this session (shift+tab)"),
        option("3.", "No"),
        Row::new(),
        Row::new().with(GREY, " Esc to cancel · Tab to amend"),
    ]
}

fn rule(style: &str, columns: usize) -> Row {
    Row::new().with(style, &"─".repeat(columns))
}

/// Cuts `text` into lines of at most `columns`; control characters are shown, never sent to the terminal.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        let mut filled = 0;
        for c in paragraph.chars().map(visible) {
            if filled + columns_of(c) > columns {
                lines.push(std::mem::take(&mut line));
                filled = 0;
            }
            filled += columns_of(c);
            line.push(c);
        }
        lines.push(line);
    }
    lines
}

/// Returns the first of the lines that `wrap` makes.
fn fit(text: &str, columns: usize) -> String {
    wrap(text, columns).swap_remove(0)
}

fn visible(c: char) -> char {
    match u32::from(c) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or('?'),
        0x7f..=0x9f => '?',
        _ => c,
    }
}

fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Returns how many columns `c` takes: a rough table, good enough for drafts in tests.
fn columns_of(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xff00..=0xff60 => 2,
        0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}
