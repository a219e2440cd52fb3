//! The tracker: joins the rows of the running sessions with the log, the user's scripts and what tmux displays.

mod events;
mod refresh;

pub use self::events::{
    on_agent_return, on_failure, on_notification, on_permission, on_prompt, on_session_end, on_session_start,
    on_subagent_start, on_task_completed, on_teammate_idle, on_tool_failure, on_tool_use, on_turn_end, show_turn_end,
};

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use longhaul_activity_log::LogLine;
use longhaul_core::config::Notify;
use longhaul_core::event::{BackgroundTask, Common};
use longhaul_core::{Env, Millis, SessionId, Status};
use longhaul_inject::Terminal;
use longhaul_store::{Bridge, Change, PermissionQuestion, PromptOrigin, Sighting, Store};
use longhaul_tracker::{
    Agent, Options, Pane, Script, TEAMMATE, Trigger, agent_type, project_and_worktree, render, script_text, transition,
    without_control_chars,
};

use crate::clock_and_env::patient;
use crate::files::{self, word};
use crate::notifications::{self, Question};
use crate::tmux::Server;
use crate::{ActivityLog, Deadline, Error, Home, bounded_read, git, process, waiting_times};

/// Interval at which the lock of tmux's display is tried again.
const DISPLAY_LOCK_TRIED: Duration = Duration::from_millis(2);

/// How long to wait for a tmux server, in the hook of a prompt, for which the user waits. Afterwards another process
/// shows what has changed.
const TMUX_FOR_PROMPT: Duration = Duration::from_millis(250);

/// Whether a change of status is already in the activity log of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logged {
    /// The line of the event records it.
    Already,
    /// It is not. The change must be logged, because the next tool call reads the status from the log.
    NotYet,
}

/// The tracker: the running sessions, and where they are displayed.
#[derive(Debug)]
pub struct Tracker<'a> {
    env: &'a Env,
    home: &'a Home,
    store: Rc<Store>,
    server: Option<Server>,
    /// What is reported to the user; `None` if the configuration was not read yet.
    notify: Option<&'a Notify>,
    /// Whether the display of a turn that ends is left to another process, which [`start_turn_end`] starts: a hook that waits
    /// for tmux takes twice as long.
    leaves_turn_end: bool,
    /// See [`Tracker::hasty`].
    is_hasty: bool,
    /// Whether a turn has ended that this process is to show.
    has_turn_end: Cell<bool>,
}

impl<'a> Tracker<'a> {
    /// Opens the database for a command.
    pub fn open(env: &'a Env, home: &'a Home) -> Result<Self, Error> {
        let store = Rc::new(home.store(waiting_times::DATABASE)?);
        let server = Server::of(env).map(Server::patient);
        let has_turn_end = Cell::default();
        Ok(Self { env, home, store, server, notify: None, leaves_turn_end: false, is_hasty: false, has_turn_end })
    }

    /// Uses an open database, in a hook that must be done by `deadline`.
    pub(crate) fn with(env: &'a Env, home: &'a Home, store: Rc<Store>, deadline: Deadline, notify: &'a Notify) -> Self {
        let server = Server::of(env).map(|server| Server { deadline: Some(deadline), ..server });
        let (notify, has_turn_end) = (Some(notify), Cell::default());
        Self { env, home, store, server, notify, leaves_turn_end: false, is_hasty: false, has_turn_end }
    }

    /// Waits less for tmux, because the user waits for the hook. What cannot be shown in time is left to another process.
    pub(crate) fn hasty(mut self) -> Self {
        self.server = self.server.map(|server| server.within(patient(TMUX_FOR_PROMPT)));
        self.is_hasty = true;
        self
    }

    /// Returns all sessions.
    pub fn agents(&self) -> Result<Vec<Agent>, Error> {
        Ok(self.store.agents()?)
    }

    /// Returns all clients that run the bridge.
    pub fn bridges(&self) -> Result<Vec<Bridge>, Error> {
        Ok(self.store.bridges()?)
    }

    /// Returns the options as last read from tmux; the defaults outside tmux.
    pub fn options(&self) -> Options {
        self.server.as_ref().map_or_else(Options::default, |server| cached_options(self.home, server))
    }

    /// Adds a session that starts.
    pub(crate) fn begin(&mut self, common: &Common, status: Status, reason: Option<&str>) -> Result<(), Error> {
        let place = SeenSession::of(self.env, common);
        if !self.store.add_agent(&place.sighting(self.env.now), status, reason)? {
            return Ok(());
        }
        self.display(&self.options(), place.pane.as_ref().map(|pane| (pane, common.session.as_str())))
    }

    pub(crate) fn prompt(&mut self, common: &Common, origin: PromptOrigin, summary: Option<&str>) -> Result<(), Error> {
        let place = SeenSession::of(self.env, common);
        let change = self.store.note_prompt(&place.sighting(self.env.now), origin, summary)?;
        self.announce_any(change, Logged::Already).map(drop)
    }

    /// Applies a trigger. Does nothing if the status does not change.
    pub(crate) fn apply(
        &self,
        session: &SessionId,
        trigger: Trigger,
        reason: Option<&str>,
        logged: Logged,
    ) -> Result<(), Error> {
        let change = self.store.change_status(session.as_str(), &transition(trigger), reason, self.env.now)?;
        self.announce_any(change, logged).map(drop)
    }

    /// Applies Claude Code's late notification that it waits for the user.
    pub(crate) fn notified(&self, session: &SessionId, reason: Option<&str>) -> Result<(), Error> {
        let transition = transition(Trigger::Notified);
        let now = self.env.now;
        let change = self.store.change_status_unless_asked_lately(session.as_str(), &transition, reason, now)?;
        self.announce_any(change, Logged::NotYet).map(drop)
    }

    /// Records that the user sees a pane. Returns whether that changed a status.
    pub fn seen(&self, pane: &Pane) -> Result<bool, Error> {
        let change = self.store.change_status_in_pane(pane, &transition(Trigger::Seen), self.env.now)?;
        self.announce_any(change, Logged::NotYet)
    }

    /// Applies the trigger of a tool call. Adds the session if it has no row yet.
    pub(crate) fn tool_used(&mut self, common: &Common, trigger: Trigger, logged: Logged) -> Result<(), Error> {
        let transition = transition(trigger);
        let session = common.session.as_str();
        // A call of the main loop does not answer the dialog of a subagent.
        let agent = common.agent_id.as_deref();
        let change = self.store.change_status_asked_by(session, agent, &transition, self.env.now)?;
        if !self.announce_any(change, logged)? && common.agent_id.is_none() {
            self.keep_blocked_or_add(common)?;
        }
        Ok(())
    }

    /// Handles a tool call that has not changed a row. Adds a session of which no hook was received yet; it replaces a row
    /// that a scan may have added for it.
    fn keep_blocked_or_add(&mut self, common: &Common) -> Result<(), Error> {
        match self.store.agent(common.session.as_str())?.map(|agent| agent.status) {
            None => self.begin(common, Status::Working, None),
            // The dialog of a subagent is open. The line of this call says that the session works, and later calls read that.
            Some(Status::Blocked) => self.log_status(common.session.as_str(), Status::Blocked),
            Some(Status::Working | Status::Completed | Status::Idle) => Ok(()),
        }
    }

    /// Appends a status to the activity log of a session.
    fn log_status(&self, session: &str, status: Status) -> Result<(), Error> {
        let Some(session) = SessionId::new(session) else { return Ok(()) };
        ActivityLog::open(self.home, &session)?.append(&[LogLine::Status { at: self.env.now, status }])
    }

    /// Records that a dialog asks for permission.
    pub(crate) fn ask_permission(&mut self, common: &Common, reason: &str, wants: Option<&str>) -> Result<(), Error> {
        let transition = transition(Trigger::PermissionRequested);
        let asked = PermissionQuestion { by: common.agent_id.as_deref(), reason, wants };
        match self.store.ask_permission(common.session.as_str(), &transition, &asked, self.env.now)? {
            // The session is blocked already, and its scripts have run. Only the user may not know of this dialog.
            Some(change) if change.from == Some(change.to) => self.notify(&change),
            Some(change) => self.announce(&change, Logged::NotYet),
            None => self.add_blocked(common, &asked),
        }
    }

    /// Adds a session that asks for permission, if no hook of it was received yet.
    fn add_blocked(&mut self, common: &Common, asked: &PermissionQuestion<'_>) -> Result<(), Error> {
        let session = common.session.as_str();
        if self.store.agent(session)?.is_some() {
            return Ok(());
        }
        self.begin(common, Status::Blocked, Some(asked.reason))?;
        self.store.note_asked(session, asked, self.env.now)?;
        let question = Question { asked_by: asked.by, wants: asked.wants };
        notifications::start(self.env, self.notify, session, Status::Blocked, None, Some(question))
    }

    /// Starts the notification about a change.
    fn notify(&self, change: &Change) -> Result<(), Error> {
        let error = change.reason.as_deref().filter(|_| change.failed);
        let question = Question { asked_by: change.asked_by.as_deref(), wants: change.wants.as_deref() };
        let question = Some(question).filter(|question| question.wants.is_some() && change.to == Status::Blocked);
        notifications::start(self.env, self.notify, &change.session, change.to, error, question)
    }

    /// Records that the turn ended with an error.
    pub(crate) fn fail(&self, session: &SessionId, reason: &str) -> Result<(), Error> {
        self.store.note_failure(session.as_str())?;
        self.apply(session, Trigger::Failed, Some(reason), Logged::NotYet)
    }

    /// Returns the number of running subagents: `reported` by Claude Code, which corrects the count, or otherwise the
    /// count.
    pub(crate) fn subagents(&self, session: &SessionId, reported: Option<usize>) -> Result<usize, Error> {
        match reported {
            // The count needs no correction: the change to completed resets it.
            Some(0) => Ok(0),
            Some(running) => {
                self.store.set_subagents(session.as_str(), running)?;
                Ok(running)
            }
            None => Ok(self.store.agent(session.as_str())?.map_or(0, |agent| agent.subagents as usize)),
        }
    }

    /// Marks `session`, which may differ from the session of the event, as an idle teammate.
    pub(crate) fn teammate_idle(&mut self, common: &Common, session: &SessionId) -> Result<(), Error> {
        let mut place = SeenSession::of(self.env, common);
        if *session != common.session {
            // The pane belongs to the session of the event.
            place = SeenSession { session: session.clone(), pane: None, pid: None, ..place };
        }
        place.agent_type = Some(TEAMMATE.to_owned());
        let added = self.store.add_agent(&place.sighting(self.env.now), Status::Idle, None)?;
        let is_new = self.store.note_teammate(session.as_str())?;
        let transition = transition(Trigger::TeammateIdle);
        let change = self.store.change_status(session.as_str(), &transition, None, self.env.now)?;
        if !self.announce_any(change, Logged::NotYet)? && (added || is_new) {
            // It is no longer counted, even if its status is unchanged.
            self.push()?;
        }
        Ok(())
    }

    pub(crate) fn end(&self, session: &SessionId) -> Result<(), Error> {
        let Some(agent) = self.store.agent(session.as_str())? else { return Ok(()) };
        self.store.remove_agent(session.as_str())?;
        self.display(&self.options(), agent.pane.as_ref().map(|pane| (pane, session.as_str())))
    }

    /// Reports a change, if there is one; returns whether there is.
    fn announce_any(&self, change: Option<Change>, logged: Logged) -> Result<bool, Error> {
        change.map_or(Ok(false), |change| self.announce(&change, logged).map(|()| true))
    }

    /// Reports a change: to the log, to the user and their scripts, and to the display.
    ///
    /// The database is read first: if that fails, nothing was reported yet, and the job can run again.
    fn announce(&self, change: &Change, logged: Logged) -> Result<(), Error> {
        self.store.session(&change.session)?;
        if logged == Logged::NotYet {
            self.log_status(&change.session, change.to)?;
        }
        let options = self.options();
        let started = self.run_scripts(&options, change);
        let started = self.notify(change).and(started);
        if change.to == Status::Completed && self.leaves_turn_end && self.server.is_some() {
            self.has_turn_end.set(true);
        } else {
            let shown = self.display(&options, change.pane.as_ref().map(|pane| (pane, change.session.as_str())));
            match (shown, SessionId::new(&change.session)) {
                (Err(Error::TimedOut { .. }), Some(session)) if self.is_hasty => {
                    start_turn_end(self.env, self.home, &session)?;
                }
                (shown, _) => shown?,
            }
        }
        started
    }

    /// Starts the user's scripts for a change.
    fn run_scripts(&self, options: &Options, change: &Change) -> Result<(), Error> {
        let text = script_text(change.to, change.reason.as_deref(), change.summary.as_deref());
        let from = change.from.map_or("none", Status::as_str);
        let values = [from, change.to.as_str(), &change.session, &change.project, text].map(without_control_chars);
        let values = values.each_ref().map(String::as_str);
        let home = self.env.home_dir.as_ref().and_then(|home| home.to_str());
        let mut started = Ok(());
        for script in options.scripts(change.to) {
            let script = Script::parse(script, home, |path| Path::new(path).is_file());
            // If one cannot be started, the others still are.
            started = process::spawn_script(&script, &values).and(started);
        }
        started
    }
}

fn seconds(at: Millis) -> u64 {
    at.0 / 1000
}

// Where a session runs, as its hook or a scan reports it.

/// A session, and where it runs.
struct SeenSession {
    session: SessionId,
    cwd: Option<String>,
    project: String,
    branch: Option<String>,
    agent_type: Option<String>,
    pane: Option<Pane>,
    pid: Option<u32>,
}

impl SeenSession {
    fn of(env: &Env, common: &Common) -> Self {
        let pane = match Terminal::detect(env) {
            Ok(Terminal::Tmux(pane)) => Some(Pane { socket: pane.socket, id: pane.pane }),
            Ok(_) | Err(_) => None,
        };
        Self {
            pane,
            pid: env.client_pid,
            ..Self::in_dir(
                common.session.clone(),
                common.cwd.as_deref(),
                launched_by(env.launched_by.as_deref(), env.client_pid).as_deref(),
            )
        }
    }

    fn in_dir(session: SessionId, cwd: Option<&Path>, launched_by: Option<&str>) -> Self {
        let text = cwd.map(|cwd| cwd.to_string_lossy().into_owned());
        let (project, worktree) = text.as_deref().map_or(("/", None), project_and_worktree);
        Self {
            project: project.to_owned(),
            agent_type: agent_type(session.as_str(), worktree, launched_by),
            session,
            branch: cwd.and_then(git::branch),
            cwd: text,
            pane: None,
            pid: None,
        }
    }

    fn sighting(&self, at: Millis) -> Sighting<'_> {
        Sighting {
            session: self.session.as_str(),
            cwd: self.cwd.as_deref(),
            project: &self.project,
            branch: self.branch.as_deref(),
            agent_type: self.agent_type.as_deref(),
            pane: self.pane.as_ref(),
            target: None,
            client: self.session.client(),
            pid: self.pid,
            at,
        }
    }
}

/// Returns the sessions that started a client, separated by commas.
///
/// The client takes the list out of the environment of its hooks, so that its own environment is read where the system allows
/// it. In a command of a session, the variables of that session name it. `inherited` is the list of a hook's own environment.
fn launched_by(inherited: Option<&str>, client: Option<u32>) -> Option<String> {
    let of_client = |name| client.and_then(|pid| process::variable(pid, name));
    let session = of_client("CLAUDECODE").and_then(|_| of_client("CLAUDE_CODE_SESSION_ID"));
    let list = of_client("CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS").or_else(|| inherited.map(str::to_owned));
    let sessions: Vec<String> = session.into_iter().chain(list).collect();
    (!sessions.is_empty()).then(|| sessions.join(","))
}

// Shows the sessions in tmux: the counts, and the state of a pane.
//
// Several processes show something at the same time. A lock keeps the order: whoever holds it reads the rows and shows them,
// so what is shown last is what was stored last.

/// Starts the process that shows the end of a session's turn in tmux.
pub(crate) fn start_turn_end(env: &Env, home: &Home, session: &SessionId) -> Result<(), Error> {
    let args = ["show-turn-end", "--", session.as_str()].map(str::to_owned);
    // The terminal of the session may be another one than that of the process that runs its hooks.
    let terminal = [("TMUX", env.tmux.as_deref()), ("TMUX_PANE", env.tmux_pane.as_deref())];
    process::spawn_own_in_terminal("tmux", &args, home.dir(), &terminal)
}

impl Tracker<'_> {
    pub fn show_turn_end(&self, session: &SessionId) -> Result<(), Error> {
        let pane = self.store.agent(session.as_str())?.and_then(|agent| agent.pane);
        self.display(&self.options(), pane.as_ref().map(|pane| (pane, session.as_str())))
    }

    /// Shows the counts.
    pub fn push(&self) -> Result<(), Error> {
        self.display(&self.options(), None)
    }

    /// Shows the counts, and the state of a session in its pane.
    fn display(&self, options: &Options, session: Option<(&Pane, &str)>) -> Result<(), Error> {
        let server = self.server.as_ref().map(Server::for_once);
        let lock = server.as_ref().map_or(Ok(None), |server| self.lock_display(server))?;
        let agents = self.agents()?;
        let text = render(&agents, options, seconds(self.env.now));
        files::replace(&self.home.status(), text.as_bytes())?;
        let Some(server) = &server else { return Ok(()) };
        let status_of = |session: &str| agents.iter().find(|agent| agent.session == session).map(|agent| agent.status);
        let session = session.map(|(pane, session)| (pane, status_of(session)));
        let here = session.filter(|(pane, _)| pane.socket == server.socket);
        let window =
            server.set_status(&text, here.map(|(pane, status)| (pane.id.as_str(), status.map(Status::as_str))))?;
        drop(lock);
        if let Some(((pane, _), window)) = session.zip(window) {
            self.store.set_window(pane, &window)?;
        }
        Ok(())
    }

    /// Takes the lock of a server's display, waiting no longer than for tmux itself. Returns `None` on a file system without
    /// locks: the order of what is shown is worth less than showing it.
    fn lock_display(&self, server: &Server) -> Result<Option<File>, Error> {
        let lock = files::open_append(&self.home.tmux_display_lock(&server.socket))?;
        let limit = server.time_limit();
        match files::lock_within(&lock, limit, DISPLAY_LOCK_TRIED) {
            Ok(()) => Ok(Some(lock)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let program = "another process that shows something in tmux".to_owned();
                Err(Error::TimedOut { program, ms: limit.as_millis() as u64 })
            }
            Err(_) => Ok(None),
        }
    }
}

// A cache of the tmux options that the user has set, so that hooks do not query tmux. What Longhaul shows in tmux is
// corrected by `refresh.rs`.

/// Returns the cached options of a server; the defaults if there are none.
fn cached_options(home: &Home, server: &Server) -> Options {
    let cached = bounded_read::bytes(&home.tmux_options(&server.socket), bounded_read::LARGE).ok();
    let values: Vec<String> = cached.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    Options::from_values(|at| values.get(at).cloned())
}

fn cache_options(home: &Home, server: &Server, options: &Options) -> Result<(), Error> {
    if cached_options(home, server) == *options {
        return Ok(());
    }
    let json = serde_json::to_vec(options.values()).unwrap_or_default();
    files::replace(&home.tmux_options(&server.socket), &json)
}

// The running subagents of a session, each of which can open a dialog at any time.

/// Number of bytes read from the end of the file.
const MAX_TAIL: usize = 64 * 1024;

/// Records which subagents are still running at the end of a turn, as Claude Code reports them.
pub(crate) fn note_running_subagents(home: &Home, session: &SessionId, tasks: &[BackgroundTask]) -> Result<(), Error> {
    // Most sessions never start a subagent, so that there is nothing to correct.
    if tasks.is_empty() && !home.session_file(session, "agents").exists() {
        return Ok(());
    }
    note_subagents(home, session, '=', tasks.iter().filter(|task| task.may_ask()).map(|task| task.id.as_str()))
}

/// Returns whether a subagent of the session is running, as far as is known.
pub(crate) fn any_subagent_runs(home: &Home, session: &SessionId) -> bool {
    let Ok(file) = bounded_read::open(&home.session_file(session, "agents")) else { return false };
    let Ok((tail, whole)) = files::tail(&file, MAX_TAIL) else { return true };
    let text = String::from_utf8_lossy(&tail);
    let lines = text.lines().skip(usize::from(!whole));
    let mut running = BTreeSet::new();
    for line in lines {
        let mut words = line.split(' ');
        match words.next() {
            Some("+") => running.extend(words),
            Some("-") => words.for_each(|id| _ = running.remove(id)),
            Some("=") => running = words.collect(),
            _ => {}
        }
    }
    !running.is_empty()
}

/// Records that subagents have started (`+`) or returned (`-`), or that exactly these are running (`=`).
///
/// The file is `sessions/<id>.agents`, with a line such as `+ id`.
pub(crate) fn note_subagents<'a>(
    home: &Home,
    session: &SessionId,
    what: char,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<(), Error> {
    let words: String = ids.into_iter().map(|id| format!(" {}", word(id))).collect();
    files::append_line(&home.session_file(session, "agents"), &format!("{what}{words}"))
}
