//! Corrects what no hook reports and what tmux does not show, every few seconds by tmux, or by a command.

use std::time::Duration;

use longhaul_activity_log::LogLine;
use longhaul_core::{Millis, SessionId, Status};
use longhaul_tracker::{
    Agent, ClientRecord, LivePane, Process, RemovalReason, Trigger, Viewer, dead_agents, has_been_seen,
    may_be_interrupted, reconcile, render, reopen_offer, scan, stale_agents, transition,
};

use super::{Logged, SeenSession, Tracker, cache_options, launched_by, seconds};
use crate::tmux::{Client, Server, ServerOptions, server_pid, window_of_pane};
use crate::{
    ActivityLog, Error, SessionRecord, bounded_read, client_records, clock_and_env, context, files, process, reopen,
};

/// Minimum interval between two searches for dead sessions.
const DEAD_SESSIONS_SEARCHED: Duration = Duration::from_secs(10);

impl Tracker<'_> {
    /// Corrects what no hook reports, clears sessions that the user has seen, and shows the result.
    pub fn refresh(&mut self) -> Result<(), Error> {
        let shown = match &self.server {
            Some(server) => {
                let read = match server.read() {
                    Ok(read) => read,
                    // A server that has ended shows nothing, but its sessions must not stay listed.
                    Err(error) => return self.tidy_after_server().and(Err(error)),
                };
                cache_options(self.home, server, &read.options)?;
                self.offer_reopen(server, &read)?;
                Some(read.status)
            }
            None => None,
        };
        self.tidy()?;
        self.clear_seen(self.options().status_interval())?;
        let text = render(&self.agents()?, &self.options(), seconds(self.env.now));
        // Several servers can share a home. Each shows its own last status, in its own colours. The file is for readers
        // outside of tmux.
        let is_shown = shown.map_or_else(
            || bounded_read::text(&self.home.status(), bounded_read::SMALL).is_ok_and(|written| written == text),
            |shown| shown == text && self.home.status().exists(),
        );
        if is_shown { Ok(()) } else { self.push() }
    }

    /// Corrects what no hook reports: wrong states, dead sessions, and running sessions without a row.
    pub fn tidy(&mut self) -> Result<(), Error> {
        let records = client_records::records(self.env);
        self.reconcile(&records)?;
        // The rows are read first, so that a new one is not removed because its pane was not listed yet.
        let agents = self.agents()?;
        if self.is_reaping_due() || (!self.env.no_reap && agents.iter().any(|agent| self.has_died(agent))) {
            let Ok(panes) = self.panes() else { return self.bury_by_clients(&agents) };
            let processes = process::all();
            self.bury(&self.of_earlier_servers(&agents)?)?;
            self.bury(&dead_agents(&agents, &self.sockets(), &panes, &processes, seconds(self.env.now)))?;
            self.add_found(&panes, &processes, &records)?;
            self.update_targets(&panes)?;
        }
        Ok(())
    }

    /// Does the same after the server has ended. Its sessions are not found any more, but must not stay listed.
    fn tidy_after_server(&self) -> Result<(), Error> {
        self.reconcile(&client_records::records(self.env))?;
        if self.env.no_reap { Ok(()) } else { self.bury_by_clients(&self.agents()?) }
    }

    /// Removes the rows of dead clients. The panes of a server that has ended are not known.
    fn bury_by_clients(&self, agents: &[Agent]) -> Result<(), Error> {
        self.bury(&dead_agents(agents, &[], &[], &process::all(), seconds(self.env.now)))
    }

    /// Adds the running sessions that have no row. Returns their ids.
    pub fn scan(&mut self) -> Result<Vec<String>, Error> {
        let (panes, processes) = (self.panes()?, process::all());
        let found = self.add_found(&panes, &processes, &client_records::records(self.env))?;
        if !found.is_empty() {
            self.push()?;
        }
        Ok(found)
    }

    /// Removes rows that are dead or a day old. Returns them.
    pub fn cleanup(&mut self) -> Result<Vec<(String, RemovalReason)>, Error> {
        let agents = self.agents()?;
        let now = seconds(self.env.now);
        let mut gone = dead_agents(&agents, &self.sockets(), &self.panes()?, &process::all(), now);
        let is_dead = |agent: &Agent| gone.iter().any(|(dead, _)| dead.session == agent.session);
        let forgotten: Vec<_> = stale_agents(&agents, now).into_iter().filter(|(agent, _)| !is_dead(agent)).collect();
        gone.extend(forgotten);
        self.bury(&gone)?;
        let removed: Vec<(String, RemovalReason)> =
            gone.iter().map(|(agent, why)| (agent.session.clone(), *why)).collect();
        if !removed.is_empty() {
            self.push()?;
        }
        Ok(removed)
    }

    /// Compares every row with the record of its client, or without a record with the transcript.
    fn reconcile(&self, records: &[ClientRecord]) -> Result<(), Error> {
        for agent in self.agents()? {
            let Some(session) = SessionId::new(&agent.session) else { continue };
            let last_hook = self.last_hook(&agent, &session);
            let record = records.iter().find(|record| record.session == agent.session);
            let trigger = match record {
                Some(record) => reconcile(&agent, last_hook, record, self.env.now),
                None => self.was_interrupted(&agent, &session, last_hook).then_some(Trigger::ClientIdle),
            };
            if let Some(trigger) = trigger {
                let reason = record.and_then(|record| record.waiting_for.as_deref());
                let transition = transition(trigger);
                let change = self.store.change_status_if_untouched(&agent, &transition, reason, self.env.now)?;
                if let Some(change) = change {
                    self.announce(&change, Logged::NotYet)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the time of the last hook. Most tool calls write only to the log.
    fn last_hook(&self, agent: &Agent, session: &SessionId) -> Millis {
        let path = self.home.session_file(session, "log");
        let logged = if path.exists() {
            ActivityLog::open(self.home, session)
                .and_then(|log| log.metrics())
                .ok()
                .and_then(|metrics| metrics.last_line)
        } else {
            None
        };
        logged.unwrap_or_default().max(Millis(agent.touched_ms))
    }

    fn was_interrupted(&self, agent: &Agent, session: &SessionId, last_hook: Millis) -> bool {
        let transcript = || SessionRecord::load(self.home, session).and_then(|record| record.transcript);
        may_be_interrupted(agent, last_hook, self.env.now)
            && transcript().is_some_and(|path| context::ends_in_interrupt(&path))
    }

    /// Marks completed sessions as seen that the user has had on the screen for `seconds`.
    pub fn clear_seen(&self, seconds: u64) -> Result<(), Error> {
        let Some(server) = &self.server else { return Ok(()) };
        let agents = self.agents()?;
        let here = |agent: &&Agent| agent.pane.as_ref().is_some_and(|pane| pane.socket == server.socket);
        let completed: Vec<&Agent> =
            agents.iter().filter(here).filter(|agent| agent.status == Status::Completed).collect();
        if completed.is_empty() {
            return Ok(());
        }
        // The times of keys are the system's, those of the rows may be a test's.
        let clock = clock_and_env::clock().0 / 1000;
        let idle = |client: &Client| clock.saturating_sub(client.active_at);
        let viewers: Vec<Viewer> = server
            .clients()?
            .into_iter()
            .map(|client| Viewer { idle_seconds: idle(&client), pane: client.pane, focused: client.focused })
            .collect();
        let now = self::seconds(self.env.now);
        for agent in completed.into_iter().filter(|agent| has_been_seen(agent, &viewers, now, seconds)) {
            if let Some(pane) = &agent.pane {
                self.seen(pane)?;
            }
        }
        Ok(())
    }

    fn is_reaping_due(&self) -> bool {
        if self.env.no_reap {
            return false;
        }
        let server = self.sockets().first().map_or_else(String::new, |socket| longhaul_inject::file_name_of(socket));
        let path = self.home.dir().join("tmux").join(format!("reaped-{server}"));
        let last = files::modified(&path).unwrap_or_default();
        // The time of the file is the system's. With a fixed test clock, the interval would never end.
        let due = clock_and_env::clock().0.abs_diff(last.0) >= DEAD_SESSIONS_SEARCHED.as_millis() as u64;
        due && files::replace(&path, b"").is_ok()
    }

    /// Returns whether the client of a session is known to be dead, so that its row is to be removed. That of a completed
    /// session stays until the user has seen it, in a pane of this server.
    fn has_died(&self, agent: &Agent) -> bool {
        let is_here = || agent.pane.as_ref().is_some_and(|pane| self.sockets().contains(&pane.socket.as_str()));
        let may_stay = agent.status == Status::Completed && is_here();
        !may_stay && agent.pid.is_some_and(|pid| !process::is_alive(pid))
    }

    fn panes(&self) -> Result<Vec<LivePane>, Error> {
        self.server.as_ref().map_or(Ok(Vec::new()), |server| server.panes())
    }

    fn sockets(&self) -> Vec<&str> {
        self.server.iter().map(|server| server.socket.as_str()).collect()
    }

    fn bury(&self, gone: &[(&Agent, RemovalReason)]) -> Result<(), Error> {
        for (agent, _) in gone {
            self.store.remove_agent_if_untouched(agent)?;
        }
        Ok(())
    }

    fn add_found(
        &mut self,
        panes: &[LivePane],
        processes: &[Process],
        records: &[ClientRecord],
    ) -> Result<Vec<String>, Error> {
        let found = scan(&self.agents()?, panes, processes, records);
        for session in &found {
            self.add(session)?;
        }
        Ok(found.into_iter().map(|found| found.session).collect())
    }

    fn add(&mut self, found: &Agent) -> Result<(), Error> {
        let Some(session) = SessionId::new(&found.session) else { return Ok(()) };
        let place = SeenSession {
            pane: found.pane.clone(),
            pid: found.pid,
            ..SeenSession::in_dir(
                session,
                found.cwd.as_deref().map(std::path::Path::new),
                launched_by(None, found.pid).as_deref(),
            )
        };
        let sighting = longhaul_store::Sighting {
            client: &found.client,
            target: found.target.as_deref(),
            ..place.sighting(self.env.now)
        };
        self.store.add_found_agent(&sighting, found.status, found.reason.as_deref())?;
        if found.session.starts_with("scan-") {
            return Ok(());
        }
        // The log must agree with the rows.
        let line = LogLine::Status { at: self.env.now, status: found.status };
        ActivityLog::open(self.home, &place.session)?.append(&[line])
    }

    fn update_targets(&self, panes: &[LivePane]) -> Result<(), Error> {
        for agent in self.agents()? {
            if let Some(live) = panes.iter().find(|live| agent.pane.as_ref() == Some(&live.pane)) {
                self.store.set_target(&agent.session, &live.target)?;
                // The user may have renamed or moved the window.
                if let Some(window) = window_of_pane(live) {
                    self.store.set_window(&live.pane, &window)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the sessions that ran in an earlier server with the same socket. Their panes are gone, although this server
    /// has panes with the same ids.
    fn of_earlier_servers<'b>(&self, agents: &'b [Agent]) -> Result<Vec<(&'b Agent, RemovalReason)>, Error> {
        let (Some(server), Some(pid)) = (&self.server, server_pid(self.env)) else { return Ok(Vec::new()) };
        let ids = self.store.agents_of_earlier_servers(&server.socket, pid)?;
        let earlier = agents.iter().filter(|agent| ids.contains(&agent.session));
        Ok(earlier.map(|agent| (agent, RemovalReason::PaneGone)).collect())
    }

    /// Shows in the status line how many sessions can be reopened, if the user wants that.
    fn offer_reopen(&self, server: &Server, shown: &ServerOptions) -> Result<(), Error> {
        let count = if shown.options.offers_reopen() { reopen::count(self.env, &self.store)? } else { 0 };
        let text = reopen_offer(count);
        if text == shown.to_reopen { Ok(()) } else { server.show_offer(&text) }
    }
}
