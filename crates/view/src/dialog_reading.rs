//! A permission dialog, while the user reads it.

/// How long a dialog must have been on the screen before a key answers it. A key that was pressed earlier was not meant
/// for it.
const LEAST_SHOWN_MS: u64 = 400;

/// A permission dialog on the screen: which part of it is shown, and whether all of it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogReading {
    lines: usize,
    top: usize,
    /// The number of lines from the first one on that were on the screen.
    shown_to: usize,
    /// Since when it is on the screen, in milliseconds; `None` before the first drawing.
    since: Option<u64>,
}

impl DialogReading {
    /// Returns the state for a dialog of which nothing is shown yet.
    pub fn new() -> Self {
        Self { lines: 0, top: 0, shown_to: 0, since: None }
    }

    /// Returns the first line that is shown.
    pub fn top(&self) -> usize {
        self.top
    }

    /// Records that a dialog of `lines` lines was drawn from [`DialogReading::top`] on, `room` of them, at the time `now`.
    ///
    /// The number of lines depends on the width of the screen. If it changes, everything must be shown again.
    pub fn drawn(&mut self, lines: usize, room: usize, now: u64) {
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
    pub fn scroll(&mut self, by: isize) {
        self.top = self.top.saturating_add_signed(by).min(self.lines.saturating_sub(1));
    }

    /// Returns whether every line was on the screen.
    pub fn is_read(&self) -> bool {
        self.since.is_some() && self.shown_to >= self.lines
    }

    /// Returns whether a key that is pressed at `now` may answer.
    pub fn may_answer(&self, now: u64) -> bool {
        self.is_read() && self.since.is_some_and(|since| now.saturating_sub(since) >= LEAST_SHOWN_MS)
    }
}

impl Default for DialogReading {
    fn default() -> Self {
        Self::new()
    }
}
