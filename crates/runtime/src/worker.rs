//! The optional worker, from outside: whether it runs, where, and how it is started and ended.
//!
//! It holds a lock for as long as it lives, so that there is never a second one, and a file that a killed one has left
//! behind deceives nobody.

mod for_model;
mod model_pause;
pub mod ticket;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

use fs2::FileExt;
use longhaul_core::{Env, Platform};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

pub use self::for_model::{FOR_MODEL, start_for_model};
pub use self::model_pause::ModelPause;
use crate::waiting_times::{WORKER_LOCK, WORKER_START_OR_STOP};
use crate::{Error, Home, bounded_read, files, process};

/// The executable.
const EXECUTABLE: &str = "longhaul-worker";

const PAUSE: Duration = Duration::from_millis(10);

/// `worker.json`: where the worker listens, and what it wants to hear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFile {
    /// Its process.
    pub pid: u32,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// Who knows this may ask.
    pub token: String,
    /// When it started, in milliseconds.
    pub started: u64,
    /// Whether a hook has started it, for a model: it ends when that has nothing left to do.
    #[serde(default)]
    pub for_model: bool,
}

impl WorkerFile {
    /// Returns the address that opens the page.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }

    /// Returns who has started it: `user` or `hook`.
    pub fn started_by(&self) -> &'static str {
        if self.for_model { "hook" } else { "user" }
    }

    /// Asks the worker for a path; returns the body of its answer, `None` where there is none within `limit`.
    pub fn ask(&self, path: &str, limit: Duration) -> Option<String> {
        self.request("GET", path, limit)
    }

    /// Lets the worker stay although a model has nothing to do; returns whether it does.
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

/// The right to be the worker, held until it is dropped.
#[derive(Debug)]
pub struct Claim {
    home: Home,
    lock: File,
}

impl Claim {
    /// Takes the right; `None` where another worker has it.
    pub fn take(home: &Home) -> Result<Option<Self>, Error> {
        let path = home.worker_lock();
        let lock = files::open_append(&path)?;
        let end = Instant::now() + WORKER_LOCK;
        loop {
            match lock.try_lock_exclusive() {
                Ok(()) => return Ok(Some(Self { home: home.clone(), lock })),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Err(Error::Write { path, source: error });
                }
                Err(_) if Instant::now() < end => std::thread::sleep(PAUSE),
                Err(_) => return Ok(None),
            }
        }
    }

    /// Takes the right for a worker of the user's own: one that a hook has started is ended. `None` where the user has another.
    pub fn take_for_user(home: &Home) -> Result<Option<Self>, Error> {
        let end = Instant::now() + WORKER_START_OR_STOP;
        loop {
            if let Some(claim) = Self::take(home)? {
                return Ok(Some(claim));
            }
            match running(home) {
                Some(worker) if worker.for_model => drop(stop(home)?),
                // One that has just been started does not say yet where it is, and one that ends does not say so any more.
                None if Instant::now() < end => {}
                Some(_) | None => return Ok(None),
            }
        }
    }

    /// Tells everybody who may know where the worker is.
    pub fn publish(&self, worker: &WorkerFile) -> Result<(), Error> {
        files::replace(&self.home.worker_file(), &serde_json::to_vec(worker).unwrap_or_default())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The file first: whoever finds the lock free must not find the file of one that is gone.
        let _ = fs::remove_file(self.home.worker_file());
        let _ = FileExt::unlock(&self.lock);
    }
}

/// Returns 256 random bits.
pub fn new_token() -> Result<String, Error> {
    Ok(files::random::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the worker that runs, if one does.
pub fn running(home: &Home) -> Option<WorkerFile> {
    if !is_held(home) {
        return None;
    }
    serde_json::from_slice(&bounded_read::bytes(&home.worker_file(), bounded_read::SMALL).ok()?).ok()
}

fn is_held(home: &Home) -> bool {
    // The lock goes with the file.
    bounded_read::open(&home.worker_lock()).is_ok_and(|lock| FileExt::try_lock_shared(&lock).is_err())
}

/// Starts the worker where none runs, and waits until it answers. One that a hook has started stays from then on.
pub fn start(home: &Home) -> Result<WorkerFile, Error> {
    let mut started: Option<Child> = None;
    let end = Instant::now() + WORKER_START_OR_STOP;
    while Instant::now() < end {
        // One that came second leaves the place to the first.
        let has_ended = started.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|ended| ended.is_some()));
        match (running(home), &started) {
            (Some(worker), _)
                if worker.ask("/api/health", WORKER_START_OR_STOP).is_some() && worker.keep(WORKER_START_OR_STOP) =>
            {
                return Ok(worker);
            }
            (None, None) if !is_held(home) => {
                started = Some(process::spawn_sibling(EXECUTABLE, &["--detached".to_owned()])?);
            }
            (None, Some(_)) if has_ended && !is_held(home) => {
                let mend = "`longhaul worker run` says why";
                return Err(Error::EndedEarly { program: EXECUTABLE.to_owned(), mend });
            }
            (Some(_) | None, _) => {}
        }
        std::thread::sleep(PAUSE);
    }
    Err(Error::TimedOut { program: EXECUTABLE.to_owned(), ms: WORKER_START_OR_STOP.as_millis() as u64 })
}

/// Becomes the worker; returns only where that fails.
pub fn become_worker() -> Error {
    process::become_sibling(EXECUTABLE, &[])
}

/// Leaves the session of whoever started this process.
pub fn detach() {
    process::leave_session();
}

/// Ends the worker and waits until it has ended; returns whether one ran.
pub fn stop(home: &Home) -> Result<bool, Error> {
    let Some(worker) = running(home) else { return Ok(false) };
    if let Some(pid) = Pid::from_raw(worker.pid as i32) {
        // One that has just ended by itself is what was wanted.
        let _ = kill_process(pid, Signal::TERM);
    }
    let end = Instant::now() + WORKER_START_OR_STOP;
    while Instant::now() < end {
        if running(home).is_none_or(|now| now.pid != worker.pid) {
            return Ok(true);
        }
        std::thread::sleep(PAUSE);
    }
    Err(Error::TimedOut { program: EXECUTABLE.to_owned(), ms: WORKER_START_OR_STOP.as_millis() as u64 })
}

/// Opens the page of a running worker in the user's browser.
pub fn open_browser(env: &Env, home: &Home, worker: &WorkerFile) -> Result<(), Error> {
    let program = if env.platform == Platform::MacOs { "open" } else { "xdg-open" };
    let entrance = ticket::issue(home, worker, env.now)?;
    process::spawn_detached(program, &[&entrance.to_string_lossy()])
}
