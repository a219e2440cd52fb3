//! The optional worker as seen by other processes: whether it runs, its address, and how to start and stop it.
//!
//! It holds a lock while it runs, so that there is never a second one, and so that a file of a killed worker is not
//! taken for that of a running one.

pub mod ticket;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::process::Child;
use std::time::{Duration, Instant};

use fs2::FileExt;
use longhaul_core::{Env, Millis, Platform};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::{Error, Home, bounded_read, files, process};

/// How long to wait for the worker's lock. A process that only checks whether a worker runs holds it for less.
const WORKER_LOCK: Duration = Duration::from_millis(300);

/// How long to wait for the worker's start, until it answers, and its end. A loaded machine takes seconds for either.
const WORKER_START_OR_STOP: Duration = Duration::from_secs(10);

pub const COMMAND: &str = "run-worker";

/// What messages call it.
const NAME: &str = "the worker";

const PAUSE: Duration = Duration::from_millis(10);

/// `worker.json`: the address of the worker, and the token for requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFile {
    /// The process id.
    pub pid: u32,
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The token that a request must contain.
    pub token: String,
    /// The start time, in milliseconds since the Unix epoch.
    pub started: u64,
    /// Whether a hook started it for a model. It then ends when there is nothing left to do.
    pub for_model: bool,
}

impl WorkerFile {
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }

    /// Returns what started it: `user` or `hook`.
    pub fn started_by(&self) -> &'static str {
        if self.for_model { "hook" } else { "user" }
    }

    /// Sends a GET request. Returns the body of the answer; `None` if there is no answer with status 200 within
    /// `limit`.
    pub fn ask(&self, path: &str, limit: Duration) -> Option<String> {
        self.request("GET", path, limit)
    }

    /// Asks a worker that a hook started to keep running. Returns whether it does.
    fn keep(&self, limit: Duration) -> bool {
        !self.for_model || self.request("POST", "/api/keep", limit).is_some()
    }

    fn request(&self, method: &str, path: &str, limit: Duration) -> Option<String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut stream = TcpStream::connect_timeout(&address, limit).ok()?;
        stream.set_read_timeout(Some(limit)).ok()?;
        let (port, token) = (self.port, &self.token);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
    }
}

/// The permission to be the worker, held until it is dropped.
#[derive(Debug)]
pub struct Claim {
    home: Home,
    lock: File,
}

impl Claim {
    /// Takes the permission; `None` if another worker has it.
    pub fn take(home: &Home) -> Result<Option<Self>, Error> {
        let path = home.worker_lock();
        let lock = files::open_append(&path)?;
        match files::lock_within(&lock, WORKER_LOCK, PAUSE) {
            Ok(()) => Ok(Some(Self { home: home.clone(), lock })),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(source) => Err(Error::Write { path, source }),
        }
    }

    /// Takes the permission for a worker that the user starts. A worker that a hook started is stopped; `None` if the
    /// user has started another one.
    pub fn take_for_user(home: &Home) -> Result<Option<Self>, Error> {
        let end = Instant::now() + WORKER_START_OR_STOP;
        loop {
            if let Some(claim) = Self::take(home)? {
                return Ok(Some(claim));
            }
            match running(home) {
                Some(worker) if worker.for_model => drop(stop(home)?),
                // A worker that has just started has not written its file yet, and one that is ending has removed it.
                None if Instant::now() < end => {}
                Some(_) | None => return Ok(None),
            }
        }
    }

    /// Writes the file with the worker's address.
    pub fn publish(&self, worker: &WorkerFile) -> Result<(), Error> {
        files::replace(&self.home.worker_file(), &serde_json::to_vec(worker).unwrap_or_default())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The file is removed first, so that a process that gets the lock does not find an outdated file.
        let _ = fs::remove_file(self.home.worker_file());
        let _ = FileExt::unlock(&self.lock);
    }
}

/// Returns 256 random bits in hexadecimal.
pub fn new_token() -> Result<String, Error> {
    Ok(files::random::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the running worker, if there is one.
pub fn running(home: &Home) -> Option<WorkerFile> {
    if !is_held(home) {
        return None;
    }
    serde_json::from_slice(&bounded_read::bytes(&home.worker_file(), bounded_read::SMALL).ok()?).ok()
}

fn is_held(home: &Home) -> bool {
    // Closing the file releases the lock.
    bounded_read::open(&home.worker_lock()).is_ok_and(|lock| FileExt::try_lock_shared(&lock).is_err())
}

/// Starts the worker if none runs, and waits until it answers. A worker that a hook started keeps running from then on.
pub fn start(home: &Home) -> Result<WorkerFile, Error> {
    let mut started: Option<Child> = None;
    let end = Instant::now() + WORKER_START_OR_STOP;
    while Instant::now() < end {
        // If two start at once, the second one ends.
        let has_ended = started.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|ended| ended.is_some()));
        match (running(home), &started) {
            (Some(worker), _)
                if worker.ask("/api/health", WORKER_START_OR_STOP).is_some() && worker.keep(WORKER_START_OR_STOP) =>
            {
                return Ok(worker);
            }
            (None, None) if !is_held(home) => {
                started = Some(process::spawn_own(COMMAND, &["--detached".to_owned()])?);
            }
            (None, Some(_)) if has_ended && !is_held(home) => {
                let advice = "`longhaul worker run` shows the reason";
                return Err(Error::EndedEarly { program: NAME.to_owned(), advice });
            }
            (Some(_) | None, _) => {}
        }
        std::thread::sleep(PAUSE);
    }
    Err(Error::TimedOut { program: NAME.to_owned(), ms: WORKER_START_OR_STOP.as_millis() as u64 })
}

/// Leaves the session of the process that started this one.
pub fn detach() {
    process::leave_session();
}

/// Stops the worker and waits until it has ended. Returns whether one was running.
pub fn stop(home: &Home) -> Result<bool, Error> {
    let Some(worker) = running(home) else { return Ok(false) };
    if let Some(pid) = Pid::from_raw(worker.pid as i32) {
        // An error means that it has just ended.
        let _ = kill_process(pid, Signal::TERM);
    }
    let end = Instant::now() + WORKER_START_OR_STOP;
    while Instant::now() < end {
        if running(home).is_none_or(|now| now.pid != worker.pid) {
            return Ok(true);
        }
        std::thread::sleep(PAUSE);
    }
    Err(Error::TimedOut { program: NAME.to_owned(), ms: WORKER_START_OR_STOP.as_millis() as u64 })
}

/// Opens the page of a running worker in the user's browser.
pub fn open_browser(env: &Env, home: &Home, worker: &WorkerFile) -> Result<(), Error> {
    let program = if env.platform == Platform::MacOs { "open" } else { "xdg-open" };
    let entrance = ticket::issue(home, worker, env.now)?;
    process::spawn_detached(program, &[&entrance.to_string_lossy()])
}

// Starts the worker from a hook, so that a model writes summaries of what the hook has stored.

/// The argument of a worker that a hook has started.
pub const FOR_MODEL: &str = "--for-model";

/// Starts the worker in the background, unless one runs or it is paused after a failure. Returns whether it was
/// started.
///
/// The hook takes the worker's lock and passes it on as the worker's standard input. Thus only one of any number of
/// concurrent hooks starts a worker, and the lock is never free in between.
pub fn start_for_model(home: &Home, now: Millis) -> Result<bool, Error> {
    if ModelPause::in_force(home, now).is_some() {
        return Ok(false);
    }
    let Some(lock) = files::try_lock(&home.worker_lock())? else { return Ok(false) };
    process::spawn_apart(COMMAND, &["--detached", FOR_MODEL], lock, home.dir())?;
    Ok(true)
}

impl Claim {
    /// Takes the permission over from the hook that started this process; `None` if another worker has it.
    pub fn take_over(home: &Home) -> Result<Option<Self>, Error> {
        match handed_over(home) {
            Ok(Some(lock)) => Ok(Some(Self { home: home.clone(), lock })),
            // The user started it with this argument.
            Ok(None) | Err(_) => Self::take(home),
        }
    }
}

/// Returns standard input if it is the locked file of the worker.
fn handed_over(home: &Home) -> io::Result<Option<File>> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (given, own) = (file.metadata()?, fs::metadata(home.worker_lock())?);
    let is_own = (given.dev(), given.ino()) == (own.dev(), own.ino());
    Ok((is_own && file.try_lock_exclusive().is_ok()).then_some(file))
}

// The time until which hooks do not start the worker for a model again.
//
// A model that does not answer must not cost a process at every turn. The end of the pause and the number of failures
// in a row are stored in a file, so that a hook can read them without opening the database.

/// Maximum length of a pause. A longer one comes from a clock that was ahead, and is ignored.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

/// `worker-pause.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPause {
    /// The end of the pause, in milliseconds since the Unix epoch.
    pub until: u64,
    /// Number of failures in a row.
    pub failures: u32,
    pub reason: String,
}

impl ModelPause {
    /// Returns the last pause, even if it is over.
    pub fn read(home: &Home) -> Option<Self> {
        serde_json::from_slice(&bounded_read::bytes(&home.worker_pause(), bounded_read::SMALL).ok()?).ok()
    }

    pub fn in_force(home: &Home, now: Millis) -> Option<Self> {
        let is_in_force = |pause: &Self| pause.until > now.0 && pause.until - now.0 <= LONGEST.as_millis() as u64;
        Self::read(home).filter(is_in_force)
    }

    pub fn write(home: &Home, now: Millis, time: Duration, failures: u32, reason: &str) -> Result<(), Error> {
        let until = now.0.saturating_add(time.as_millis() as u64);
        let pause = Self { until, failures, reason: reason.to_owned() };
        files::replace(&home.worker_pause(), &serde_json::to_vec(&pause).unwrap_or_default())
    }

    pub fn clear(home: &Home) {
        // Usually there is none.
        let _ = fs::remove_file(home.worker_pause());
    }
}

// The last failure of the embeddings endpoint, which only the worker calls.
//
// It is stored in a file, so that `longhaul doctor` and `longhaul memory stats` can report it.

/// `worker-embeddings.json`. It is removed when the endpoint answers again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointTrouble {
    /// The time of the failure, in milliseconds since the Unix epoch.
    pub at: u64,
    /// Number of failures in a row.
    pub failures: u32,
    /// The reason. It names only the host of the endpoint.
    pub error: String,
}

impl EndpointTrouble {
    /// Returns the last failure, if the endpoint has not answered since.
    pub fn read(home: &Home) -> Option<Self> {
        serde_json::from_slice(&bounded_read::bytes(&home.endpoint_trouble(), bounded_read::SMALL).ok()?).ok()
    }

    pub fn write(home: &Home, now: Millis, failures: u32, error: &str) -> Result<(), Error> {
        let trouble = Self { at: now.0, failures, error: error.to_owned() };
        files::replace(&home.endpoint_trouble(), &serde_json::to_vec(&trouble).unwrap_or_default())
    }

    /// Records that the endpoint answers.
    pub fn clear(home: &Home) {
        // Usually there is none.
        let _ = fs::remove_file(home.endpoint_trouble());
    }
}
