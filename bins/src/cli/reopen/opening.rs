//! Opens sessions one after the other, and waits for each.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use longhaul_core::{Env, counted, short_session};
use longhaul_inject::printable;
use longhaul_runtime::tmux::{OpenedWindow, PaneState, Server};
use longhaul_runtime::{Shell, of_test, reopen, running_clients, waiting_times};
use longhaul_store::Store;
use longhaul_tracker::ClientStatus;
use longhaul_tracker::reopen::{
    Refusal, Resume, SessionPlace, TmuxSession, WindowPosition, open_command, opening_order, own_id, position, refusal,
    shortage,
};

use super::Candidate;
use crate::cli::out;

/// Between two checks of a client that starts.
const PAUSE: Duration = Duration::from_millis(50);

/// The reason for a client that has left no text.
const ENDED: &str = "its client ended at once";

/// What has become of a session that was to be opened.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum OpenResult {
    #[error("reopened in {:.1} s", .0.as_secs_f64())]
    Idle(Duration),
    #[error("reopened; it waits for you: {0}")]
    Waits(String),
    #[error("reopened; it was not ready after {} s", .0.as_secs())]
    Slow(Duration),
    #[error("runs already")]
    Runs,
    #[error("not reopened: {0}")]
    Refused(Refusal),
    #[error("not reopened: {0}")]
    Failed(String),
}

impl OpenResult {
    /// Returns whether the session runs.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Idle(_) | Self::Waits(_) | Self::Slow(_) | Self::Runs => true,
            Self::Refused(_) | Self::Failed(_) => false,
        }
    }
}

/// Prints which windows would be opened, and with which commands.
pub(super) fn print_plan(candidates: &[Candidate]) -> Result<()> {
    let places = in_order(candidates);
    let mut servers: Vec<(String, Vec<TmuxSession>)> = Vec::new();
    for (at, (candidate, socket)) in places.iter().enumerate() {
        if !servers.iter().any(|(known, _)| known == socket) {
            servers.push((socket.clone(), Server::at(socket).tmux_sessions()?));
        }
        let Some((_, existing)) = servers.iter_mut().find(|(known, _)| known == socket) else { continue };
        let Some(position) = position(&same_server(&places[at..]), existing) else { continue };
        let index = add(existing, &position);
        let name = position.name.as_deref().unwrap_or_default();
        let window = format!("{}:{index} {name}", position.session);
        out::text(&format!("Would open {}: {}", window.trim_end(), candidate.command.join(" ")))?;
    }
    Ok(())
}

/// Adds a window that would be opened, and returns its index.
fn add(existing: &mut Vec<TmuxSession>, position: &WindowPosition) -> u32 {
    let found = existing.iter().position(|session| session.name == position.session);
    let at = found.unwrap_or_else(|| {
        existing.push(TmuxSession { id: String::new(), name: position.session.clone(), windows: Vec::new() });
        existing.len() - 1
    });
    let windows = &mut existing[at].windows;
    let index = position.index.unwrap_or_else(|| windows.iter().max().map_or(0, |last| last + 1));
    windows.push(index);
    index
}

/// Opens the chosen sessions. Returns what has become of each of them, by session.
pub(super) fn open(
    env: &Env,
    store: &Store,
    candidates: &[Candidate],
    is_quiet: bool,
) -> Result<Vec<(String, OpenResult)>> {
    let began = Instant::now();
    let places = in_order(candidates);
    let mut results = Vec::new();
    for (at, (candidate, socket)) in places.iter().enumerate() {
        if let Some(problem) = wait_for_memory() {
            let left = counted(places.len() - at, "session");
            out::message(&format!("Stopped: {problem}. {left} left: run `longhaul reopen` again later."));
            let place = |(candidate, _): &(&Candidate, String)| candidate.place.session.clone();
            results.extend(places[at..].iter().map(|left| (place(left), OpenResult::Failed(problem.clone()))));
            break;
        }
        let result = open_one(env, store, candidate, &Server::at(socket), &same_server(&places[at..]));
        let result = result.unwrap_or_else(|error| OpenResult::Failed(format!("{error:#}")));
        if !is_quiet {
            let session = short_session(&candidate.place.session);
            out::text(&format!("{} ({session}): {result}", super::window(&candidate.place)))?;
        }
        results.push((candidate.place.session.clone(), result));
    }
    let opened = results.iter().filter(|(_, result)| result.is_open()).count();
    let seconds = began.elapsed().as_secs_f64();
    out::message(&format!("{opened} of {} run, after {seconds:.1} s.", counted(results.len(), "session")));
    let sockets: BTreeSet<&String> = places.iter().map(|(_, socket)| socket).collect();
    for socket in sockets.into_iter().filter(|_| opened > 0 && env.tmux.is_none()) {
        out::message(&format!(
            "Attach with: tmux -S {} attach",
            printable(&longhaul_inject::shell_single_quote(socket))
        ));
    }
    Ok(results)
}

/// Returns the sessions that can be opened, in the order of their windows, each with the socket of its server.
fn in_order(candidates: &[Candidate]) -> Vec<(&Candidate, String)> {
    let can_open = |candidate: &&Candidate| candidate.is_chosen && candidate.refusal.is_none();
    let mut places: Vec<&SessionPlace> = candidates.iter().filter(can_open).map(|candidate| &candidate.place).collect();
    opening_order(&mut places);
    let of_place = |place: &SessionPlace| {
        let candidate = candidates.iter().find(|candidate| candidate.place.session == place.session)?;
        Some((candidate, place.server.as_ref()?.socket.clone()))
    };
    places.into_iter().filter_map(of_place).collect()
}

/// Returns the sessions at the beginning of `places` that have the same server.
fn same_server<'a>(places: &[(&'a Candidate, String)]) -> Vec<&'a SessionPlace> {
    let first = places.first().map(|(_, socket)| socket);
    places.iter().take_while(|(_, socket)| Some(socket) == first).map(|(candidate, _)| &candidate.place).collect()
}

/// How long memory is waited for, which a build or another client that starts may use for a moment.
const MEMORY_WAIT: Duration = Duration::from_secs(30);

/// The memory that must be available before another client is started, in MB.
const MEMORY_MB: u64 = 700;

/// Waits until there is memory for another client. Returns the problem if there is none in time.
fn wait_for_memory() -> Option<String> {
    let wanted = of_test("LONGHAUL_MEMORY_MB").unwrap_or(MEMORY_MB);
    let deadline = Instant::now() + MEMORY_WAIT;
    let mut is_announced = false;
    loop {
        let problem = (wanted > 0).then(|| shortage(reopen::memory_state(), wanted)).flatten()?;
        if Instant::now() >= deadline {
            return Some(problem.to_string());
        }
        if !is_announced {
            out::message(&format!("Waiting: {problem}."));
            is_announced = true;
        }
        thread::sleep(Duration::from_millis(500));
    }
}

fn open_one(
    env: &Env,
    store: &Store,
    candidate: &Candidate,
    server: &Server,
    remaining: &[&SessionPlace],
) -> Result<OpenResult> {
    let place = &candidate.place;
    // The user, or another program, may have done something since the list was made.
    if !reopen::lost_sessions(env, store)?.iter().any(|lost| lost.session == place.session) {
        return Ok(OpenResult::Runs);
    }
    if let Some(refusal) = refusal(place, &reopen::facts(place, &Shell::read())) {
        return Ok(OpenResult::Refused(refusal));
    }
    let began = Instant::now();
    // A run that was interrupted may have opened the window, in which the client still starts.
    let opened = match server.window_opened_for(own_id(place))? {
        Some(window) => {
            finish_move(&window, server, remaining);
            Ok(window.pane)
        }
        None => open_window(candidate, server, remaining)?,
    };
    let pane = match opened {
        Ok(pane) => pane,
        Err(failed) => return Ok(failed),
    };
    // If the client has ended already, its pane is gone, and the wait below reports that.
    let _ = server.keep_after_end(&pane, true);
    let result = wait(env, store, place, server, &pane, began)?;
    if result.is_open() {
        server.keep_after_end(&pane, false)?;
    }
    Ok(result)
}

/// Opens the window of a session, and returns its pane.
fn open_window(
    candidate: &Candidate,
    server: &Server,
    remaining: &[&SessionPlace],
) -> Result<std::result::Result<String, OpenResult>> {
    let position = position(remaining, &server.tmux_sessions()?);
    let (Some(folder), Some(position)) = (&candidate.place.folder, position) else {
        return Ok(Err(OpenResult::Failed("its window is not known".to_owned())));
    };
    reopen::make_socket_folder(&server.socket)?;
    let resume = Resume { argv: candidate.command.clone(), variables: candidate.variables.clone() };
    // A server ends with its last window: then the client has ended before tmux could answer. While it ends, it has no target.
    let ended = |error: longhaul_runtime::Error| {
        let is_other = error.is_unsafe_socket() || server.answers() && !error.is_without_target();
        OpenResult::Failed(if is_other { error.chain() } else { ENDED.to_owned() })
    };
    let window = match server.open_window(&open_command(&position, folder, &resume)) {
        Ok(window) => window,
        Err(error) => return Ok(Err(ended(error))),
    };
    if let Some(index) = position.index.filter(|index| *index != window.index)
        && let Err(error) = server.move_window(&window, index)
    {
        return Ok(Err(ended(error)));
    }
    Ok(Ok(window.pane))
}

/// Moves a window to its index if the run that opened it was interrupted before it did so.
fn finish_move(window: &OpenedWindow, server: &Server, remaining: &[&SessionPlace]) {
    let recorded = remaining.first().and_then(|place| place.window.as_ref()).map(|window| window.index);
    if recorded == Some(window.index) {
        return;
    }
    let Ok(mut existing) = server.tmux_sessions() else { return };
    for session in existing.iter_mut().filter(|session| session.id == window.session) {
        session.windows.retain(|index| *index != window.index);
    }
    // If the window is in another tmux session, the user has moved it.
    let wanted = position(remaining, &existing).filter(|wanted| wanted.session_id.as_ref() == Some(&window.session));
    if let Some(index) = wanted.and_then(|wanted| wanted.index).filter(|index| *index != window.index) {
        // The session runs where it is, too. If the pane has just ended, the wait reports that.
        let _ = server.move_window(window, index);
    }
}

/// Waits until the client of a session waits for a prompt or for an answer, and its first hook has run.
fn wait(
    env: &Env,
    store: &Store,
    place: &SessionPlace,
    server: &Server,
    pane: &str,
    began: Instant,
) -> Result<OpenResult> {
    let client_env = reopen::client_env(env, place);
    let mut ready = None;
    loop {
        let records = running_clients(&client_env);
        let record = records.iter().find(|record| record.session == place.session);
        if let Some(record) = record.filter(|record| record.status == ClientStatus::Waiting) {
            return Ok(OpenResult::Waits(record.waiting_for.clone().unwrap_or_else(|| "a dialog".to_owned())));
        }
        if let Some(failure) = failure(server, pane)? {
            return Ok(OpenResult::Failed(failure));
        }
        let known = store.agent(&place.session)?.and_then(|agent| agent.pane);
        let is_reported = known.is_some_and(|known| known.id == pane && known.socket == server.socket);
        ready = ready.or_else(|| record.map(|_| Instant::now()));
        // Codex has no record of its own: its hook says that it is ready.
        let is_ready = ready.is_some() || place.client != "claude";
        if is_ready
            && (is_reported || ready.is_some_and(|ready| ready.elapsed() >= waiting_times::FIRST_HOOK_OF_CLIENT))
        {
            return Ok(OpenResult::Idle(began.elapsed()));
        }
        if began.elapsed() >= waiting_times::REOPENED_CLIENT {
            return Ok(OpenResult::Slow(waiting_times::REOPENED_CLIENT));
        }
        thread::sleep(PAUSE);
    }
}

/// Returns the last line of a client that has ended, after closing its window; `None` while it runs.
fn failure(server: &Server, pane: &str) -> Result<Option<String>> {
    Ok(match server.pane_state(pane)? {
        PaneState::Runs => None,
        PaneState::Gone => Some(ENDED.to_owned()),
        PaneState::Ended(text) => {
            server.close_pane(pane)?;
            let last = text.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with("Pane is dead"));
            Some(last.unwrap_or(ENDED).trim().to_owned())
        }
    })
}
