//! The view as a whole: what the threads report, what the keys do, and what is drawn.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::Instant;

use crossterm::event::Event;
use longhaul_core::Env;
use longhaul_inject::TerminalCommand;
use longhaul_runtime::{DialogPane, Home, SeenDialog, waiting_times};
use longhaul_view::{Command, Mode, RowId, SessionRow, View};

use super::collector::LocalSessions;
use super::hosts::HostSessions;
use super::preview::{self, DialogNow, Preview, Task};
use super::terminal::Screen;
use super::{actions, input, jump, screen};
use crate::cli::session_target::{now, of_session};

/// What a thread reports.
#[derive(Debug)]
pub(crate) enum News {
    Local(LocalSessions),
    Host(HostSessions),
    Preview(Preview),
    DialogNow(DialogNow),
    /// An action has ended, with a message for the user.
    Done(String),
    /// An action needs longer, for this reason.
    Waits(String),
}

/// What the loop does after an event.
pub(crate) enum Next {
    Stay,
    Leave,
    /// Run a program in this terminal. With its name for messages.
    Run(TerminalCommand, String),
    /// Reopen sessions, in this terminal.
    Reopen,
}

/// A dialog on the screen, and where it came from.
#[derive(Debug, Clone)]
pub(crate) struct ShownDialog {
    pub(crate) pane: DialogPane,
    pub(crate) seen: SeenDialog,
}

/// Everything that the screen shows.
pub(crate) struct App {
    pub(crate) env: Env,
    home: Home,
    pub(crate) view: View,
    pub(crate) local: LocalSessions,
    pub(crate) hosts: BTreeMap<String, HostSessions>,
    pub(crate) preview: Option<Preview>,
    pub(crate) dialog: Option<ShownDialog>,
    news: Sender<News>,
    tasks: Sender<Task>,
    asked: Option<(RowId, Instant)>,
    /// Whether the thread of the preview is at work.
    is_reading: bool,
    /// How many actions are under way.
    actions: usize,
    page: usize,
    started: Instant,
}

impl App {
    pub(crate) fn new(env: Env, home: Home, news: Sender<News>) -> Self {
        let tasks = preview::start(home.clone(), news.clone());
        Self {
            env,
            home,
            view: View::default(),
            local: LocalSessions::default(),
            hosts: BTreeMap::new(),
            preview: None,
            dialog: None,
            news,
            tasks,
            asked: None,
            is_reading: false,
            actions: 0,
            page: 1,
            started: Instant::now(),
        }
    }

    /// Takes in what a thread reports.
    pub(crate) fn hear(&mut self, news: News) {
        match news {
            News::Local(local) => {
                self.local = local;
                self.update_rows();
            }
            News::Host(host) => {
                self.hosts.insert(host.name.clone(), host);
                self.update_rows();
            }
            News::Preview(preview) => {
                self.is_reading = false;
                self.preview = Some(preview);
            }
            News::DialogNow(now) => {
                self.is_reading = false;
                self.compare_dialog(&now);
            }
            News::Done(message) => {
                self.actions = self.actions.saturating_sub(1);
                self.asked = None;
                self.view.say(message);
            }
            News::Waits(message) => self.view.say(message),
        }
    }

    fn update_rows(&mut self) {
        let hosts = self.hosts.values().flat_map(|host| host.rows.iter());
        let rows: Vec<SessionRow> = self.local.rows.iter().chain(hosts).cloned().collect();
        self.view.set_rows(rows);
    }

    /// Leaves the dialog on the screen if the pane shows it no longer.
    fn compare_dialog(&mut self, now: &DialogNow) {
        let Some(shown) = &self.dialog else { return };
        if !matches!(self.view.mode(), Mode::Dialog { id, .. } if *id == now.id) {
            return;
        }
        match &now.seen {
            Ok(seen) if *seen == shown.seen => return,
            Ok(_) => self.view.close_dialog("Another dialog is open there now. Nothing was typed."),
            Err(why) => self.view.close_dialog(&format!("The dialog is gone: {why}. Nothing was typed.")),
        }
        self.dialog = None;
    }

    /// Has the chosen session read again, if that is due.
    pub(crate) fn ask_for_preview(&mut self) {
        let (id, task, every) = match (self.view.mode(), &self.dialog) {
            (Mode::Dialog { id, .. }, Some(dialog)) => {
                (id.clone(), Task::Dialog(id.clone(), dialog.pane.clone()), waiting_times::VIEW_DIALOG)
            }
            _ => {
                let Some(row) = self.view.chosen().filter(|row| row.id.host.is_none()) else { return };
                let (task, every) = match &row.pane {
                    Some(pane) => (Task::Screen(row.id.clone(), pane.clone()), waiting_times::VIEW_PREVIEW),
                    None => (Task::LastTurn(row.id.clone()), waiting_times::VIEW_LAST_TURN),
                };
                (row.id.clone(), task, every)
            }
        };
        let is_due = |(asked, at): &(RowId, Instant)| *asked != id || at.elapsed() >= every;
        if !self.is_reading && self.asked.as_ref().is_none_or(is_due) {
            self.asked = Some((id, Instant::now()));
            self.is_reading = self.tasks.send(task).is_ok();
        }
    }

    /// Returns whether a thread will report something soon.
    pub(crate) fn expects_news(&self) -> bool {
        self.is_reading || self.actions > 0
    }

    pub(crate) fn draw(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        let now = longhaul_runtime::env().now;
        screen.draw(|frame| {
            let area = frame.area();
            let drawing = screen::compose(self, usize::from(area.width), usize::from(area.height), now);
            self.page = drawing.page;
            if let Some((lines, room)) = drawing.dialog {
                self.view.dialog_drawn(lines, room, self.started.elapsed().as_millis() as u64);
            }
            drawing.render(frame, self.env.no_color);
        })
    }

    /// Handles an event of the terminal.
    pub(crate) fn handle(&mut self, event: Event) -> Next {
        let Some(key) = input::key(event) else { return Next::Stay };
        #[cfg(debug_assertions)]
        panic_if_tested();
        let now = self.started.elapsed().as_millis() as u64;
        match self.view.press(key, self.page, now) {
            Command::Draw => {}
            Command::Quit => return Next::Leave,
            Command::Reopen => return Next::Reopen,
            Command::GoTo(id) => return self.go_to(&id),
            Command::ReadDialog(id) => self.read_dialog(id),
            Command::Answer(id, answer) => {
                // It can be answered once.
                if let Some(dialog) = self.dialog.take() {
                    self.begin("Answering…", move |env, home, _| actions::answer(env, home, &id, &dialog, answer));
                }
            }
            Command::Send(id, text) => {
                self.begin("Sending…", move |env, home, waits| actions::send(env, home, &id.session, &text, waits));
            }
            Command::Bookmark(id, note) => {
                self.begin("Setting a bookmark…", move |env, home, _| {
                    actions::bookmark(env, home, &id.session, &note)
                });
            }
            Command::Continue(id) => {
                self.begin("Continuing…", move |env, home, waits| actions::carry_on(env, home, &id.session, waits));
            }
        }
        Next::Stay
    }

    fn go_to(&mut self, id: &RowId) -> Next {
        let Some(row) = self.view.row(id) else { return Next::Stay };
        match jump::go(&self.env, &self.home, row) {
            Ok(jump::Jump::Gone) if jump::is_popup(&self.env) => return Next::Leave,
            Ok(jump::Jump::Gone) => {}
            Ok(jump::Jump::Run(step, what)) => return Next::Run(step, what),
            Err(error) => self.view.say(format!("{error:#}")),
        }
        Next::Stay
    }

    /// Says how a program has ended that was run in this terminal.
    pub(crate) fn came_back(&mut self, what: &str, result: Result<bool, longhaul_runtime::Error>) {
        match result {
            Ok(true) => {}
            Ok(false) => self.view.say(format!("{what} ended with an error")),
            Err(error) => self.view.say(error.chain()),
        }
        self.asked = None;
    }

    /// Says why sessions could not be reopened.
    pub(crate) fn came_back_from_reopening(&mut self, result: anyhow::Result<()>) {
        if let Err(error) = result {
            self.view.say(format!("{error:#}"));
        }
        self.asked = None;
    }

    /// Reads the dialog of a session. That takes a few milliseconds, so that it is done at once.
    fn read_dialog(&mut self, id: RowId) {
        let read = || -> anyhow::Result<ShownDialog> {
            let target = of_session(&self.home, &id.session)?;
            let pane = DialogPane::of(&target.record).map_err(anyhow::Error::msg)?;
            let seen = pane.read(&now()).map_err(anyhow::Error::msg)?;
            Ok(ShownDialog { pane, seen })
        };
        match read() {
            Ok(dialog) => {
                self.dialog = Some(dialog);
                self.view.open_dialog(id);
            }
            Err(error) => self.view.say(format!("Nothing to answer: {error:#}")),
        }
    }

    /// Does something in a thread, and shows its message afterwards.
    fn begin(
        &mut self,
        message: &str,
        work: impl FnOnce(&Env, &Home, &dyn Fn(&str)) -> anyhow::Result<String> + Send + 'static,
    ) {
        self.actions += 1;
        self.view.say(message);
        let (home, news) = (self.home.clone(), self.news.clone());
        std::thread::spawn(move || {
            let waits = |why: &str| drop(news.send(News::Waits(format!("Waiting: {why}"))));
            let done = work(&now(), &home, &waits).unwrap_or_else(|error| format!("{error:#}"));
            // If the view has ended, there is no receiver.
            let _ = news.send(News::Done(done));
        });
    }
}

/// Panics in a test that checks what becomes of the terminal.
#[cfg(debug_assertions)]
#[expect(clippy::disallowed_methods, reason = "only a test sets it, and only a debug build has it")]
fn panic_if_tested() {
    assert!(std::env::var_os("LONGHAUL_TEST_PANIC").is_none(), "a test wants this panic");
}
