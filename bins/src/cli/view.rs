//! `longhaul` without a command: the full-screen view of all sessions.

mod app;
mod collector;
mod layout;
mod rows;
mod screen;
mod state;

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::cursor::Show;
use crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use crossterm::execute;
use longhaul_core::Env;
use longhaul_runtime::{Home, waiting_times};
use ratatui::{DefaultTerminal, Frame};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::app::{App, News, Next};
use self::state::Key;
use super::{Exit, reopen};

/// How long the loop waits for a key at most: the news of other threads, and a signal, are handled after that.
const WAIT: Duration = Duration::from_millis(200);

/// The same while an action or a preview is under way.
const WAIT_FOR_NEWS: Duration = Duration::from_millis(20);

/// Returns whether there is a terminal to draw on and to read keys from.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Shows the view until the user leaves it. The terminal is then as it was, also after an error, a panic or SIGTERM.
pub(crate) fn run(env: &Env) -> anyhow::Result<Exit> {
    let home = Home::of(env)?;
    let (news, received) = mpsc::channel();
    let (config, _) = longhaul_runtime::config(env)?;
    let mut screen = Screen::enter()?;
    collector::start(&home, news.clone());
    for host in &config.view.hosts.0 {
        collector::follow_host(host, news.clone());
    }
    let mut app = App::new(env.clone(), home, news);
    let shown = show(&mut screen, &mut app, &received);
    screen.leave()?;
    shown?;
    // The exit status says which signal it was.
    screen.raise_signal();
    Ok(Exit::Success)
}

fn show(screen: &mut Screen, app: &mut App, received: &mpsc::Receiver<News>) -> anyhow::Result<()> {
    let mut drawn: Option<Instant> = None;
    while !screen.must_end() {
        let mut changed = false;
        while let Ok(news) = received.try_recv() {
            app.hear(news);
            changed = true;
        }
        app.ask_for_preview();
        if changed || drawn.is_none_or(|drawn| drawn.elapsed() >= waiting_times::VIEW_REDRAWN) {
            app.draw(screen)?;
            drawn = Some(Instant::now());
        }
        let wait = if app.expects_news() { WAIT_FOR_NEWS } else { WAIT };
        let Some(event) = screen.next_event(wait)? else { continue };
        // Drawn before the next key is read: a key answers only what was on the screen.
        drawn = None;
        match app.handle(event) {
            Next::Stay => {}
            Next::Leave => return Ok(()),
            Next::Run(step, what) => {
                let result = screen.suspended(|| longhaul_runtime::run_program_in_terminal(&step))?;
                app.came_back(&what, result);
            }
            Next::Reopen => {
                let result = screen.suspended(|| reopen::ask_and_wait(&longhaul_runtime::env()))?;
                app.came_back_from_reopening(result);
            }
        }
    }
    Ok(())
}

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
    fn suspended<T>(&mut self, work: impl FnOnce() -> T) -> anyhow::Result<T> {
        self.leave()?;
        let done = work();
        self.terminal = ratatui::try_init()?;
        execute!(io::stdout(), EnableBracketedPaste)?;
        self.terminal.clear()?;
        Ok(done)
    }

    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> anyhow::Result<()> {
        self.terminal.draw(draw)?;
        Ok(())
    }

    /// Waits for the next event, for at most `limit`.
    fn next_event(&self, limit: Duration) -> anyhow::Result<Option<Event>> {
        match event::poll(limit) {
            Ok(true) => Ok(Some(event::read()?)),
            Ok(false) => Ok(None),
            // A signal.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether a signal asks the process to end.
    fn must_end(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// Ends the process by the signal that it has received, if any.
    fn raise_signal(&self) {
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

/// Returns the key of an event; `None` for other events, and for keys without a meaning.
pub(crate) fn key(event: Event) -> Option<Key> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => pressed(key),
        Event::Paste(text) => Some(Key::Paste(text)),
        _ => None,
    }
}

fn pressed(key: KeyEvent) -> Option<Key> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Key::Interrupt),
            KeyCode::Char('u') => Some(Key::ClearText),
            KeyCode::Char('h') => Some(Key::Backspace),
            KeyCode::Char('n') => Some(Key::Down),
            KeyCode::Char('p') => Some(Key::Up),
            _ => None,
        };
    }
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    match key.code {
        KeyCode::Char(c) => Some(Key::Char(c)),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Esc),
        KeyCode::Backspace => Some(Key::Backspace),
        KeyCode::Tab | KeyCode::BackTab => Some(Key::Tab),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        KeyCode::Home => Some(Key::Home),
        KeyCode::End => Some(Key::End),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
