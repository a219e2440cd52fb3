//! Waiting while others write: in line, one behind the other.
//!
//! SQLite itself looks again after a while, and each time after a longer one: of many at once some wait for seconds,
//! while others who came later are served. Here, whoever finds the database locked gets in line by locking a file
//! beside it, and only the first in line keeps looking.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fs2::FileExt;
use rusqlite::Connection;

/// How long the first in line waits before it looks again.
const PAUSE: Duration = Duration::from_millis(1);

/// How long the first in line stays there while it does not write: it may be waiting to read, and then nobody tells.
const IDLE: Duration = Duration::from_millis(500);

/// How long the first in line stays there after its first write. A hook writes a few times in a few milliseconds, and to
/// get in line for each of them would be to wait for everybody each time.
const STAY: Duration = Duration::from_millis(25);

/// Where somebody was in line for longer than this, many are.
const LONG: Duration = Duration::from_millis(200);

/// A connection's way of waiting.
#[derive(Debug, Clone)]
pub(crate) struct Line(Arc<Mutex<Wait>>);

#[derive(Debug)]
struct Wait {
    lock: PathBuf,
    patience: Duration,
    since: Instant,
    /// How long it has been in line so far.
    waited: Duration,
    place: Option<Place>,
}

/// The first place in line. It is given up when this is dropped, at the latest.
#[derive(Debug)]
struct Place {
    served: Sender<()>,
    keeper: JoinHandle<()>,
}

impl Line {
    /// Makes `connection` wait in the line of the database at `path`, for `patience` at most.
    pub(crate) fn of(connection: &mut Connection, path: &Path, patience: Duration) -> rusqlite::Result<Self> {
        let mut lock = path.as_os_str().to_owned();
        lock.push("-line");
        let wait = Wait { lock: lock.into(), patience, since: Instant::now(), waited: Duration::ZERO, place: None };
        let line = Self(Arc::new(Mutex::new(wait)));
        let (busy, committed, rolled_back) = (line.clone(), line.clone(), line.clone());
        connection.busy_handler(Some(move |looks| busy.wait().once_more(looks)))?;
        connection.commit_hook(Some(move || {
            committed.wait().is_served();
            false
        }))?;
        connection.rollback_hook(Some(move || rolled_back.wait().is_served()))?;
        Ok(line)
    }

    pub(crate) fn set_patience(&self, patience: Duration) {
        self.wait().patience = patience;
    }

    pub(crate) fn is_long(&self) -> bool {
        self.wait().waited > LONG
    }

    fn wait(&self) -> MutexGuard<'_, Wait> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wait {
    /// Returns whether to look once more, when it is time to; `looks` have been in vain before.
    fn once_more(&mut self, looks: i32) -> bool {
        if looks == 0 {
            self.since = Instant::now();
            self.place.take_if(|place| place.keeper.is_finished());
        }
        let left = self.patience.saturating_sub(self.since.elapsed());
        if left.is_zero() {
            self.place = None;
            return false;
        }
        // Not to the end: the first in line may have been stopped, and then the others do without a line.
        let in_line = left.saturating_sub(self.patience / 4);
        if self.place.is_none() && !in_line.is_zero() && self.get_in(in_line) {
            return true;
        }
        thread::sleep(PAUSE.min(left));
        true
    }

    /// Has written, or given up writing.
    fn is_served(&mut self) {
        self.place.take_if(|place| place.served.send(()).is_err());
    }

    /// Gets in line; returns whether the first place was reached within `most`.
    ///
    /// A thread does the waiting, because a file's lock knows no time limit.
    fn get_in(&mut self, most: Duration) -> bool {
        let Ok(file) = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.lock) else { return false };
        let (reached, is_reached) = mpsc::channel();
        let (served, is_served) = mpsc::channel();
        let wait = move || {
            if file.lock_exclusive().is_ok() && reached.send(()).is_ok() && is_served.recv_timeout(IDLE).is_ok() {
                let end = Instant::now() + STAY;
                while is_served.recv_timeout(end.saturating_duration_since(Instant::now())).is_ok() {}
            }
        };
        let Ok(keeper) = thread::Builder::new().spawn(wait) else { return false };
        let began = Instant::now();
        let is_first = is_reached.recv_timeout(most).is_ok();
        self.waited += began.elapsed();
        self.place = is_first.then_some(Place { served, keeper });
        is_first
    }
}
