//! The search process: it keeps the database and the model of a large memory open, and searches for the prompts of all
//! sessions.
//!
//! A hook that searches by itself opens both for every prompt, which takes longer than the search. The process is optional:
//! if it does not run, or does not answer in time, the hook searches. It only reads the database and listens on a socket in
//! the data folder. It ends after half an hour without a prompt, and within seconds if its executable is replaced, its socket
//! is removed, or a setting switches it off.

mod ask;
mod messages;
mod serve;

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use longhaul_core::{Config, Env};
use longhaul_store::Store;
use rustix::net::SocketAddrUnix;
use sha2::{Digest, Sha256};

pub(crate) use self::ask::{PendingSearch, ask, listens};
pub use self::serve::serve;
use crate::{Error, Home, process, waiting_times};

/// Returns whether the settings allow a search process.
pub(crate) fn is_wanted(config: &Config) -> bool {
    let memory = &config.memory;
    memory.enabled && memory.recall_on_prompt && memory.search_process_records.0 > 0
}

/// Starts the search process in the background if the memory is large enough for it. If one runs, the new one ends at once.
pub(crate) fn start_if_large(env: &Env, home: &Home, config: &Config, store: &Store) -> Result<(), Error> {
    let Some(own) = ProcessFiles::of(env, home) else { return Ok(()) };
    // A long path is not possible for a socket.
    let can_listen = SocketAddrUnix::new(own.socket()).is_ok() && !own.has_failed();
    let is_large = || store.newest_numbers().is_ok_and(|records| records >= config.memory.search_process_records.0);
    if can_listen && is_large() {
        process::spawn_apart("longhaul", &["memory", "search-process"], Stdio::null(), home.dir())?;
    }
    Ok(())
}

/// The files of one search process. Sessions have the same one if they have the same executables and settings.
#[derive(Debug, Clone)]
struct ProcessFiles {
    home: Home,
    name: String,
}

impl ProcessFiles {
    /// Returns the files for this process; `None` if its executable is not known.
    fn of(env: &Env, home: &Home) -> Option<Self> {
        let executable = std::env::current_exe().ok()?;
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        for path in [executable.parent(), env.home_dir.as_deref(), env.config_path.as_deref()] {
            hash.update([0]);
            hash.update(path.map_or(&[][..], |path| path.as_os_str().as_encoded_bytes()));
        }
        let hash = hash.finalize();
        let name = format!("search-process-{:02x}{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2], hash[3]);
        Some(Self { home: home.clone(), name })
    }

    fn socket(&self) -> PathBuf {
        self.home.dir().join(format!("{}.sock", self.name))
    }

    /// Returns the file that the process keeps locked.
    fn lock(&self) -> PathBuf {
        self.home.locks().join(&self.name)
    }

    /// Returns the file whose time says when a process could not listen.
    fn failure(&self) -> PathBuf {
        self.home.locks().join(format!("{}.failed", self.name))
    }

    /// Returns whether a process could not listen a short time ago.
    fn has_failed(&self) -> bool {
        let failed = fs::metadata(self.failure()).and_then(|file| file.modified());
        // A time in the future, by a clock that was set back, does not count.
        failed.is_ok_and(|failed| failed.elapsed().is_ok_and(|since| since < waiting_times::SEARCH_PROCESS_AGAIN))
    }
}
