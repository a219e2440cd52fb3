//! The terminal: its modes, which are restored in every case, and its events.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crossterm::cursor::Show;
use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event};
use crossterm::execute;
use ratatui::{DefaultTerminal, Frame};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The terminal in full-screen mode.
pub(crate) struct Screen {
    terminal: DefaultTerminal,
    /// The signal that ends the view; 0 before it.
    signal: Arc<AtomicUsize>,
}

impl Screen {
    /// Switches to the full-screen mode. After a panic, the modes are restored before the message is printed.
    pub(crate) fn enter() -> anyhow::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        signal_hook::flag::register_usize(SIGTERM, Arc::clone(&signal), SIGTERM as usize)?;
        end_when_the_terminal_closes()?;
        // In this mode Ctrl-C is a key. A program that is run in between gets the signal, and this one must survive it.
        signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)))?;
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = execute!(io::stdout(), DisableBracketedPaste, Show);
            report(panic);
        }));
        let terminal = ratatui::try_init()?;
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(Self { terminal, signal })
    }

    /// Restores the terminal.
    pub(crate) fn leave(&mut self) -> anyhow::Result<()> {
        let modes = execute!(io::stdout(), DisableBracketedPaste, Show);
        ratatui::try_restore()?;
        Ok(modes?)
    }

    /// Runs `work` with the terminal as it was before.
    pub(crate) fn suspended<T>(&mut self, work: impl FnOnce() -> T) -> anyhow::Result<T> {
        self.leave()?;
        let done = work();
        self.terminal = ratatui::try_init()?;
        execute!(io::stdout(), EnableBracketedPaste)?;
        self.terminal.clear()?;
        Ok(done)
    }

    /// Draws the screen.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> anyhow::Result<()> {
        self.terminal.draw(draw)?;
        Ok(())
    }

    /// Waits for the next event, for at most `limit`.
    pub(crate) fn next_event(&self, limit: Duration) -> anyhow::Result<Option<Event>> {
        match event::poll(limit) {
            Ok(true) => Ok(Some(event::read()?)),
            Ok(false) => Ok(None),
            // A signal.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether a signal asks the process to end.
    pub(crate) fn must_end(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// Ends the process by the signal that it has received, if any.
    pub(crate) fn raise_signal(&self) {
        let number = self.signal.load(Ordering::Relaxed);
        if number != 0 {
            let _ = signal_hook::low_level::emulate_default_handler(number as i32);
        }
    }
}

/// Ends the process on SIGHUP, from a thread of its own: when the terminal is gone, reading events from it never returns.
fn end_when_the_terminal_closes() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP])?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            // Another process may have sent the signal.
            let _ = execute!(io::stdout(), DisableBracketedPaste, Show);
            let _ = ratatui::try_restore();
            let _ = signal_hook::low_level::emulate_default_handler(SIGHUP);
        }
    });
    Ok(())
}
