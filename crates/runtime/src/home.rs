//! Longhaul's data folder.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs2::FileExt;
use longhaul_core::clock::{date_of, time_of};
use longhaul_core::{Config, Env, Millis, SessionId, config};
use longhaul_memory::redact;
use longhaul_store::{Store, StoreError};

use crate::memory::{salvage, upkeep};
use crate::{Error, bounded_read, files, waiting_times};

/// Names of further files and folders in the data folder.
const KNOWN: [&str; 5] = ["config.json", "imported.jsonl", "model", "snapshots", "tmux"];

/// Prefixes of further names in the data folder.
const BEGINNINGS: [&str; 17] = [
    "longhaul.db",
    "longhaul.log",
    "worker.json",
    "worker-ticket.",
    "worker-open.",
    "worker-pause.",
    "worker-embeddings.",
    "search-process-",
    "status.tmp",
    "sync.key",
    "ntfy.token",
    "webhook.token",
    "upkeep.tmp",
    "worker.tmp",
    "trusted-projects.",
    "noticed-projects.",
    ".longhaul-",
];

/// `LONGHAUL_HOME`: the folder in which Longhaul stores all its data.
#[derive(Debug, Clone)]
pub struct Home {
    dir: PathBuf,
}

/// Declares the files and folders in the data folder: a method of [`Home`] for each, its name, and what it is.
macro_rules! data_folder {
    ($($(#[$about:meta])* $method:ident = $name:literal;)*) => {
        const NAMED: &[&str] = &[$($name),*];

        impl Home {
            $(
                $(#[$about])*
                pub fn $method(&self) -> PathBuf {
                    self.dir.join($name)
                }
            )*
        }
    };
}

data_folder! {
    /// Returns the folder of files that belong to one session each.
    sessions = "sessions";
    /// Returns the file whose presence means that the user was told what to try.
    welcomed = "welcomed";
    /// Returns the folder of the handoffs that sessions wrote when their context was full.
    handoffs = "handoffs";
    /// Returns the folder of tool calls that hooks have recorded and that are not in the database yet.
    spool = "spool";
    /// Returns the folder of what all sessions have spent, with a file for each day.
    limits = "limits";
    /// Returns the folder of locks.
    locks = "locks";
    /// Returns the folder of the temporary git folders that are used to compare a work tree with a commit.
    git_views = "git-views";
    /// Returns the folder with what is known about the keys of client processes.
    clients = "clients";
    /// Returns the path of the error log.
    error_log = "longhaul.log";
    /// Returns the file that records why the launchers of the bundle could not be replaced.
    launcher_problem = "launcher-problem";
    /// Returns the file that holds the rendered status string.
    status = "status";
    /// Returns the file with the time of the last upkeep.
    upkeep = "upkeep";
    /// Returns the file that lists the projects whose own configuration the user trusts.
    trusted_projects = "trusted-projects.json";
    /// Returns the file that lists the projects for whose own configuration the user has seen a notice.
    noticed_projects = "noticed-projects.json";
    /// Returns the file with the numbers by which sessions can be named.
    session_numbers = "session-numbers.json";
    /// Returns the file with the address of the worker.
    worker_file = "worker.json";
    /// Returns the file that the worker keeps locked while it runs.
    worker_lock = "worker.lock";
    /// Returns the file with the time until which hooks do not start the worker.
    worker_pause = "worker-pause.json";
    /// Returns the file with the last failure of the embeddings endpoint.
    endpoint_trouble = "worker-embeddings.json";
    /// Returns the file that holds the ticket for opening the worker's page.
    worker_ticket = "worker-ticket.json";
    /// Returns the HTML page that redirects a browser to the worker.
    worker_entrance = "worker-open.html";
    /// Returns the folder with the state of the exchange with other machines.
    sync = "sync";
    /// Returns the path of the database.
    database = "longhaul.db";
    /// Returns the file that has the path of a database that was replaced, until the user has been told.
    replaced_database = "longhaul.db.replaced";
}

impl Home {
    /// Returns the folder that `env` names. It need not exist yet.
    pub fn of(env: &Env) -> Result<Self, Error> {
        env.data_dir.clone().map(|dir| Self { dir }).ok_or(Error::NoDataDir)
    }

    /// Returns the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the file of a session with the given extension.
    pub fn session_file(&self, session: &SessionId, extension: &str) -> PathBuf {
        self.sessions().join(format!("{}.{extension}", session.file_stem()))
    }

    /// Returns the file of the handoff that a session wrote when its context was full.
    pub fn handoff_file(&self, session: &str) -> PathBuf {
        self.handoffs().join(format!("{session}.md"))
    }

    /// Returns the file with what is known about the keys of a client process.
    pub fn client_file(&self, pid: u32) -> PathBuf {
        self.clients().join(format!("{pid}.json"))
    }

    /// Returns the file that holds the options of a tmux server.
    pub fn tmux_options(&self, socket: &str) -> PathBuf {
        self.dir.join("tmux").join(format!("{}.json", longhaul_inject::file_name_of(socket)))
    }

    /// Returns the file that is locked while a process shows something in a tmux server.
    pub fn tmux_display_lock(&self, socket: &str) -> PathBuf {
        self.dir.join("tmux").join(format!("{}.lock", longhaul_inject::file_name_of(socket)))
    }

    /// Returns all files of Longhaul in the folder.
    ///
    /// In a folder with the name `longhaul` these are all files; in any other, only those with a known name.
    pub fn contents(&self) -> Vec<PathBuf> {
        let is_own = self.dir.file_name().is_some_and(|name| name == "longhaul");
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let is_known = |name: &str| {
            NAMED.contains(&name)
                || KNOWN.contains(&name)
                || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        };
        let ours = entries.filter(|entry| is_own || entry.file_name().to_str().is_some_and(is_known));
        ours.map(|entry| entry.path()).collect()
    }

    /// Opens the database with mode 0600. Waits for writes of other processes for at most `patience`.
    ///
    /// A damaged database is renamed, and that is an error. The next call creates a new one. One from before the first release is
    /// renamed too, and a new one is opened.
    pub fn store(&self, patience: Duration) -> Result<Store, Error> {
        let path = self.database();
        // SQLite would create the file with the mode of the umask. The WAL file gets the mode of the database. An existing file
        // must not be opened here: closing it would release the locks of every connection of this process.
        files::create_if_missing(&path)?;
        match Store::open(&path, patience) {
            Err(StoreError::Unreleased { .. }) => {
                self.replace_unreleased()?;
                Store::open(&path, patience)
            }
            opened => opened,
        }
        .map_err(|error| self.judge(error))
    }

    /// Opens the database if it exists.
    pub fn existing_store(&self) -> Result<Option<Store>, Error> {
        self.database().exists().then(|| self.store(waiting_times::DATABASE)).transpose()
    }

    /// Renames the database if the error shows that it is damaged, and returns that as the error.
    pub(crate) fn judge(&self, error: StoreError) -> Error {
        if !error.is_corrupt() {
            return error.into();
        }
        match self.set_aside() {
            Ok(Some(aside)) => Error::Damaged { aside, source: error },
            // Another process has just replaced it.
            Ok(None) => error.into(),
            Err(problem) => problem,
        }
    }

    /// Renames a damaged database and the files that belong to it. Returns `None` if it is no longer damaged.
    ///
    /// If several processes find the damage at the same time, one of them renames the database, and the others check it
    /// again.
    fn set_aside(&self) -> Result<Option<PathBuf>, Error> {
        let path = self.database();
        let _lock = self.lock_database()?;
        // An error caused by a full or read-only disk does not mean that the file is damaged.
        let is_disk = |error: &StoreError| error.is_disk_trouble();
        match Store::open(&path, waiting_times::DATABASE) {
            Err(error) if is_disk(&error) => return Err(error.into()),
            Err(_) => {}
            Ok(store) => match store.integrity_check() {
                Ok(problems) if problems.is_empty() => return Ok(None),
                Err(error) if is_disk(&error) => return Err(error.into()),
                // The records may be intact. Upkeep then builds the indexes from them, because that may take minutes.
                _ => match store.empty_indexes().and_then(|()| store.integrity_check()) {
                    Ok(left) if left.is_empty() => {
                        // If upkeep cannot be started now, the next session starts it.
                        let _ = upkeep::start();
                        return Ok(None);
                    }
                    Err(error) if is_disk(&error) => return Err(error.into()),
                    _ => {}
                },
            },
        }
        let aside = self.rename_database("damaged")?;
        // If it cannot be started now, the next session starts it.
        let _ = salvage::begin(&aside);
        Ok(Some(aside))
    }

    /// Renames a database from before the first release, unless another process has just done it, and creates an empty one. The
    /// next session tells the user.
    fn replace_unreleased(&self) -> Result<(), Error> {
        let path = self.database();
        let _lock = self.lock_database()?;
        if let Err(StoreError::Unreleased { .. }) = Store::open(&path, waiting_times::DATABASE) {
            // A process of that version may still write: then the rest is in the WAL, which is renamed with the file.
            longhaul_store::copy_wal_back(&path, waiting_times::DATABASE);
            let aside = self.rename_database("before")?;
            files::replace(&self.replaced_database(), aside.to_string_lossy().as_bytes())?;
        }
        files::create_if_missing(&path)
    }

    /// Locks the database against being renamed by another process.
    fn lock_database(&self) -> Result<File, Error> {
        let lock = files::open_append(&self.locks().join("database"))?;
        lock.lock_exclusive().map_err(|source| Error::Write { path: self.database(), source })?;
        Ok(lock)
    }

    /// Renames the database and the files that belong to it, to the first free name with `why`.
    fn rename_database(&self, why: &str) -> Result<PathBuf, Error> {
        const ENDS: [&str; 3] = ["-wal", "-shm", ""];
        let is_free = |name: &String| ENDS.iter().all(|end| !self.dir.join(format!("{name}{end}")).exists());
        let free = (1..).map(|n| format!("longhaul.db.{why}-{n}")).find(is_free);
        let (path, aside) = (self.database(), self.dir.join(free.unwrap_or_default()));
        for end in ENDS {
            let beside = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
            match std::fs::rename(beside(&path), beside(&aside)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                renamed => renamed.map_err(|source| Error::Write { path: beside(&aside), source })?,
            }
        }
        Ok(aside)
    }
}

/// Reads the configuration file. Returns the defaults if it does not exist.
///
/// A file that cannot be read or parsed is an error, so that whoever records or types something does not: it may have been
/// written to forbid that.
pub fn config(env: &Env) -> Result<(Config, Vec<config::Warning>), Error> {
    let (config, warnings) = config_text(env)?.map_or_else(Default::default, |text| Config::from_json(&text));
    match (warnings.iter().find(|warning| warning.is_whole_file()), &env.config_path) {
        (Some(warning), Some(path)) => Err(Error::Config { path: path.clone(), problem: warning.wrong.clone() }),
        _ => Ok((config, warnings)),
    }
}

/// Returns the file in which `longhaul install` records what it has installed. It is not in `LONGHAUL_HOME`, which holds the
/// user's data.
pub fn install_record(user_home: &Path) -> PathBuf {
    user_home.join(".local/lib/longhaul/installed.json")
}

/// Returns the id of the version that `longhaul install` has installed; `None` if it has installed none.
pub(crate) fn installed_id(user_home: &Path) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Record {
        id: String,
    }
    let record = bounded_read::bytes(&install_record(user_home), bounded_read::LARGE).ok()?;
    Some(serde_json::from_slice::<Record>(&record).ok()?.id)
}

/// Returns whether a path leads to no folder, although something is there: a file, or a link to nothing or to itself.
fn is_no_folder(path: &Path) -> bool {
    match path.metadata() {
        Ok(metadata) => !metadata.is_dir(),
        Err(error) => error.kind() != std::io::ErrorKind::PermissionDenied,
    }
}

/// Returns the text of the configuration file; `None` if it does not exist.
pub fn config_text(env: &Env) -> Result<Option<String>, Error> {
    let Some(path) = &env.config_path else { return Ok(None) };
    match files::read_without_waiting(path) {
        // With replaced characters, a folder that is excluded would have another name.
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| Error::NotText { path: path.clone() }),
        // A link to a file that is not there now, such as one on a disk that is not mounted, is not the same as no file.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && path.symlink_metadata().is_err() => Ok(None),
        // Something else in the place of the folder holds no file; that nothing can be stored is said by the storage.
        Err(_) if path.parent().is_some_and(|folder| folder.symlink_metadata().is_ok() && is_no_folder(folder)) => {
            Ok(None)
        }
        Err(source) => Err(Error::Read { path: path.clone(), source }),
    }
}

// `longhaul.log`: one line per error, limited in size.

/// When the log exceeds this size, it is renamed to `longhaul.log.1`, which replaces the previous one.
const MAX_BYTES: u64 = 512 * 1024;

/// Maximum length of a message, in characters.
const MAX_MESSAGE: usize = 2_000;

/// The error log. Writes nothing if there is no data directory.
#[derive(Debug, Clone)]
pub struct ErrorLog {
    path: Option<PathBuf>,
    now: Millis,
    who: String,
}

impl ErrorLog {
    /// Returns the log for messages of the program or hook `who`.
    pub fn new(env: &Env, who: &str) -> Self {
        Self { path: Home::of(env).ok().map(|home| home.error_log()), now: env.now, who: who.to_owned() }
    }

    /// Appends a line. Never fails: an error of the log cannot be reported anywhere.
    pub fn write(&self, message: &str) {
        let Some(path) = &self.path else { return };
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        // A message may quote output of a program or text of a person.
        let message = redact(message);
        let message: String = message.chars().take(MAX_MESSAGE).map(printable).collect();
        let line = format!("{} {}: {message}\n", utc(self.now), self.who);
        let Ok(mut file) = files::open_append(path) else { return };
        let _ = file.write_all(line.as_bytes());
        if file.metadata().is_ok_and(|metadata| metadata.len() > MAX_BYTES) {
            let _ = fs::rename(path, path.with_extension("log.1"));
        }
    }
}

/// Returns a time as `2026-01-31T23:59:59Z`.
fn utc(at: Millis) -> String {
    format!("{}T{}Z", date_of(at, 0), time_of(at, 0))
}

#[cfg(test)]
mod tests {
    use longhaul_core::Millis;

    use super::utc;

    #[test]
    fn times_are_written_as_dates() {
        assert_eq!(utc(Millis(0)), "1970-01-01T00:00:00Z");
        assert_eq!(utc(Millis(951_826_153_000)), "2000-02-29T12:09:13Z");
        assert_eq!(utc(Millis(1_794_707_999_999)), "2026-11-15T01:59:59Z");
        assert_eq!(utc(Millis(4_102_444_799_000)), "2099-12-31T23:59:59Z");
    }
}
