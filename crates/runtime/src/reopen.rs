//! The facts for reopening sessions: recorded by hooks, compared later with what there is then.

use std::fs::{DirBuilder, File, Metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use longhaul_core::event::predicates::in_subagent;
use longhaul_core::event::{Common, EndReason, HookEvent, SessionEnd, SessionStart};
use longhaul_core::{Env, Millis};
use longhaul_store::Store;
use longhaul_tracker::ClientRecord;
use longhaul_tracker::reopen::{
    Facts, LISTED_MS, LostSessions, MemoryState, ServerId, SessionPlace, chosen, is_lost, model_name, newest_first,
    refusal,
};

use crate::session_file::transcript_place;
use crate::tmux::{Server, server_pid};
use crate::{Error, Flow, Home, Hook, Shell, bounded_read, client_records, context, files, process};

/// Adds the process and the tmux server of the session in which this hook runs.
fn add_process(place: &mut SessionPlace, env: &Env) {
    place.pid = env.client_pid;
    place.pid_started = env.client_pid.and_then(process::start_ticks);
    let pid = server_pid(env);
    place.server = Server::of(env).filter(|_| env.tmux_pane.is_some()).map(|server| ServerId {
        socket: server.socket,
        started: pid.and_then(process::start_ticks),
        pid,
    });
}

/// Adds the folder of a session, without links, and its owner.
fn add_folder(place: &mut SessionPlace, folder: &Path) {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    place.project = real.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned());
    place.folder_owner = real.metadata().ok().map(|folder| folder.uid());
    place.folder = real.to_str().map(str::to_owned);
}

/// Returns the sessions that do not run any more although they did not end, the newest first.
pub fn lost_sessions(env: &Env, store: &Store) -> Result<Vec<SessionPlace>, Error> {
    let mut places = store.session_places()?;
    let mut records: Vec<(PathBuf, Vec<ClientRecord>)> = Vec::new();
    places.retain(|place| {
        let dir = client_env(env, place).client_dir.unwrap_or_default();
        if !records.iter().any(|(known, _)| *known == dir) {
            records.push((dir.clone(), client_records::records(&client_env(env, place))));
        }
        let found = records.iter().find(|(known, _)| *known == dir).map_or(&[][..], |(_, found)| found);
        let shown: Vec<&str> = found.iter().map(|record| record.session.as_str()).collect();
        is_lost(place, process_runs(place), &shown)
    });
    newest_first(&mut places);
    Ok(places)
}

/// Returns the environment of a client with the configuration folder of the session.
pub fn client_env(env: &Env, place: &SessionPlace) -> Env {
    let mut env = env.clone();
    if let Some(dir) = &place.config_dir {
        env.client_dir = Some(PathBuf::from(dir));
    }
    env
}

/// Returns whether the process that was recorded for the session still runs.
pub fn is_running(place: &SessionPlace) -> bool {
    place.pid.is_some() && process_runs(place)
}

/// Returns whether the process that showed the session still runs. If it is not known, its tmux server decides.
fn process_runs(place: &SessionPlace) -> bool {
    match place.pid {
        Some(pid) => process::is_same(pid, place.pid_started.as_deref()),
        None => !is_server_gone(place),
    }
}

/// Returns whether the tmux server of a session has ended. Also true for a session outside tmux.
pub fn is_server_gone(place: &SessionPlace) -> bool {
    place.server.as_ref().is_none_or(|server| match server.pid {
        Some(pid) => !process::is_same(pid, server.started.as_deref()),
        None => !Server::at(&server.socket).answers(),
    })
}

/// Returns how many sessions of the last tmux server can be reopened. Those of a server that still runs are not counted.
pub(crate) fn count(env: &Env, store: &Store) -> Result<usize, Error> {
    let (lost, shell) = (lost_sessions(env, store)?, Shell::read());
    let chosen = chosen(&lost, LostSessions::LastServer);
    Ok(chosen.iter().filter(|place| is_server_gone(place) && refusal(place, &facts(place, &shell)).is_none()).count())
}

pub fn facts(place: &SessionPlace, shell: &Shell) -> Facts {
    let program = match place.client.as_str() {
        "claude" => shell.client(),
        other => shell.find(other).into_iter().next(),
    };
    Facts {
        folder_problem: folder_problem(place),
        has_transcript: place
            .transcript
            .as_ref()
            .and_then(|path| transcript_place(Path::new(path)))
            .is_some_and(|path| bounded_read::open(&path).is_ok()),
        program: program.and_then(|path| path.to_str().map(str::to_owned)),
    }
}

fn folder_problem(place: &SessionPlace) -> Option<String> {
    let gone = || Some("does not exist any more".to_owned());
    let Some(folder) = &place.folder else { return gone() };
    let Ok(real) = Path::new(folder).canonicalize() else { return gone() };
    let Some(metadata) = real.metadata().ok().filter(Metadata::is_dir) else { return gone() };
    if real != Path::new(folder) {
        return Some(format!("is now a link to {}", real.to_string_lossy()));
    }
    let is_owner = place.folder_owner.is_none_or(|owner| owner == metadata.uid());
    (!is_owner).then(|| "now belongs to another user".to_owned())
}

/// Sets the model to the last one that is known: reported by the status line, else that of the last answer, else that of
/// the start.
pub fn add_last_model(place: &mut SessionPlace, store: &Store) -> Result<(), Error> {
    let contexts = store.contexts_for(&place.session)?;
    let own = contexts.into_iter().find(|context| context.session == place.session);
    let answered = || context::newest_usage(place.transcript.as_deref().map(Path::new)).and_then(|usage| usage.model);
    // A message of Claude Code itself names no model.
    let last = own.and_then(|context| context.model).or_else(answered).filter(|model| model_name(model).is_some());
    place.model = last.or(place.model.take());
    Ok(())
}

/// Returns the memory of the machine, as far as the system reports it.
pub fn memory_state() -> MemoryState {
    let read = |path: &str| bounded_read::text(Path::new(path), bounded_read::SMALL).unwrap_or_default();
    let meminfo = read("/proc/meminfo");
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes: Option<u64> = available.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok());
    let pressure = read("/proc/pressure/memory");
    let full = pressure.lines().find_map(|line| line.strip_prefix("full "));
    let stalled = full.and_then(|rest| rest.split(' ').find_map(|field| field.strip_prefix("avg10=")?.parse().ok()));
    MemoryState { available_mb: kilobytes.map(|kilobytes| kilobytes / 1024), stalled_percent: stalled }
}

/// Takes the lock of `longhaul reopen`; `None` if another process has it.
pub fn lock(home: &Home) -> Result<Option<File>, Error> {
    files::try_lock(&home.locks().join("reopen"))
}

/// Creates the folder of tmux's sockets, which is missing after a restart of the machine.
///
/// Only a folder with the name that tmux itself gives it, `tmux-<user id>`, is created, and only for this user. If another
/// user has created it, no command of tmux is started there.
pub fn make_socket_folder(socket: &str) -> Result<(), Error> {
    let Some(folder) = Path::new(socket).parent() else { return Ok(()) };
    let own = format!("tmux-{}", rustix::process::getuid().as_raw());
    if folder.exists() || folder.file_name().is_none_or(|name| name != own.as_str()) {
        return Ok(());
    }
    let made = DirBuilder::new().mode(0o700).create(folder);
    made.map_err(|source| Error::Write { path: folder.to_owned(), source })
}

// Where a session runs, recorded while it is alive, so that it can be reopened after its tmux server has died.

/// Records where the session runs. The tracker then adds its window.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if is_tracked(hook) {
        let mut place = place_of(&hook.env, &hook.event.common);
        place.model = hook.event.model.clone();
        let store = hook.store()?;
        store.note_place(&place)?;
        store.remove_places_before(Millis(hook.env.now.0.saturating_sub(LISTED_MS)))?;
    }
    Ok(Flow::Next)
}

/// Forgets where the session ran, unless it ended only because its tmux server did.
pub fn on_session_end(hook: &mut Hook<SessionEnd>) -> Result<Flow, Error> {
    if !hook.config.tracker.enabled {
        return Ok(Flow::Next);
    }
    // `other` is also the reason for a signal, such as the one that a client gets when its terminal disappears.
    let may_be_signal = matches!(hook.event.reason, EndReason::Other(_));
    let lost_its_server = may_be_signal && Server::of(&hook.env).is_some_and(|server| !server.answers());
    if !lost_its_server {
        hook.store()?.remove_place(hook.event.common.session.as_str())?;
    }
    Ok(Flow::Next)
}

/// Records the permission mode, which can change during a turn, and the place of a session of which no start was reported.
pub fn note_mode<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    let common = hook.event.common();
    if !hook.config.tracker.enabled || in_subagent(common) {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let is_known = store.set_permission_mode(common.session.as_str(), common.permission_mode.as_deref())?;
    if !is_known && is_tracked(hook) {
        store.note_place(&place_of(&hook.env, common))?;
    }
    Ok(Flow::Next)
}

/// Returns whether sessions are tracked, and a person uses this one: a program that runs a session starts it again itself.
fn is_tracked<E: HookEvent<'static>>(hook: &Hook<E>) -> bool {
    hook.config.tracker.enabled && !hook.env.client_pid.is_some_and(|pid| client_records::is_headless(&hook.env, pid))
}

fn place_of(env: &Env, common: &Common) -> SessionPlace {
    let mut place = SessionPlace::new(common.session.as_str(), common.session.client(), env.now.0);
    place.permission_mode = common.permission_mode.clone();
    place.transcript = common.transcript.as_ref().and_then(|path| path.to_str()).map(str::to_owned);
    place.config_dir = env.client_config_dir.as_ref().and_then(|dir| dir.to_str()).map(str::to_owned);
    add_process(&mut place, env);
    // Claude Code finds a conversation only in the folder in which it was started.
    let folder = env.project_dir.as_ref().filter(|_| place.client == "claude").or(common.cwd.as_ref());
    if let Some(folder) = folder {
        add_folder(&mut place, folder);
    }
    place
}
