//! `longhaul run-snapshot`: the detached process that takes a snapshot for a hook, and its priority. That of a prompt stays until the
//! turn ends, and takes the snapshots in between and at the end.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use longhaul_activity_log::{LogLine, MAX_TAIL, TailStart, measure, meets_any_threshold};
use longhaul_core::{Config, Env, Millis, SessionId};
use longhaul_runtime::{
    ErrorLog, Home, SessionRecord, bounded_read, files, is_same_process, leave_session, start_ticks, waiting_times,
};
use longhaul_store::{Snapshot, SnapshotKind, Store};

use crate::left_out::{Limits, MAX_FILE, MAX_FILES, MAX_NEW_BYTES};
use crate::place::{LOCK_PATIENCE, Place, remove};
use crate::take::{Event, describe, take_locked};
use crate::{Error, Skip, journal, upkeep};

/// The most time for taking a snapshot. The first one of a large work tree reads every file, perhaps while the machine
/// is busy.
const TAKE_SNAPSHOT: Duration = Duration::from_secs(300);

/// Interval at which the lock is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// After this time, a request is not served any more: the files are those of a later time.
const IN_TIME: Duration = Duration::from_secs(120);

/// The priority: low, so that a snapshot yields to what the user runs, but not the lowest. That one gets almost no time while
/// a build runs: a snapshot of a prompt then took minutes, and held what the model had done meanwhile. The priority for the
/// disk follows from it.
const PRIORITY: i32 = 10;

/// Runs with the arguments of a hook: session, kind, time, prompt id or nothing, and `pinned`, `private` or `-`.
///
/// `folder` is the current folder.
///
/// No process reads its output, so errors are written to the error log.
pub fn run(env: &Env, args: &[String], folder: Option<PathBuf>) -> ExitCode {
    leave_session();
    let _ = rustix::process::setpriority_process(None, PRIORITY);
    let log = ErrorLog::new(env, "snapshot");
    let [session, kind, at, prompt_id, mark] = args else {
        log.write("usage: longhaul run-snapshot SESSION KIND MILLISECONDS PROMPT-ID pinned|private|-");
        return ExitCode::from(2);
    };
    let (Some(folder), Some(kind), Ok(created_at)) = (folder, SnapshotKind::from_name(kind), at.parse()) else {
        log.write("wrong arguments for longhaul run-snapshot");
        return ExitCode::from(2);
    };
    let event = Event {
        session: session.clone(),
        created_at,
        kind,
        prompt_id: Some(prompt_id.clone()).filter(|id| !id.is_empty()),
        is_pinned: mark == "pinned",
        is_private: mark == "private",
    };
    // Before the snapshot, which may take long.
    let client = Client::of(env, session).filter(|_| kind == SnapshotKind::Prompt);
    let served = serve_event(env, &event, &folder, &log).and_then(|place| match place {
        Some(place) if kind == SnapshotKind::Prompt => watch(env, &event, &place, client, &log),
        Some(_) | None => Ok(()),
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log.write(&format!("session {session}: {}", error.chain()));
            ExitCode::FAILURE
        }
    }
}

/// Takes the snapshot of an event; returns the work tree, if snapshots are taken of it.
fn serve_event(env: &Env, event: &Event, folder: &Path, log: &ErrorLog) -> Result<Option<Place>, Error> {
    let home = Home::of(env)?;
    let (config, _) = longhaul_runtime::config(env)?;
    let place = match Place::find(env, &home, folder) {
        Ok(place) => place,
        Err(error) => {
            // The list says why there is no snapshot, for example because there is no git.
            let store = home.store(waiting_times::DATABASE)?;
            let mut snapshot = Snapshot::new(&event.session, event.created_at, event.kind);
            snapshot.prompt_id.clone_from(&event.prompt_id);
            snapshot.work_tree = Some(folder.to_string_lossy().into_owned());
            note(&store, snapshot, &error.chain())?;
            return if matches!(error, Error::Skipped(_)) { Ok(None) } else { Err(error) };
        }
    };
    request(&place, event)?;
    serve(env, &home, &config, &place, log)?;
    Ok(Some(place))
}

// The rest of the turn. Blame needs its end, to tell what the turn has changed from what a person changes afterwards, and in a long
// turn the states between. No hook does it: the process that took the snapshot of the prompt reads the session's log.

/// Interval at which the log is read: short in the first minute, when most turns end.
const WATCH: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(1_000)];

/// How long the first interval is used.
const WATCH_CLOSELY: Duration = Duration::from_secs(60);

/// After this time without a new line in the log, the turn counts as abandoned.
const WATCH_QUIET: Duration = Duration::from_secs(2 * 60 * 60);

/// The process of the client that runs a turn.
struct Client {
    pid: u32,
    started: Option<String>,
}

impl Client {
    /// Returns the client of a session; `None` if it is not known to run.
    fn of(env: &Env, session: &str) -> Option<Self> {
        let id = SessionId::new(session)?;
        let recorded = || SessionRecord::load(&Home::of(env).ok()?, &id)?.client_pid;
        // Another agent may have been started by Claude Code, whose variable it then has.
        let own = env.client_pid.filter(|_| id.client() == "claude");
        let pid = own.or_else(recorded).filter(|pid| is_same_process(*pid, None))?;
        Some(Self { pid, started: start_ticks(pid) })
    }

    fn has_ended(&self) -> bool {
        !is_same_process(self.pid, self.started.as_deref())
    }
}

/// Takes snapshots while the turn of a prompt runs, by the thresholds of a bookmark, and one at its end, or when its client has ended.
fn watch(env: &Env, prompt: &Event, place: &Place, client: Option<Client>, log: &ErrorLog) -> Result<(), Error> {
    let home = Home::of(env)?;
    let (config, _) = longhaul_runtime::config(env)?;
    let Some(session) = SessionId::new(&prompt.session) else { return Ok(()) };
    let take = |kind, created_at| {
        request(
            place,
            &Event { prompt_id: prompt.prompt_id.clone(), ..Event::new(&*prompt.session, created_at, kind) },
        )?;
        // The process that takes a snapshot meanwhile serves this request only if this process still runs.
        let asked = Instant::now();
        let is_own = |path: &PathBuf| path.to_string_lossy().ends_with(&request_suffix());
        loop {
            serve(env, &home, &config, place, log)?;
            if asked.elapsed() >= IN_TIME || !waiting(place).iter().any(is_own) {
                return Ok(());
            }
        }
    };
    let path = home.session_file(&session, "log");
    let mut read = LogReader::from_end(&path);
    let mut window: Vec<u8> = Vec::new();
    let mut last_taken = prompt.created_at;
    let (mut has_begun, mut is_due) = (false, false);
    let (began, mut newest) = (Instant::now(), Instant::now());
    while newest.elapsed() < WATCH_QUIET && path.is_file() && place.tree.top.is_dir() {
        // Asked first: the client's last hook has written its line before the client ends.
        let is_killed = client.as_ref().is_some_and(Client::has_ended);
        for line in read.lines() {
            newest = Instant::now();
            let Some(parsed) = LogLine::parse(&line) else { continue };
            if !has_begun {
                // The hook has written this line before it started this process.
                has_begun = matches!(parsed, LogLine::Prompt { at } if at.0 == prompt.created_at);
                continue;
            }
            match parsed {
                // The process of the next prompt goes on.
                LogLine::Prompt { .. } => return Ok(()),
                LogLine::Status { at, status } if !status.is_running() => {
                    return take(SnapshotKind::End, at.0);
                }
                // A bookmark has a snapshot of its own.
                LogLine::Bookmark { at } => {
                    window.clear();
                    last_taken = last_taken.max(at.0);
                }
                LogLine::Tool { .. } | LogLine::Agent { .. } => window.extend(line.iter().chain(b"\n")),
                // A bookmark does not count the calls of a subagent, but what they change is to be seen before all of them return.
                LogLine::Call { at, .. } => {
                    window.extend(format!("{}\n", LogLine::Tool { at, chars: 0, mark: None }).bytes());
                }
                LogLine::Loop { .. }
                | LogLine::Injection { .. }
                | LogLine::GivenUp { .. }
                | LogLine::Compaction { .. }
                | LogLine::Turn { .. }
                | LogLine::Status { .. } => {}
            }
        }
        if !has_begun {
            // No log is written of this session's prompts.
            return Ok(());
        }
        if is_killed {
            return take(SnapshotKind::End, longhaul_runtime::env().now.0);
        }
        let metrics = measure(&window, TailStart::LogStart);
        let thresholds = &config.bookmarks.thresholds;
        let newest_work = metrics.last_activity.map_or(0, |at| at.0);
        let was_due = is_due;
        is_due = meets_any_threshold(&metrics, thresholds).is_some()
            && newest_work.saturating_sub(last_taken) >= thresholds.cooldown_seconds.as_millis();
        // Not at once: the hook that has just logged a call may be setting a bookmark, which has a snapshot of its own.
        if is_due && was_due {
            take(SnapshotKind::Work, newest_work)?;
            window.clear();
            last_taken = newest_work;
            is_due = false;
        }
        std::thread::sleep(if began.elapsed() < WATCH_CLOSELY { WATCH[0] } else { WATCH[1] });
    }
    Ok(())
}

/// Reads the lines that are added to a log.
struct LogReader<'a> {
    path: &'a Path,
    /// The next byte to read.
    at: u64,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
}

impl<'a> LogReader<'a> {
    /// Begins so near to the end of the log that what was written since the start of this process is read.
    fn from_end(path: &'a Path) -> Self {
        let length = std::fs::metadata(path).map_or(0, |found| found.len());
        Self { path, at: length.saturating_sub(MAX_TAIL as u64), rest: Vec::new() }
    }

    fn lines(&mut self) -> Vec<Vec<u8>> {
        let Ok(file) = bounded_read::open(self.path) else { return Vec::new() };
        let mut buffer = vec![0; MAX_TAIL];
        let count = file.read_at(&mut buffer, self.at).unwrap_or_default();
        self.at += count as u64;
        self.rest.extend_from_slice(&buffer[..count]);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
    }
}

/// Takes a snapshot for all waiting requests, unless another process does. Repeats that while requests arrive.
pub fn serve(env: &Env, home: &Home, config: &Config, place: &Place, log: &ErrorLog) -> Result<(), Error> {
    // A request that arrives while the lock is held is seen by the check after its release.
    let started = Instant::now();
    while !waiting(place).is_empty() {
        let Some(lock) = place.try_lock()? else {
            // A process that takes a snapshot also serves this request. After one that was killed, its git may hold the
            // lock for a moment and serves nothing.
            if started.elapsed() >= LOCK_PATIENCE {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
            continue;
        };
        let requests = waiting(place);
        let (late, in_time) = events_of(&requests);
        if !late.is_empty() || !in_time.is_empty() {
            let store = home.store(waiting_times::DATABASE)?;
            if !in_time.is_empty() {
                serve_all(env, place, &store, &limits(config), &in_time, log)?;
            }
            for event in &late {
                note(&store, describe(place, event), &Skip::Late.to_string())?;
            }
        }
        // Only now: a process that is killed before leaves its requests to the next one.
        for request in requests {
            remove(&request)?;
        }
        upkeep::pack_if_many(place);
        drop(lock);
    }
    Ok(())
}

fn serve_all(
    env: &Env,
    place: &Place,
    store: &Store,
    limits: &Limits,
    events: &[Event],
    log: &ErrorLog,
) -> Result<(), Error> {
    let skip = if journal::exists(&place.dir) {
        Error::Unfinished
    } else {
        match take_locked(env, place, store, limits, events, TAKE_SNAPSHOT) {
            Ok(_) => {
                upkeep::clear_failure(place);
                return Ok(());
            }
            Err(Error::Runtime(longhaul_runtime::Error::TimedOut { .. })) => Error::TooSlow(TAKE_SNAPSHOT.as_secs()),
            Err(error) => error,
        }
    };
    // What failed now may work for the next event, so that the requests are not kept. The list says why there is none.
    for event in events {
        let mut snapshot = describe(place, event);
        match &skip {
            Error::Skipped(skip) => note(store, snapshot, &skip.to_string())?,
            error => {
                snapshot.skipped = Some(error.chain());
                store.add_snapshot(&snapshot)?;
            }
        }
    }
    let is_failure = match &skip {
        Error::Skipped(skip) => skip.is_failure(),
        error => !matches!(error, Error::Unfinished),
    };
    if is_failure {
        upkeep::record_failure(place, &skip);
        log.write(&format!("{}: {}", place.tree.top.display(), skip.chain()));
    }
    Ok(())
}

/// Stores why there is no snapshot: for every bookmark, and otherwise once for each reason in a row.
fn note(store: &Store, mut snapshot: Snapshot, why: &str) -> Result<(), Error> {
    if snapshot.kind != SnapshotKind::Bookmark {
        let last = store.newest_snapshot(&snapshot.session)?;
        if last.is_some_and(|last| last.skipped.as_deref() == Some(why)) {
            return Ok(());
        }
    }
    snapshot.skipped = Some(why.to_owned());
    store.add_snapshot(&snapshot)?;
    Ok(())
}

pub fn limits(config: &Config) -> Limits {
    let mut limits = Limits::new(MAX_FILE, MAX_NEW_BYTES, MAX_FILES);
    limits.exclude = config.snapshots.exclude.0.clone();
    limits
}

/// Leaves a request in a file of its own, so that requests of several processes do not mix.
fn request(place: &Place, event: &Event) -> Result<(), Error> {
    let json = serde_json::to_vec(event).map_err(|_| Error::Output)?;
    let name = format!("{}{}", event.created_at, request_suffix());
    let file = place.dir.join("requests").join(name);
    match files::replace(&file, &json) {
        // Upkeep has just removed the store, which had no snapshot yet.
        Err(longhaul_runtime::Error::Write { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(files::replace(&file, &json)?)
        }
        written => Ok(written?),
    }
}

/// Returns how the names of the requests of this process end.
fn request_suffix() -> String {
    format!("-{}.json", std::process::id())
}

/// Reads requests. Returns the events that are too late for a snapshot, and the others.
fn events_of(requests: &[PathBuf]) -> (Vec<Event>, Vec<Event>) {
    let (own, now) = (request_suffix(), longhaul_runtime::env().now);
    let (mut late, mut in_time) = (Vec::new(), Vec::new());
    for path in requests {
        let text = bounded_read::text(path, bounded_read::SMALL).ok();
        let Some(event) = text.and_then(|text| serde_json::from_str::<Event>(&text).ok()) else { continue };
        let is_own = path.to_string_lossy().ends_with(&own);
        let is_late = !is_own && (is_late(path, &event, now) || is_left(path, &event));
        let events = if is_late { &mut late } else { &mut in_time };
        events.push(event);
    }
    (late, in_time)
}

/// Returns whether a request is so old that a snapshot would hold the files of a later time. The process that has made it was
/// killed, or another one has taken a snapshot for very long.
fn is_late(path: &Path, event: &Event, now: Millis) -> bool {
    let age = std::fs::metadata(path).and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
    let limit = IN_TIME.as_millis() as u64;
    now.0.saturating_sub(event.created_at) > limit || age.is_some_and(|age| age > IN_TIME)
}

/// Returns whether a request is that of a process that was killed, for the work of a turn: what is in the files now may come from
/// something else, after the turn.
fn is_left(path: &Path, event: &Event) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let pid = name.rsplit_once('-').and_then(|(_, pid)| pid.parse().ok());
    matches!(event.kind, SnapshotKind::Work | SnapshotKind::End) && !pid.is_some_and(|pid| is_same_process(pid, None))
}

fn waiting(place: &Place) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.dir.join("requests")).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}
