//! What the terminal shows, and whether it has confirmed it.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use crate::app::{App, Then};
use crate::draw::{self, Frame};
use crate::tty::Tty;

/// Redraws are at least this far apart.
const FRAME: Duration = Duration::from_millis(10);
/// A terminal that does not confirm a frame within this time is not going to.
const CONFIRMATION: Duration = Duration::from_millis(500);
/// Asks for the cursor's position: the answer comes when everything before has been drawn.
const ASK: &str = "\x1b[6n";

/// The terminal with what was last written to it.
pub(crate) struct Screen {
    tty: Tty,
    size: (usize, usize),
    shown: Frame,
    drawn: Option<Instant>,
    /// Steps that wait for the terminal's word, by the frame that they belong to.
    unconfirmed: VecDeque<(Instant, Vec<Then>)>,
}

impl Screen {
    /// Takes over the terminal.
    pub(crate) fn open() -> io::Result<Self> {
        let tty = Tty::open()?;
        let size = tty.size();
        Ok(Self { tty, size, shown: Frame::default(), drawn: None, unconfirmed: VecDeque::new() })
    }

    /// Returns when a change made at `since` is to be drawn.
    pub(crate) fn due(&self, since: Instant, delay: Duration) -> Instant {
        let next = self.drawn.map_or(since, |drawn| drawn + FRAME);
        next.max(since + delay)
    }

    /// Says whether the window has another size than the last frame.
    pub(crate) fn is_resized(&self) -> bool {
        self.size != self.tty.size()
    }

    /// Draws the state of `app`, and takes charge of the steps that wait for it.
    pub(crate) fn draw(&mut self, app: &mut App) -> io::Result<()> {
        let mut bytes = String::new();
        if self.is_resized() {
            self.size = self.tty.size();
            self.shown = Frame::default();
            bytes.push_str("\x1b[0m\x1b[2J");
        }
        let (columns, rows) = self.size;
        let frame = draw::frame(app, columns, rows);
        bytes.push_str(&draw::difference(&self.shown, &frame, columns));
        self.shown = frame;
        if !app.when_drawn.is_empty() {
            self.unconfirmed.push_back((Instant::now(), app.when_drawn.drain(..).collect()));
            bytes.push_str(ASK);
        }
        self.drawn = Some(Instant::now());
        self.tty.write(&bytes)
    }

    /// Returns the steps that the terminal's answer has set free.
    pub(crate) fn confirmed(&mut self) -> Vec<Then> {
        self.unconfirmed.pop_front().map(|(_, steps)| steps).unwrap_or_default()
    }

    /// Returns the steps that have waited in vain.
    pub(crate) fn overdue(&mut self) -> Vec<Then> {
        match self.unconfirmed.front() {
            Some((asked, _)) if asked.elapsed() > CONFIRMATION => self.confirmed(),
            _ => Vec::new(),
        }
    }
}
