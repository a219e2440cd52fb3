//! The search process: it keeps the database and the model of a large memory open, and searches for the prompts of all
//! sessions.
//!
//! A hook that searches by itself opens both for every prompt, which takes longer than the search. The process is optional:
//! if it does not run, or does not answer in time, the hook searches. It only reads the database and listens on a socket in
//! the data folder. It ends after half an hour without a prompt, and within seconds if its executable is replaced, its socket
//! is removed, or a setting switches it off.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use fs2::FileExt;
use longhaul_core::config::MemoryPart;
use longhaul_core::{Config, Env, SessionId};
use longhaul_memory::PromptQuestion;
use longhaul_store::{NearRecords, PromptSearch, RecordId, Store, What};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::{self, FileIdentity};
use crate::memory::meaning::{Meaning, near_prompt};
use crate::memory::prompt_recall::{RecalledText, recall_for_prompt};
use crate::shown_records::ShownRecords;
use crate::{Error, Home, home, process, utc_offset_seconds};

/// How long hooks start no search process, after one that could not listen on its socket.
const SEARCH_PROCESS_AGAIN: Duration = Duration::from_secs(10 * 60);

/// Interval at which the search process checks whether its executable and its socket are still there.
const SEARCH_PROCESS_CHECKED: Duration = Duration::from_secs(5);

/// The search process ends after this time without a prompt.
const SEARCH_PROCESS_IDLE: Duration = Duration::from_secs(30 * 60);

/// How long to wait for the search process, in a hook: afterwards the hook searches by itself. A search takes a few
/// milliseconds.
const SEARCH_PROCESS: Duration = Duration::from_millis(150);

/// How long to wait for the database, in the search process, for which a hook waits.
const DATABASE_FOR_SEARCH_PROCESS: Duration = Duration::from_millis(50);

/// Returns whether the settings allow a search process.
pub(crate) fn is_wanted(config: &Config) -> bool {
    let memory = &config.memory;
    memory.enabled && memory.show.contains(MemoryPart::Passages)
}

/// Number of records from which opening the database and the model for a search takes longer than a hook should.
const LARGE: u64 = 5_000;

/// Starts the search process in the background if the memory is large enough for it. If one runs, the new one ends at once.
pub(crate) fn start_if_large(env: &Env, home: &Home, store: &Store) -> Result<(), Error> {
    let Some(own) = ProcessFiles::of(env, home) else { return Ok(()) };
    // A long path is not possible for a socket.
    let can_listen = SocketAddrUnix::new(own.socket()).is_ok() && !own.has_failed();
    let is_large = || store.newest_numbers().is_ok_and(|records| records >= LARGE);
    if can_listen && is_large() {
        process::spawn_apart("memory", &["search-process"], Stdio::null(), home.dir())?;
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
        failed.is_ok_and(|failed| failed.elapsed().is_ok_and(|since| since < SEARCH_PROCESS_AGAIN))
    }
}

// What a hook and the search process send each other: one JSON object each, then the end of the stream.

/// Maximum size of a message, in bytes. A prompt and an answer have far less.
const MAX_BYTES: u64 = 256 * 1024;

/// The space for a message before it is read: most are shorter.
const USUAL_BYTES: usize = 4 * 1024;

/// A prompt to search for.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    session: String,
    /// The prompt, without its private text.
    text: String,
    /// The offset of the hook's time zone.
    utc_offset_seconds: i32,
}

/// Reads a message to its end.
fn read(stream: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    stream.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= MAX_BYTES => Ok(bytes),
        _ => Err(io::Error::other("the message is too long")),
    }
}

// A hook asks the search process. It does not wait before it needs the answer.

#[derive(Debug)]
pub(crate) struct PendingSearch(UnixStream);

/// Asks what is recalled for a prompt of `session`; `None` if no process listens.
pub(crate) fn ask(env: &Env, home: &Home, session: &SessionId, text: &str) -> Option<PendingSearch> {
    let mut stream = connected(&ProcessFiles::of(env, home)?.socket()).ok()?;
    let (session, text) = (session.as_str().to_owned(), text.to_owned());
    let request = Request { session, text, utc_offset_seconds: utc_offset_seconds(env.now) };
    stream.write_all(&serde_json::to_vec(&request).ok()?).ok()?;
    stream.shutdown(Shutdown::Write).ok()?;
    Some(PendingSearch(stream))
}

/// Returns whether a search process accepts connections.
pub(crate) fn listens(env: &Env, home: &Home) -> bool {
    ProcessFiles::of(env, home).is_some_and(|own| connected(&own.socket()).is_ok())
}

impl PendingSearch {
    /// Returns the answer; `None` if the process has failed or needs too much time.
    pub(crate) fn answer(self) -> Option<RecalledText> {
        let answer: RecalledText = serde_json::from_slice(&read(&self.0).ok()?).ok()?;
        let is_name = |name: &String| RecordId::parse(name, What::Prompt).is_some();
        answer.records.iter().all(is_name).then_some(answer)
    }
}

/// Connects without waiting. `UnixStream::connect` would wait for a process that is stopped and whose queue is full.
fn connected(path: &Path) -> io::Result<UnixStream> {
    // A process of another user must not get a prompt.
    if std::fs::symlink_metadata(path)?.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
    rustix::io::ioctl_fioclex(&socket)?;
    let stream = UnixStream::from(socket);
    // Before anything is sent: macOS refuses it when both ends have finished.
    stream.set_write_timeout(Some(SEARCH_PROCESS))?;
    stream.set_read_timeout(Some(SEARCH_PROCESS))?;
    stream.set_nonblocking(true)?;
    connect(&stream, &address)?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

// The process that searches for hooks.

/// The size of the cache of each connection, in kibibytes. SQLite empties it when another process has written, that is with
/// every prompt. The file is not mapped: it would be mapped anew as it grows.
const CACHE: u32 = 4 * 1024;

/// Searches for hooks until there was no prompt for a while. Returns at once if another process does.
pub fn serve(env: &Env, home: &Home) -> Result<(), Error> {
    process::leave_session();
    let Some(own) = ProcessFiles::of(env, home) else { return Ok(()) };
    let lock = files::open_append(&own.lock())?;
    match lock.try_lock_exclusive() {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
        Err(source) => return Err(failed(&own, Error::Write { path: own.lock(), source })),
    }
    let path = own.socket();
    let listener = match listen(&path) {
        Ok(listener) => listener,
        Err(source) => return Err(failed(&own, Error::Write { path, source })),
    };
    let executable = std::env::current_exe().unwrap_or_default();
    let unchanged = [FileIdentity::without_content(&path), FileIdentity::with_content(&executable)];
    let mut searcher = Searcher { env, home, opened: None };
    // Before the first prompt comes. A hook that meets the same error reports it.
    let _ = searcher.open_again();
    let mut asked = Instant::now();
    while asked.elapsed() < SEARCH_PROCESS_IDLE && unchanged.iter().all(FileIdentity::is_unchanged) {
        let Some(stream) = next(&listener, SEARCH_PROCESS_CHECKED) else {
            if !searcher.is_wanted() {
                break;
            }
            searcher.close_if_changed();
            continue;
        };
        match answer(&mut searcher, stream) {
            Ok(true) => asked = Instant::now(),
            Ok(false) => {}
            // The hook gets no answer and searches, and it reports what is wrong. Whatever is open may be the reason.
            Err(NoAnswer) => searcher.opened = None,
        }
    }
    if unchanged[0].is_unchanged() {
        let _ = fs::remove_file(&path);
    }
    Ok(())
}

/// Records that a process cannot listen, so that hooks do not start one for every prompt.
fn failed(own: &ProcessFiles, error: Error) -> Error {
    let _ = files::replace(&own.failure(), b"");
    error
}

/// Listens on a socket that only this user can connect to. The lock is held, so that an existing socket is a leftover.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    rustix::process::umask(Mode::from_raw_mode(0o077));
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Returns the next hook that asks; `None` if none does within `limit`.
fn next(listener: &UnixListener, limit: Duration) -> Option<UnixStream> {
    let limit = Timespec { tv_sec: i64::try_from(limit.as_secs()).ok()?, tv_nsec: i64::from(limit.subsec_nanos()) };
    poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&limit)).ok()?;
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nonblocking(false).ok()?;
            Some(stream)
        }
        Err(error) => {
            // Otherwise a hook that cannot be accepted, because too many files are open, would keep a processor busy.
            if error.kind() != io::ErrorKind::WouldBlock {
                thread::sleep(SEARCH_PROCESS);
            }
            None
        }
    }
}

struct NoAnswer;

/// Answers a hook. Returns whether it has sent a prompt.
fn answer(searcher: &mut Searcher<'_>, mut stream: UnixStream) -> Result<bool, NoAnswer> {
    let limit = Some(SEARCH_PROCESS);
    // macOS refuses this if the hook has gone; reading then ends at once.
    let _ = stream.set_read_timeout(limit).and_then(|()| stream.set_write_timeout(limit));
    // A hook that did not wait, or that has only checked whether the process listens, gets no answer.
    let Ok(bytes) = read(&stream) else { return Ok(false) };
    let Ok(request) = serde_json::from_slice::<Request>(&bytes) else { return Ok(false) };
    let Some(recalled) = searcher.search(&request).map_err(|_| NoAnswer)? else { return Ok(true) };
    let answer = serde_json::to_vec(&recalled).map_err(|_| NoAnswer)?;
    let _ = stream.write_all(&answer);
    Ok(true)
}

/// What stays open between two searches.
struct Opened {
    config: Config,
    database: FileIdentity,
    store: Store,
    /// The model, and the connection by which its vectors are read.
    meaning: Option<(Meaning, Store)>,
}

impl Opened {
    fn is_unchanged(&self) -> bool {
        self.database.is_unchanged()
            && self.store.is_current().unwrap_or(false)
            && self.meaning.as_ref().is_none_or(|(meaning, _)| meaning.is_unchanged())
    }
}

struct Searcher<'a> {
    env: &'a Env,
    home: &'a Home,
    opened: Option<Opened>,
}

impl Searcher<'_> {
    /// Returns whether the settings still allow a search process.
    fn is_wanted(&self) -> bool {
        home::config(self.env).is_ok_and(|(config, _)| is_wanted(&config))
    }

    /// Closes a database that was replaced: it would take space on the disk although it is deleted.
    fn close_if_changed(&mut self) {
        self.opened = self.opened.take().filter(Opened::is_unchanged);
    }

    /// Opens what is not open, or has changed.
    fn open_again(&mut self) -> Result<&mut Opened, Error> {
        let (config, _) = home::config(self.env)?;
        let opened = match self.opened.take().filter(|opened| opened.config == config && opened.is_unchanged()) {
            Some(opened) => opened,
            None => self.open(config)?,
        };
        Ok(self.opened.insert(opened))
    }

    /// Searches for a prompt; `None` if its session is not stored yet.
    fn search(&mut self, request: &Request) -> Result<Option<RecalledText>, Error> {
        let home = self.home;
        let Opened { store, meaning, .. } = self.open_again()?;
        let Some(session) = SessionId::new(&request.session) else { return Ok(None) };
        let Some(known) = store.session(session.as_str())? else { return Ok(None) };
        let Some(question) = PromptQuestion::of(&request.text) else { return Ok(None) };
        let (shown, project_key) = (ShownRecords::load(home, &session), known.project_key.as_str());
        let search = PromptSearch { question: &question, project_key, session: session.as_str() };
        thread::scope(|scope| {
            // The vectors are compared while the words are searched for.
            let comparing = meaning
                .as_mut()
                .map(|(meaning, store)| scope.spawn(move || near_prompt(meaning, store, project_key, &request.text)));
            let mut problem = None;
            let near = || {
                let compared = comparing
                    .map_or(Ok(NearRecords::default()), |comparing| comparing.join().unwrap_or(Err(Error::Busy)));
                compared.map_err(|error| problem = Some(error)).unwrap_or_default()
            };
            let recalled = recall_for_prompt(store, &search, &shown, request.utc_offset_seconds, near)?;
            problem.map_or(Ok(Some(recalled)), Err)
        })
    }

    fn open(&self, config: Config) -> Result<Opened, Error> {
        let path = self.home.database();
        // Before it is opened: a database that is replaced now is opened again for the next prompt.
        let database = FileIdentity::without_content(&path);
        // A damaged database is left to the hooks.
        let open = || -> Result<Store, Error> {
            let store = Store::open_to_read(&path, DATABASE_FOR_SEARCH_PROCESS)?;
            store.set_cache(CACHE)?;
            Ok(store)
        };
        let meaning = match Meaning::open(self.env, self.home, &config)? {
            Some(meaning) => Some((meaning, open()?)),
            None => None,
        };
        Ok(Opened { config, database, store: open()?, meaning })
    }
}
