//! The view as a whole: what the threads report, what the keys do to a session, and what is drawn.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use crossterm::event::Event;
use longhaul_core::{Env, short_session};
use longhaul_inject::{DialogAnswer, TerminalCommand, shell_single_quote};
use longhaul_runtime::continuation::decide_by_hand;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{
    ContinueOutcome, DialogOutcome, DialogPane, Home, SeenDialog, Tracker, continue_session, waiting_times,
};
use longhaul_tracker::Pane;

use super::collector::{self, HostSessions, LocalSessions, Task};
use super::rows::{RowId, SessionRow};
use super::state::{Command, Mode, View};
use super::{Screen, screen};
use crate::cli::sessions::of_session;
use crate::cli::tracker::send_to;
use crate::cli::{bookmarks, tmux};

/// What a thread reports.
#[derive(Debug)]
pub(crate) enum News {
    Local(LocalSessions),
    Host(HostSessions),
    /// The rows of a session's preview.
    Preview(RowId, Vec<String>),
    /// What has become of a dialog that is shown.
    DialogNow(RowId, Result<SeenDialog, String>),
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
    pub(crate) preview: Option<(RowId, Vec<String>)>,
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
        let tasks = collector::start_preview(home.clone(), news.clone());
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
            News::Preview(id, rows) => {
                self.is_reading = false;
                self.preview = Some((id, rows));
            }
            News::DialogNow(id, seen) => {
                self.is_reading = false;
                self.compare_dialog(&id, &seen);
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
    fn compare_dialog(&mut self, of: &RowId, now: &Result<SeenDialog, String>) {
        let Some(shown) = &self.dialog else { return };
        if !matches!(&self.view.mode, Mode::Dialog { id, .. } if id == of) {
            return;
        }
        match now {
            Ok(seen) if *seen == shown.seen => return,
            Ok(_) => self.view.close_dialog("Another dialog is open there now. Nothing was typed."),
            Err(why) => self.view.close_dialog(&format!("The dialog is gone: {why}. Nothing was typed.")),
        }
        self.dialog = None;
    }

    /// Has the chosen session read again, if that is due.
    pub(crate) fn ask_for_preview(&mut self) {
        let (id, task, every) = match (&self.view.mode, &self.dialog) {
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

    pub(crate) fn draw(&mut self, screen: &mut Screen) -> Result<()> {
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

    pub(crate) fn handle(&mut self, event: Event) -> Next {
        let Some(key) = super::key(event) else { return Next::Stay };
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
                    self.begin("Answering…", move |env, home, _| answer_dialog(env, home, &id, &dialog, answer));
                }
            }
            Command::Send(id, text) => {
                self.begin("Sending…", move |env, home, waits| {
                    let (config, _) = longhaul_runtime::config(env)?;
                    send_to(env, home, &of_session(home, &id.session)?, &text, config.inject.patience(), waits)
                });
            }
            Command::Bookmark(id, note) => {
                self.begin("Setting a bookmark…", move |env, home, _| {
                    let target = of_session(home, &id.session)?;
                    bookmarks::set(env, home, &target.record, &note)?;
                    Ok(format!("Bookmark set in {}.", target.agent.project))
                });
            }
            Command::Continue(id) => {
                self.begin("Continuing…", move |env, home, waits| carry_on(env, home, &id.session, waits));
            }
        }
        Next::Stay
    }

    fn go_to(&mut self, id: &RowId) -> Next {
        let Some(row) = self.view.row(id) else { return Next::Stay };
        match go(&self.env, &self.home, row) {
            Ok(None) if is_popup(&self.env) => return Next::Leave,
            Ok(None) => {}
            Ok(Some((step, what))) => return Next::Run(step, what),
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

    pub(crate) fn came_back_from_reopening(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.view.say(format!("{error:#}"));
        }
        self.asked = None;
    }

    /// Reads the dialog of a session. That takes a few milliseconds, so that it is done at once.
    fn read_dialog(&mut self, id: RowId) {
        let read = || -> Result<ShownDialog> {
            let target = of_session(&self.home, &id.session)?;
            let pane = DialogPane::of(&target.record).map_err(anyhow::Error::msg)?;
            let seen = pane.read(&longhaul_runtime::env()).map_err(anyhow::Error::msg)?;
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
        work: impl FnOnce(&Env, &Home, &dyn Fn(&str)) -> Result<String> + Send + 'static,
    ) {
        self.actions += 1;
        self.view.say(message);
        let (home, news) = (self.home.clone(), self.news.clone());
        std::thread::spawn(move || {
            let waits = |why: &str| drop(news.send(News::Waits(format!("Waiting: {why}"))));
            let done = work(&longhaul_runtime::env(), &home, &waits).unwrap_or_else(|error| format!("{error:#}"));
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

fn answer_dialog(env: &Env, home: &Home, id: &RowId, shown: &ShownDialog, answer: DialogAnswer) -> Result<String> {
    let word = match answer {
        DialogAnswer::Yes => "Yes",
        DialogAnswer::No => "No",
    };
    let project = of_session(home, &id.session).map_or_else(|_| id.session.clone(), |target| target.agent.project);
    match shown.pane.answer(env, home, &shown.seen, answer)? {
        DialogOutcome::Answered => Ok(format!("Answered {word} in {project}.")),
        DialogOutcome::NothingTyped(why) => bail!("Nothing was typed: {why}"),
        DialogOutcome::NoEffect => bail!("The dialog of {project} did not react: go there"),
    }
}

/// Continues a session in a new one.
fn carry_on(env: &Env, home: &Home, session: &str, waits: &dyn Fn(&str)) -> Result<String> {
    let target = of_session(home, session)?;
    let project = &target.agent.project;
    let (config, _) = longhaul_runtime::config(env)?;
    let chain = home.existing_store()?.map(|store| store.chain_of(session)).transpose()?.flatten();
    if let Some(chain) = chain.filter(|chain| chain.plan.is_stuck() || chain.plan.waits_for_typing()) {
        let chain = decide_by_hand(env, true, chain.id)?.context("the chain does not exist any more")?;
        return Ok(format!("{project}: {} again.", chain.plan.state));
    }
    let times = (config.inject.patience(), config.inject.step());
    match continue_session(env, home, &target.record, times, waits)? {
        ContinueOutcome::Continued(new) => Ok(format!("{project} continues in session {}.", short_session(&new))),
        ContinueOutcome::NotCleared(why) => bail!("{project} is not continued: {why}"),
        ContinueOutcome::NotPrompted(why) => bail!("{project} was cleared, but not prompted: {why}"),
    }
}

/// Goes to a session, or returns the program that does when it is run in the terminal, with its name.
fn go(env: &Env, home: &Home, row: &SessionRow) -> Result<Option<(TerminalCommand, String)>> {
    let pane = row.pane.as_ref().with_context(|| format!("{} does not run in tmux: go there by hand", row.project))?;
    if let Some(host) = &row.id.host {
        return Ok(Some((attach_remotely(host, pane), format!("ssh {host}"))));
    }
    let Pane { socket, id } = pane;
    match Server::of(env).map(Server::patient) {
        Some(server) if server.socket == *socket => {
            tmux::go(&server, &Tracker::open(env, home)?, pane, None)?;
            Ok(None)
        }
        Some(_) => {
            bail!("it runs in another tmux server: leave this one, and run tmux -S {socket} attach -t {id}")
        }
        None => Ok(Some((attach(pane), "tmux".to_owned()))),
    }
}

/// Returns whether the view runs in a popup of tmux, which has no pane. It covers what one wants to see.
fn is_popup(env: &Env) -> bool {
    env.tmux.is_some() && env.tmux_pane.is_none()
}

fn attach(pane: &Pane) -> TerminalCommand {
    let words = ["tmux", "-u", "-S", &pane.socket, "attach-session", "-t", &pane.id];
    TerminalCommand { argv: words.map(str::to_owned).to_vec(), stdin: None }
}

/// Returns the command that attaches to a pane of another host. ssh passes a text to the shell there, so that every word of
/// it is quoted.
pub(super) fn attach_remotely(host: &str, pane: &Pane) -> TerminalCommand {
    let words = attach(pane).argv.iter().map(|word| shell_single_quote(word)).collect::<Vec<_>>().join(" ");
    TerminalCommand { argv: ["ssh", "-t", "--", host, &words].map(str::to_owned).to_vec(), stdin: None }
}
