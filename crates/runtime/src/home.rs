//! Where everything is stored.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fs2::FileExt;
use longhaul_core::{Config, Env, SessionId, config};
use longhaul_store::{Store, StoreError};

use crate::memory::upkeep;
use crate::{Error, files, waiting_times};

/// What lies in the folder, by its name.
const KNOWN: [&str; 13] = [
    "clients",
    "config.json",
    "git-views",
    "handoffs",
    "imported.jsonl",
    "locks",
    "model",
    "sessions",
    "spool",
    "status",
    "tmux",
    "upkeep",
    "worker.lock",
];

/// What lies in the folder, by how its name begins.
const BEGINNINGS: [&str; 12] = [
    "longhaul.db",
    "longhaul.log",
    "worker.json",
    "worker-ticket.",
    "worker-open.",
    "worker-pause.",
    "status.tmp",
    "upkeep.tmp",
    "worker.tmp",
    "trusted-projects.",
    "noticed-projects.",
    ".longhaul-",
];

/// `LONGHAUL_HOME`: the folder that holds everything the program stores.
#[derive(Debug, Clone)]
pub struct Home {
    dir: PathBuf,
}

impl Home {
    /// Returns the folder that `env` names; it need not exist yet.
    pub fn of(env: &Env) -> Result<Self, Error> {
        env.data_dir.clone().map(|dir| Self { dir }).ok_or(Error::NoDataDir)
    }

    /// Returns the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the folder of the sessions' own files.
    pub fn sessions(&self) -> PathBuf {
        self.dir.join("sessions")
    }

    /// Returns a session's own file of the kind `extension`.
    pub fn session_file(&self, session: &SessionId, extension: &str) -> PathBuf {
        self.sessions().join(format!("{}.{extension}", session.file_stem()))
    }

    /// Returns the folder of the handoffs that sessions wrote when their context was full.
    pub fn handoffs(&self) -> PathBuf {
        self.dir.join("handoffs")
    }

    /// Returns the file that keeps the handoff that a session wrote when its context was full.
    pub fn handoff_file(&self, session: &str) -> PathBuf {
        self.handoffs().join(format!("{session}.md"))
    }

    /// Returns the folder of what hooks have noted and nobody has taken in yet.
    pub fn spool(&self) -> PathBuf {
        self.dir.join("spool")
    }

    /// Returns the folder of locks on panes.
    pub fn locks(&self) -> PathBuf {
        self.dir.join("locks")
    }

    /// Returns the folder of git folders of our own, which hold a commit to compare a work tree with.
    pub fn git_views(&self) -> PathBuf {
        self.dir.join("git-views")
    }

    /// Returns the file of what a client process has shown of its keys.
    pub fn client_file(&self, pid: u32) -> PathBuf {
        self.clients().join(format!("{pid}.json"))
    }

    /// Returns the folder of what client processes have shown of their keys.
    pub fn clients(&self) -> PathBuf {
        self.dir.join("clients")
    }

    /// Returns the error log.
    pub fn error_log(&self) -> PathBuf {
        self.dir.join("longhaul.log")
    }

    /// Returns the file that holds the rendered status string.
    pub fn status(&self) -> PathBuf {
        self.dir.join("status")
    }

    /// Returns the file that says when the memory was last looked after.
    pub fn upkeep(&self) -> PathBuf {
        self.dir.join("upkeep")
    }

    /// Returns the file that lists the projects whose own configuration the user trusts.
    pub fn trusted_projects(&self) -> PathBuf {
        self.dir.join("trusted-projects.json")
    }

    /// Returns the file that lists the projects of whose own configuration the user has been told.
    pub fn noticed_projects(&self) -> PathBuf {
        self.dir.join("noticed-projects.json")
    }

    /// Returns the file that holds the options of a tmux server.
    pub fn tmux_options(&self, socket: &str) -> PathBuf {
        self.dir.join("tmux").join(format!("{}.json", longhaul_inject::file_name_of(socket)))
    }

    /// Returns the file that says where the worker listens.
    pub fn worker_file(&self) -> PathBuf {
        self.dir.join("worker.json")
    }

    /// Returns the file that the worker holds locked for as long as it runs.
    pub fn worker_lock(&self) -> PathBuf {
        self.dir.join("worker.lock")
    }

    /// Returns the file that says until when hooks do not start the worker.
    pub fn worker_pause(&self) -> PathBuf {
        self.dir.join("worker-pause.json")
    }

    /// Returns the file that holds the ticket for opening the worker's page.
    pub fn worker_ticket(&self) -> PathBuf {
        self.dir.join("worker-ticket.json")
    }

    /// Returns the page that leads a browser to the worker.
    pub fn worker_entrance(&self) -> PathBuf {
        self.dir.join("worker-open.html")
    }

    /// Returns everything in the folder that the program has put there.
    ///
    /// A folder of our own name is ours with all that is in it; of any other, only what is known by its name.
    pub fn contents(&self) -> Vec<PathBuf> {
        let is_own = self.dir.file_name().is_some_and(|name| name == "longhaul");
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let is_known =
            |name: &str| KNOWN.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
        let ours = entries.filter(|entry| is_own || entry.file_name().to_str().is_some_and(is_known));
        ours.map(|entry| entry.path()).collect()
    }

    /// Returns the database's path.
    pub fn database(&self) -> PathBuf {
        self.dir.join("longhaul.db")
    }

    /// Opens the database, readable by nobody else; waits for others' writes for `patience` at most.
    ///
    /// One that is damaged is set aside, which is an error; the next opening begins a new one.
    pub fn store(&self, patience: Duration) -> Result<Store, Error> {
        let path = self.database();
        // SQLite would create it with the umask's mode; its WAL takes over the mode of the file.
        files::open_append(&path)?;
        Store::open(&path, patience).map_err(|error| self.judge(error))
    }

    /// Opens the database if there is one.
    pub fn existing_store(&self) -> Result<Option<Store>, Error> {
        let path = self.database();
        path.exists()
            .then(|| Store::open(&path, waiting_times::DATABASE))
            .transpose()
            .map_err(|error| self.judge(error))
    }

    /// Sets the database aside where the error says that it is damaged, and says so.
    pub(crate) fn judge(&self, error: StoreError) -> Error {
        if !error.is_corrupt() {
            return error.into();
        }
        match self.set_aside() {
            Ok(Some(aside)) => Error::Damaged { aside, source: error },
            // Somebody else has just done it.
            Ok(None) => error.into(),
            Err(problem) => problem,
        }
    }

    /// Gives a damaged database another name, with what belongs to it; `None` where it is no longer damaged.
    ///
    /// Of several processes that find it damaged at the same moment one does it, and the others look again.
    fn set_aside(&self) -> Result<Option<PathBuf>, Error> {
        let path = self.database();
        let lock = files::open_append(&self.locks().join("database"))?;
        lock.lock_exclusive().map_err(|source| Error::Write { path: path.clone(), source })?;
        // Whatever a full or read-only disk says, the file is not damaged by that.
        let is_disk = |error: &StoreError| error.is_disk_trouble();
        match Store::open(&path, waiting_times::DATABASE) {
            Err(error) if is_disk(&error) => return Err(error.into()),
            Err(_) => {}
            Ok(store) => match store.integrity_check() {
                Ok(problems) if problems.is_empty() => return Ok(None),
                Err(error) if is_disk(&error) => return Err(error.into()),
                // The records may be whole, and the indexes are made of them: by upkeep, because that may take minutes.
                _ => match store.empty_indexes().and_then(|()| store.integrity_check()) {
                    Ok(left) if left.is_empty() => {
                        // Where it cannot be started now, the next session starts it.
                        let _ = upkeep::start();
                        return Ok(None);
                    }
                    Err(error) if is_disk(&error) => return Err(error.into()),
                    _ => {}
                },
            },
        }
        let free = (1..).map(|n| format!("longhaul.db.damaged-{n}")).find(|name| !self.dir.join(name).exists());
        let aside = self.dir.join(free.unwrap_or_default());
        for end in ["-wal", "-shm", ""] {
            let beside = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
            match std::fs::rename(beside(&path), beside(&aside)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                renamed => renamed.map_err(|source| Error::Write { path: beside(&aside), source })?,
            }
        }
        Ok(Some(aside))
    }
}

/// Reads the config file; one that is not there is the defaults.
pub fn config(env: &Env) -> Result<(Config, Vec<config::Warning>), Error> {
    Ok(config_text(env)?.map_or_else(Default::default, |text| Config::from_json(&text)))
}

/// Returns the text of the config file; `None` where there is none.
pub fn config_text(env: &Env) -> Result<Option<String>, Error> {
    let Some(path) = &env.config_path else { return Ok(None) };
    match files::read_without_waiting(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.clone(), source }),
    }
}
