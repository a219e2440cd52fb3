//! A terminal program that stands in for Claude Code, in tests and in the demo.
//!
//! It draws the same input box and dialogs, takes the same keys, fires the same hooks and keeps the same record of
//! itself as the client, but what the model does is told from outside, through a socket. Environment:
//!
//! | Variable | Meaning |
//! |---|---|
//! | `STANDIN_SOCKET` | control socket, see `control` |
//! | `STANDIN_SOCKETS` | or: a directory for one socket per session, `<session id>` |
//! | `STANDIN_LOG` | append-only log of what happened, JSON lines |
//! | `STANDIN_HOOKS` | a hooks.json; `${CLAUDE_PLUGIN_ROOT}` in it comes from the environment |
//! | `STANDIN_BIN_DIR` | or: the folder of Longhaul's executables |
//! | `STANDIN_RECORD` | `1`: write `sessions/<pid>.json` as the client does |
//! | `STANDIN_SESSION` | the first session id, random if unset |
//! | `CLAUDE_CONFIG_DIR` | the client's directory, `~/.claude` if unset |
//!
//! Of the client's arguments it takes `--resume`, `--permission-mode` and `--model`.

#![expect(
    clippy::disallowed_methods,
    reason = "the stand-in is a program of its own, not a domain crate: it reads clock and environment and runs hooks"
)]

mod app;
mod arguments;
mod clearing;
mod control;
mod draw;
mod hooks;
mod keybindings;
mod keys;
mod prompts;
mod record;
mod screen;
mod script;
mod shown;
mod transcript;
mod tty;

use std::env;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::app::{App, Event, Phase, Then};
use crate::arguments::Arguments;
use crate::hooks::Source;
use crate::keys::{Key, Parser};
use crate::screen::Screen;

/// An Escape byte that nothing follows for this long was the key.
const ESCAPE: Duration = Duration::from_millis(25);
/// How often the size and the spinner are looked at when nothing happens.
const TICK: Duration = Duration::from_millis(200);

fn main() -> io::Result<()> {
    let client_dir = env::var_os("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".claude")))
        .unwrap_or_default();
    let (events, received) = channel();
    let arguments = Arguments::read();
    let mut app = App::new(events.clone(), Source::from_env()?, client_dir, env::current_dir()?, &arguments);
    app.log.append("started", json!({ "session_id": app.session_id, "arguments": arguments.all, "cwd": app.cwd }));
    let socket = control::socket(&app.session_id);
    if arguments.resume.is_some() {
        app.resume()?;
    }
    let mut client = Client { app, screen: Screen::open()?, parser: Parser::default(), changed: Some(Instant::now()) };
    read_keys(events.clone());
    if let Some(socket) = socket {
        control::listen(&socket, events)?;
    }
    while !client.app.quit {
        client.catch_up()?;
        match received.recv_timeout(client.patience()) {
            Ok(Event::Input(bytes)) => {
                let keys = client.parser.feed(&bytes);
                client.press(keys);
            }
            Ok(Event::Then(step)) => client.take(step),
            Err(RecvTimeoutError::Timeout) => client.nothing_happened(),
            Ok(Event::InputClosed) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(())
}

fn read_keys(events: Sender<Event>) {
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = io::stdin().lock().read(&mut bytes) {
            if events.send(Event::Input(bytes[..length].to_vec())).is_err() {
                return;
            }
        }
        let _ = events.send(Event::InputClosed);
    });
}

/// State, screen and keyboard, joined by the event loop.
struct Client {
    app: App,
    screen: Screen,
    parser: Parser,
    /// Since when the screen has been out of date.
    changed: Option<Instant>,
}

impl Client {
    /// Writes the record and redraws where that is due.
    fn catch_up(&mut self) -> io::Result<()> {
        let app = &mut self.app;
        app.write_record();
        if self.changed.is_some_and(|since| self.screen.due(since, app.delay) <= Instant::now()) {
            self.changed = None;
            self.screen.draw(app)?;
        }
        let mut steps = self.screen.overdue();
        if !self.app.delay.is_zero() {
            // Where the screen is late on purpose, nobody waits for it.
            steps.append(&mut self.app.when_drawn);
        }
        steps.into_iter().for_each(|step| self.take(step));
        Ok(())
    }

    /// Returns how long to wait for the next event.
    fn patience(&self) -> Duration {
        let wait = self
            .changed
            .map_or(TICK, |since| self.screen.due(since, self.app.delay).saturating_duration_since(Instant::now()));
        if self.parser.is_waiting() { wait.min(ESCAPE) } else { wait.min(TICK) }
    }

    fn press(&mut self, keys: Vec<Key>) {
        for key in keys {
            if key == Key::CursorReport {
                let steps = self.screen.confirmed();
                steps.into_iter().for_each(|step| self.take(step));
            } else {
                self.take(Box::new(|app| app.press(key)));
            }
        }
    }

    fn take(&mut self, step: Then) {
        step(&mut self.app);
        self.changed.get_or_insert_with(Instant::now);
    }

    fn nothing_happened(&mut self) {
        let keys = self.parser.flush();
        self.press(keys);
        if self.app.phase != Phase::Idle || self.screen.is_resized() {
            self.changed.get_or_insert_with(Instant::now);
        }
    }
}
