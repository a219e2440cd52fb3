//! The process that searches for hooks.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fs2::FileExt;
use longhaul_core::{Config, Env, SessionId};
use longhaul_memory::PromptQuestion;
use longhaul_store::Store;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;

use super::messages::{Answer, Request, read};
use super::{ProcessFiles, is_wanted};
use crate::file_identity::FileIdentity;
use crate::memory::meaning::{Meaning, near_prompt};
use crate::memory::recalled_text::{Prompt, RecalledText, recall_for_prompt};
use crate::shown_records::ShownRecords;
use crate::{Error, Home, files, home, process, waiting_times};

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
    while asked.elapsed() < waiting_times::SEARCH_PROCESS_IDLE && unchanged.iter().all(FileIdentity::is_unchanged) {
        let Some(stream) = next(&listener, waiting_times::SEARCH_PROCESS_CHECKED) else {
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
                thread::sleep(waiting_times::SEARCH_PROCESS);
            }
            None
        }
    }
}

/// The request or the search has failed.
struct NoAnswer;

/// Answers a hook. Returns whether it has sent a prompt.
fn answer(searcher: &mut Searcher<'_>, mut stream: UnixStream) -> Result<bool, NoAnswer> {
    let limit = Some(waiting_times::SEARCH_PROCESS);
    // macOS refuses this if the hook has gone; reading then ends at once.
    let _ = stream.set_read_timeout(limit).and_then(|()| stream.set_write_timeout(limit));
    // A hook that did not wait, or that has only checked whether the process listens, gets no answer.
    let Ok(bytes) = read(&stream) else { return Ok(false) };
    let Ok(request) = serde_json::from_slice::<Request>(&bytes) else { return Ok(false) };
    let Some(recalled) = searcher.search(&request).map_err(|_| NoAnswer)? else { return Ok(true) };
    let answer = serde_json::to_vec(&Answer::from(recalled)).map_err(|_| NoAnswer)?;
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
        let prompt = Prompt {
            question: &question,
            project_key,
            session: session.as_str(),
            shown: &shown,
            utc_offset_seconds: request.utc_offset_seconds,
        };
        thread::scope(|scope| {
            // The vectors are compared while the words are searched for.
            let comparing = meaning
                .as_mut()
                .map(|(meaning, store)| scope.spawn(move || near_prompt(meaning, store, project_key, &request.text)));
            let mut problem = None;
            let near = || match comparing.map(|comparing| comparing.join()) {
                Some(Ok(Ok(near))) => near,
                Some(Ok(Err(error))) => {
                    problem = Some(error);
                    Vec::new()
                }
                Some(Err(_)) => {
                    problem = Some(Error::Busy);
                    Vec::new()
                }
                None => Vec::new(),
            };
            let recalled = recall_for_prompt(store, prompt, near)?;
            problem.map_or(Ok(Some(recalled)), Err)
        })
    }

    fn open(&self, config: Config) -> Result<Opened, Error> {
        let path = self.home.database();
        // Before it is opened: a database that is replaced now is opened again for the next prompt.
        let database = FileIdentity::without_content(&path);
        // A damaged database is left to the hooks.
        let open = || -> Result<Store, Error> {
            let store = Store::open_to_read(&path, waiting_times::DATABASE_FOR_SEARCH_PROCESS)?;
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
