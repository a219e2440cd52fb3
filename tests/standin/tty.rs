//! The terminal: raw while the stand-in runs, then restored.

use std::io::{self, Write};

use rustix::stdio;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Alternate screen, bracketed paste on, the real cursor hidden: the client draws one of its own.
const ENTER: &str = "\x1b[?1049h\x1b[2J\x1b[?2004h\x1b[?25l";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?2004l\x1b[?1049l";

/// The terminal in raw mode; dropping it restores what was there.
pub(crate) struct Tty {
    before: Termios,
}

impl Tty {
    /// Takes over the terminal on standard input. Fails where there is none.
    pub(crate) fn open() -> io::Result<Self> {
        let before = tcgetattr(stdio::stdin())?;
        let mut raw = before.clone();
        // Raw also switches IXON off: Ctrl-S and Ctrl-Q arrive as keys.
        raw.make_raw();
        tcsetattr(stdio::stdin(), OptionalActions::Now, &raw)?;
        let tty = Self { before };
        tty.write(ENTER)?;
        Ok(tty)
    }

    /// Returns columns and rows, at least as many as the input box needs.
    pub(crate) fn size(&self) -> (usize, usize) {
        let size = tcgetwinsize(stdio::stdout()).ok();
        let (columns, rows) = size.map_or((80, 24), |size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        (if columns == 0 { 80 } else { columns.max(40) }, if rows == 0 { 24 } else { rows.max(12) })
    }

    /// Writes `text` in one go, so that nobody who looks meanwhile sees more halves than necessary.
    pub(crate) fn write(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = self.write(LEAVE);
        let _ = tcsetattr(stdio::stdin(), OptionalActions::Flush, &self.before);
    }
}
