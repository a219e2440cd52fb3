//! `longhaul` without a command: the full-screen view of all sessions.

mod actions;
mod app;
mod collector;
mod hosts;
mod input;
mod jump;
mod preview;
mod screen;
mod terminal;

use std::io::{self, IsTerminal};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use longhaul_core::Env;
use longhaul_runtime::{Home, waiting_times};

use self::app::{App, News, Next};
use self::terminal::Screen;
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
        hosts::start(host, news.clone());
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
