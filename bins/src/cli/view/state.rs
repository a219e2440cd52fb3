//! The state of the view: what each key does, what is typed, and when a dialog may be answered. Pure.

use longhaul_inject::DialogAnswer;

use super::rows::{RowId, SessionRow, matches, sort};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tab {
    #[default]
    Sessions,
    /// The context use of the sessions: the monitor.
    Context,
}

/// What a text that is typed is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFor {
    Prompt,
    Bookmark,
}

/// What the keys do at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    /// They choose a session and do something with it.
    #[default]
    List,
    Filter,
    Text {
        about: TextFor,
        id: RowId,
        text: String,
    },
    /// They scroll and answer a permission dialog.
    Dialog {
        id: RowId,
        reading: DialogReading,
    },
    /// They confirm that a session is to be continued in a new one.
    ConfirmContinue {
        id: RowId,
    },
    /// Any key leaves the help.
    Help,
}

/// What is to be done after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Nothing but to draw the screen.
    Draw,
    Quit,
    GoTo(RowId),
    Send(RowId, String),
    /// Read the permission dialog of the session, and show it.
    ReadDialog(RowId),
    Answer(RowId, DialogAnswer),
    /// Set a bookmark with a note, which may be empty.
    Bookmark(RowId, String),
    Continue(RowId),
    /// Reopen the sessions of a tmux server that died.
    Reopen,
}

/// The rows, the chosen one, and what the keys do.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct View {
    pub(crate) rows: Vec<SessionRow>,
    chosen: Option<RowId>,
    /// The row at the top of the list.
    top: usize,
    pub(crate) filter: String,
    pub(crate) mode: Mode,
    pub(crate) tab: Tab,
    /// Shown in the last line until the next key.
    pub(crate) message: Option<String>,
}

impl View {
    /// Replaces the rows. The chosen session stays the same, also if its place in the list changes.
    pub(crate) fn set_rows(&mut self, mut rows: Vec<SessionRow>) {
        sort(&mut rows);
        let place = self.place();
        self.rows = rows;
        self.choose_near(place);
    }

    /// Returns the rows that the filter keeps.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &SessionRow> {
        self.rows.iter().filter(|row| matches(row, &self.filter))
    }

    pub(crate) fn chosen(&self) -> Option<&SessionRow> {
        self.chosen.as_ref().and_then(|id| self.row(id))
    }

    pub(crate) fn row(&self, id: &RowId) -> Option<&SessionRow> {
        self.rows.iter().find(|row| row.id == *id)
    }

    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.message = Some(text.into());
    }

    /// Returns the first row of the list in an area with `room` lines, so that the chosen one is visible.
    pub(crate) fn scrolled(&mut self, room: usize) -> usize {
        let place = self.place();
        let last = self.shown().count().saturating_sub(room);
        let lowest = place.saturating_sub(room.saturating_sub(1));
        self.top = self.top.clamp(lowest, place.max(lowest)).min(last);
        self.top
    }

    /// Records that the dialog was drawn: see [`DialogReading::drawn`].
    pub(crate) fn dialog_drawn(&mut self, lines: usize, room: usize, now: u64) {
        if let Mode::Dialog { reading, .. } = &mut self.mode {
            reading.drawn(lines, room, now);
        }
    }

    /// Shows the permission dialog of a session, which was read because of [`Command::ReadDialog`].
    pub(crate) fn open_dialog(&mut self, id: RowId) {
        if self.mode == Mode::List {
            self.mode = Mode::Dialog { id, reading: DialogReading::default() };
        }
    }

    /// Leaves the dialog: it was closed, or is another one now.
    pub(crate) fn close_dialog(&mut self, why: &str) {
        if matches!(self.mode, Mode::Dialog { .. }) {
            self.mode = Mode::List;
            self.say(why);
        }
    }

    /// Does what a key does at the time `now`, in milliseconds. `page` is the number of rows of the list.
    pub(crate) fn press(&mut self, key: Key, page: usize, now: u64) -> Command {
        self.message = None;
        if key == Key::Interrupt {
            return Command::Quit;
        }
        match std::mem::take(&mut self.mode) {
            Mode::List => self.press_in_list(&key, page),
            Mode::Filter => self.press_in_filter(&key, page),
            Mode::Text { about, id, text } => self.press_in_text(&key, about, id, text),
            Mode::Dialog { id, reading } => self.press_in_dialog(&key, id, reading, now),
            Mode::ConfirmContinue { id } => match key {
                Key::Char('y') => Command::Continue(id),
                _ => Command::Draw,
            },
            Mode::Help => Command::Draw,
        }
    }

    fn press_in_list(&mut self, key: &Key, page: usize) -> Command {
        match key {
            Key::Char('q') => return Command::Quit,
            // The first Esc removes the filter, because that is what a person sees and wants to leave.
            Key::Esc if self.filter.is_empty() => return Command::Quit,
            Key::Esc => {
                self.filter.clear();
                self.choose_near(self.place());
            }
            Key::Char('?') => self.mode = Mode::Help,
            Key::Tab => {
                self.tab = match self.tab {
                    Tab::Sessions => Tab::Context,
                    Tab::Context => Tab::Sessions,
                }
            }
            // In the other tab no session is chosen.
            _ if self.tab == Tab::Context => {}
            Key::Char('/') => self.mode = Mode::Filter,
            Key::Char('r') => return Command::Reopen,
            key if self.moves(key, page) => {}
            key => return self.act(key),
        }
        Command::Draw
    }

    /// Does something with the chosen session.
    fn act(&mut self, key: &Key) -> Command {
        let Some(id) = self.chosen().map(|row| row.id.clone()) else { return Command::Draw };
        match (key, &id.host) {
            (Key::Enter, _) => return Command::GoTo(id),
            (Key::Char('p' | 'y' | 'n' | 'b' | 'c'), Some(host)) => {
                self.say(format!("Sessions of {host} are only shown here: go there with Enter."));
            }
            (Key::Char('p'), None) => self.mode = Mode::Text { about: TextFor::Prompt, id, text: String::new() },
            (Key::Char('b'), None) => self.mode = Mode::Text { about: TextFor::Bookmark, id, text: String::new() },
            // Neither answers from here: the dialog is shown first.
            (Key::Char('y' | 'n'), None) => return Command::ReadDialog(id),
            (Key::Char('c'), None) => self.mode = Mode::ConfirmContinue { id },
            _ => {}
        }
        Command::Draw
    }

    fn press_in_filter(&mut self, key: &Key, page: usize) -> Command {
        let place = self.place();
        self.mode = Mode::Filter;
        match key {
            Key::Char(c) => append(&mut self.filter, c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => append(&mut self.filter, text),
            Key::Backspace if self.filter.is_empty() => self.mode = Mode::List,
            Key::Backspace => drop(self.filter.pop()),
            Key::ClearText => self.filter.clear(),
            Key::Esc => {
                self.filter.clear();
                self.mode = Mode::List;
            }
            Key::Enter => self.mode = Mode::List,
            key => {
                self.moves(key, page);
                return Command::Draw;
            }
        }
        self.choose_near(place);
        Command::Draw
    }

    fn press_in_text(&mut self, key: &Key, about: TextFor, id: RowId, mut text: String) -> Command {
        match key {
            Key::Char(c) => append(&mut text, c.encode_utf8(&mut [0; 4])),
            Key::Paste(pasted) => append(&mut text, pasted),
            Key::Backspace => drop(text.pop()),
            Key::ClearText => text.clear(),
            Key::Esc => return Command::Draw,
            Key::Enter => {
                let text = text.trim().to_owned();
                return match about {
                    TextFor::Prompt if text.is_empty() => Command::Draw,
                    TextFor::Prompt => Command::Send(id, text),
                    TextFor::Bookmark => Command::Bookmark(id, text),
                };
            }
            _ => {}
        }
        self.mode = Mode::Text { about, id, text };
        Command::Draw
    }

    fn press_in_dialog(&mut self, key: &Key, id: RowId, mut reading: DialogReading, now: u64) -> Command {
        let answer = match key {
            Key::Char('y') => Some(DialogAnswer::Yes),
            Key::Char('n') => Some(DialogAnswer::No),
            _ => None,
        };
        match (key, answer) {
            (_, Some(answer)) if reading.may_answer(now) => return Command::Answer(id, answer),
            (_, Some(_)) if !reading.is_read() => self.say("Scroll to the end first: ↓"),
            (Key::Esc | Key::Char('q'), _) => return Command::Draw,
            (Key::Enter, _) => return Command::GoTo(id),
            (Key::Up | Key::Char('k'), _) => reading.scroll(-1),
            (Key::Down | Key::Char('j'), _) => reading.scroll(1),
            (Key::PageUp, _) => reading.scroll(-5),
            (Key::PageDown | Key::Char(' '), _) => reading.scroll(5),
            _ => {}
        }
        self.mode = Mode::Dialog { id, reading };
        Command::Draw
    }

    /// Moves the choice if `key` is one that does; returns whether it is. In the filter, where a letter is text, letters are
    /// handled before.
    fn moves(&mut self, key: &Key, page: usize) -> bool {
        let (place, page) = (self.place(), page.max(1));
        let place = match key {
            Key::Up | Key::Char('k') => place.saturating_sub(1),
            Key::Down | Key::Char('j') => place + 1,
            Key::PageUp => place.saturating_sub(page),
            Key::PageDown => place + page,
            Key::Home => 0,
            Key::End => usize::MAX,
            _ => return false,
        };
        self.chosen = None;
        self.choose_near(place);
        true
    }

    /// Returns the place of the chosen row in the list.
    fn place(&self) -> usize {
        self.shown().position(|row| Some(&row.id) == self.chosen.as_ref()).unwrap_or_default()
    }

    /// Keeps the choice if its row is shown; otherwise chooses the row at `place`, or the last one.
    fn choose_near(&mut self, place: usize) {
        let shown: Vec<&RowId> = self.shown().map(|row| &row.id).collect();
        if !shown.iter().any(|id| Some(*id) == self.chosen.as_ref()) {
            self.chosen = shown.get(place).or(shown.last()).map(|id| (*id).clone());
        }
    }
}

/// A key press, as far as the view knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    /// Pasted text. It is never taken for commands.
    Paste(String),
    Enter,
    Esc,
    Backspace,
    /// Ctrl-U: empties the text that is being typed.
    ClearText,
    /// Ctrl-C: leaves from everywhere.
    Interrupt,
    Tab,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

/// The help: every key of the list, and what it does.
pub(crate) const KEYS: [(&str, &str); 10] = [
    ("Enter", "go to the session"),
    ("↑ ↓ k j", "select another session"),
    ("/", "filter: project, branch, state, prompt, host"),
    ("p", "send a prompt"),
    ("y n", "show the open permission dialog; there, answer yes or no"),
    ("b", "set a bookmark, with a note"),
    ("c", "continue in a new session: handoff, /clear, prompt"),
    ("r", "reopen the sessions of a tmux server that died"),
    ("Tab", "switch between sessions and context use (the monitor)"),
    ("q Esc", "quit"),
];

/// The maximum length of a text that is being typed, in characters.
pub(crate) const MAX_CHARS: usize = 4_000;

/// Appends to a text that is being typed. Line ends and tabs become spaces; other control characters are left out.
pub(crate) fn append(text: &mut String, more: &str) {
    let room = MAX_CHARS.saturating_sub(text.chars().count());
    let space = |c: char| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c };
    text.extend(more.chars().map(space).filter(|c| !c.is_control()).take(room));
}

/// How long a dialog must have been on the screen before a key answers it. A key that was pressed earlier was not meant
/// for it.
const LEAST_SHOWN_MS: u64 = 400;

/// A permission dialog on the screen: which part of it is shown, and whether all of it was.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DialogReading {
    lines: usize,
    /// The first line that is shown.
    pub(crate) top: usize,
    /// The number of lines from the first one on that were on the screen.
    shown_to: usize,
    /// Since when it is on the screen, in milliseconds; `None` before the first drawing.
    since: Option<u64>,
}

impl DialogReading {
    /// Records that a dialog of `lines` lines was drawn from `top` on, `room` of them, at the time `now`.
    ///
    /// The number of lines depends on the width of the screen. If it changes, everything must be shown again.
    pub(crate) fn drawn(&mut self, lines: usize, room: usize, now: u64) {
        if self.lines != lines {
            self.lines = lines;
            self.shown_to = 0;
        }
        self.top = self.top.min(lines.saturating_sub(room.max(1)));
        if self.top <= self.shown_to {
            self.shown_to = self.shown_to.max(self.top.saturating_add(room).min(lines));
        }
        self.since.get_or_insert(now);
    }

    /// Scrolls by lines: down if `by` is positive.
    pub(crate) fn scroll(&mut self, by: isize) {
        self.top = self.top.saturating_add_signed(by).min(self.lines.saturating_sub(1));
    }

    /// Returns whether every line was on the screen.
    pub(crate) fn is_read(&self) -> bool {
        self.since.is_some() && self.shown_to >= self.lines
    }

    /// Returns whether a key that is pressed at `now` may answer.
    fn may_answer(&self, now: u64) -> bool {
        self.is_read() && self.since.is_some_and(|since| now.saturating_sub(since) >= LEAST_SHOWN_MS)
    }
}
