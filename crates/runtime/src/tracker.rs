//! The tracker's rows, joined with the log, the scripts and the display.

mod options_cache;
mod refresh;

use std::path::Path;
use std::rc::Rc;

use longhaul_activity_log::LogLine;
use longhaul_core::event::Common;
use longhaul_core::{Env, Millis, SessionId, Status};
use longhaul_inject::Terminal;
use longhaul_store::{Bridge, Change, Sighting, Store};
use longhaul_tracker::{Agent, Options, Pane, Script, Trigger, render, transition, without_control_chars};

use crate::tmux::Server;
use crate::{ActivityLog, Deadline, Error, Home, files, git, process, waiting_times};

/// Whether the session's log tells of a change already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// The event's own line does.
    InLog,
    /// Nothing does yet: the log must stay in step with the rows, for the next tool call to know.
    Nowhere,
}

/// Everything that knows who is alive.
#[derive(Debug)]
pub struct Tracker<'a> {
    env: &'a Env,
    home: &'a Home,
    store: Rc<Store>,
    server: Option<Server>,
}

impl<'a> Tracker<'a> {
    /// Opens the database, for a command.
    pub fn open(env: &'a Env, home: &'a Home) -> Result<Self, Error> {
        Ok(Self {
            env,
            home,
            store: Rc::new(home.store(waiting_times::DATABASE)?),
            server: Server::of(env).map(Server::patient),
        })
    }

    /// Uses a database that is open, in a hook that must be done by `deadline`.
    pub(crate) fn with(env: &'a Env, home: &'a Home, store: Rc<Store>, deadline: Deadline) -> Self {
        let server = Server::of(env).map(|server| Server { deadline: Some(deadline), ..server });
        Self { env, home, store, server }
    }

    /// Returns every session that is alive.
    pub fn agents(&self) -> Result<Vec<Agent>, Error> {
        Ok(self.store.agents()?)
    }

    /// Returns every client that runs our module.
    pub fn bridges(&self) -> Result<Vec<Bridge>, Error> {
        Ok(self.store.bridges()?)
    }

    /// Returns the options as they were last read from tmux; the defaults outside of it.
    pub fn options(&self) -> Options {
        self.server.as_ref().map_or_else(Options::default, |server| options_cache::load(self.home, server))
    }

    /// Adds a session that begins.
    pub(crate) fn begin(&mut self, common: &Common, status: Status, reason: Option<&str>) -> Result<(), Error> {
        let place = Place::of(self.env, common);
        if !self.store.add_agent(&place.sighting(self.env.now), status, reason)? {
            return Ok(());
        }
        self.show(&self.options(), place.pane.as_ref().map(|pane| (pane, Some(status)))).map(drop)
    }

    /// Notes a prompt.
    pub(crate) fn prompt(&mut self, common: &Common, summary: Option<&str>) -> Result<(), Error> {
        let place = Place::of(self.env, common);
        match self.store.note_prompt(&place.sighting(self.env.now), summary)? {
            Some(change) => self.announce(&change, Told::InLog),
            None => Ok(()),
        }
    }

    /// Applies a trigger, if it changes anything.
    pub(crate) fn apply(
        &self,
        session: &SessionId,
        trigger: Trigger,
        reason: Option<&str>,
        told: Told,
    ) -> Result<(), Error> {
        let Some(transition) = transition(trigger) else { return Ok(()) };
        match self.store.change_status(session.as_str(), &transition, reason, self.env.now)? {
            Some(change) => self.announce(&change, told),
            None => Ok(()),
        }
    }

    /// Applies the client's late notice that it waits.
    pub(crate) fn notified(&self, session: &SessionId, reason: Option<&str>) -> Result<(), Error> {
        let Some(transition) = transition(Trigger::Notified) else { return Ok(()) };
        let now = self.env.now;
        match self.store.change_status_unless_asked_lately(session.as_str(), &transition, reason, now)? {
            Some(change) => self.announce(&change, Told::Nowhere),
            None => Ok(()),
        }
    }

    /// Notes that somebody looks at a pane; returns whether that changed anything.
    pub fn seen(&self, pane: &Pane) -> Result<bool, Error> {
        let Some(transition) = transition(Trigger::Seen) else { return Ok(false) };
        let change = self.store.change_status_in_pane(pane, &transition, self.env.now)?;
        if let Some(change) = &change {
            self.announce(change, Told::Nowhere)?;
        }
        Ok(change.is_some())
    }

    /// Applies what a tool call tells; a session that has no row yet gets one.
    pub(crate) fn tool_used(&mut self, common: &Common, trigger: Trigger, told: Told) -> Result<(), Error> {
        let Some(transition) = transition(trigger) else { return Ok(()) };
        let session = common.session.as_str();
        let change = match common.agent_id.as_deref() {
            Some(agent) => self.store.change_status_asked_by(session, agent, &transition, self.env.now)?,
            // While a subagent's dialog is open, the main loop's calls do not answer it.
            None => self.store.change_status_asked_by(session, "", &transition, self.env.now)?,
        };
        match change {
            Some(change) => self.announce(&change, told),
            None if common.agent_id.is_none() => self.add_missing(common, Status::Working, None),
            None => Ok(()),
        }
    }

    /// Notes that a dialog asks for permission.
    pub(crate) fn ask_permission(&mut self, common: &Common, reason: &str) -> Result<(), Error> {
        let Some(transition) = transition(Trigger::PermissionRequested) else { return Ok(()) };
        let (session, asked_by) = (common.session.as_str(), common.agent_id.as_deref());
        match self.store.ask_permission(session, &transition, asked_by, reason, self.env.now)? {
            Some(change) => self.announce(&change, Told::Nowhere),
            None => self.add_missing(common, Status::Blocked, Some(reason)),
        }
    }

    /// Adds a session of which no hook has told yet, in place of what a scan may have put there for it.
    fn add_missing(&mut self, common: &Common, status: Status, reason: Option<&str>) -> Result<(), Error> {
        if self.store.agent(common.session.as_str())?.is_some() { Ok(()) } else { self.begin(common, status, reason) }
    }

    /// Notes that the turn ended in an error.
    pub(crate) fn fail(&self, session: &SessionId, reason: &str) -> Result<(), Error> {
        self.store.note_failure(session.as_str())?;
        self.apply(session, Trigger::Failed, Some(reason), Told::Nowhere)
    }

    pub(crate) fn note_stopped(&self, session: &SessionId) -> Result<(), Error> {
        Ok(self.store.note_stopped(session.as_str())?)
    }

    /// Returns how many subagents run: `told` by the client, which puts the count right, else as counted.
    pub(crate) fn subagents(&self, session: &SessionId, told: Option<usize>) -> Result<usize, Error> {
        match told {
            // None: the change to completed says so, too.
            Some(0) => Ok(0),
            Some(running) => {
                self.store.set_subagents(session.as_str(), running)?;
                Ok(running)
            }
            None => Ok(self.store.agent(session.as_str())?.map_or(0, |agent| agent.subagents as usize)),
        }
    }

    pub(crate) fn count_subagent(&self, session: &SessionId, by: i32) -> Result<(), Error> {
        Ok(self.store.count_subagent(session.as_str(), by)?)
    }

    pub(crate) fn count_task(&self, session: &SessionId) -> Result<(), Error> {
        Ok(self.store.count_task(session.as_str())?)
    }

    /// Makes `session`, which may be another than that of the event, an idle teammate.
    pub(crate) fn teammate_idle(&mut self, common: &Common, session: &SessionId) -> Result<(), Error> {
        let mut place = Place::of(self.env, common);
        if *session != common.session {
            // The pane belongs to the session that the event is of.
            place = Place { session: session.clone(), pane: None, pid: None, ..place };
        }
        place.agent_type = Some("teammate");
        let added = self.store.add_agent(&place.sighting(self.env.now), Status::Idle, None)?;
        let is_new = self.store.note_teammate(session.as_str())?;
        let Some(transition) = transition(Trigger::TeammateIdle) else { return Ok(()) };
        match self.store.change_status(session.as_str(), &transition, None, self.env.now)? {
            Some(change) => self.announce(&change, Told::Nowhere),
            // Even where its status stays, it is no longer counted.
            None if added || is_new => self.push(),
            None => Ok(()),
        }
    }

    /// Removes a session.
    pub(crate) fn end(&self, session: &SessionId) -> Result<(), Error> {
        let Some(agent) = self.store.agent(session.as_str())? else { return Ok(()) };
        self.store.remove_agent(session.as_str())?;
        self.show(&self.options(), agent.pane.as_ref().map(|pane| (pane, None))).map(drop)
    }

    /// Tells of a real change: the log, the user's scripts, the display.
    ///
    /// The database is read first: where that fails, nothing has been told, and the job may be run again.
    fn announce(&self, change: &Change, told: Told) -> Result<(), Error> {
        let options = self.options();
        let text = self.text(&options)?;
        if told == Told::Nowhere
            && let Some(session) = SessionId::new(&change.session)
        {
            let line = LogLine::Status { at: self.env.now, status: change.to };
            ActivityLog::open(self.home, &session)?.append(&[line])?;
        }
        let started = self.run_scripts(&options, change);
        let pane = change.pane.as_ref();
        let looked_at = self.display(&text, pane.map(|pane| (pane, Some(change.to))))?;
        // What is completed before somebody's eyes has been seen.
        match pane.filter(|pane| change.to == Status::Completed && looked_at.contains(pane)) {
            Some(pane) => self.seen(pane).map(drop),
            None => Ok(()),
        }?;
        started
    }

    /// Starts the user's scripts for a change. The fifth value is what the session waits for, else its last prompt.
    fn run_scripts(&self, options: &Options, change: &Change) -> Result<(), Error> {
        let reason = change.reason.as_ref().filter(|_| change.to == Status::Blocked);
        let about = reason.or(change.summary.as_ref()).map_or("", String::as_str);
        let from = change.from.map_or("none", Status::as_str);
        let values = [from, change.to.as_str(), &change.session, &change.project, about].map(without_control_chars);
        let values = values.each_ref().map(String::as_str);
        let home = self.env.home_dir.as_ref().and_then(|home| home.to_str());
        let mut started = Ok(());
        for script in options.scripts(change.to) {
            let script = Script::parse(script, home, |path| Path::new(path).is_file());
            // One that cannot be started does not keep the others from it.
            started = process::spawn_script(&script, &values).and(started);
        }
        started
    }

    /// Renders the counts and pushes them to tmux.
    pub fn push(&self) -> Result<(), Error> {
        self.show(&self.options(), None).map(drop)
    }

    /// Shows the counts, and the state of a pane; returns the panes that somebody looks at.
    fn show(&self, options: &Options, pane: Option<(&Pane, Option<Status>)>) -> Result<Vec<Pane>, Error> {
        self.display(&self.text(options)?, pane)
    }

    /// Returns the counts as tmux shows them.
    fn text(&self, options: &Options) -> Result<String, Error> {
        Ok(render(&self.store.agents()?, options, seconds(self.env.now)))
    }

    fn display(&self, text: &str, pane: Option<(&Pane, Option<Status>)>) -> Result<Vec<Pane>, Error> {
        files::replace(&self.home.status(), text.as_bytes())?;
        let Some(server) = &self.server else { return Ok(Vec::new()) };
        let state = pane.filter(|(pane, _)| pane.socket == server.socket);
        let state = state.map(|(pane, status)| (pane.id.as_str(), status.map(Status::as_str)));
        let looked_at = server.set_status(text, state)?.into_iter();
        Ok(looked_at.map(|id| Pane { socket: server.socket.clone(), id }).collect())
    }
}

fn seconds(at: Millis) -> u64 {
    at.0 / 1000
}

/// Where a session runs, as its hook sees it.
struct Place {
    session: SessionId,
    cwd: Option<String>,
    project: String,
    branch: Option<String>,
    agent_type: Option<&'static str>,
    pane: Option<Pane>,
    pid: Option<u32>,
}

impl Place {
    fn of(env: &Env, common: &Common) -> Self {
        let pane = match Terminal::detect(env) {
            Ok(Terminal::Tmux(pane)) => Some(Pane { socket: pane.socket, id: pane.pane }),
            Ok(_) | Err(_) => None,
        };
        Self { pane, pid: env.client_pid, ..Self::in_dir(common.session.clone(), common.cwd.as_deref()) }
    }

    fn in_dir(session: SessionId, cwd: Option<&Path>) -> Self {
        let name = cwd.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let text = cwd.map(|cwd| cwd.to_string_lossy().into_owned());
        let is_worktree = text.as_ref().is_some_and(|cwd| cwd.contains("/.claude/worktrees/"));
        Self {
            session,
            project: name.unwrap_or_else(|| "/".to_owned()),
            branch: cwd.and_then(git::branch),
            agent_type: is_worktree.then_some("worktree"),
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
            agent_type: self.agent_type,
            pane: self.pane.as_ref(),
            target: None,
            client: self.session.client(),
            pid: self.pid,
            at,
        }
    }
}
