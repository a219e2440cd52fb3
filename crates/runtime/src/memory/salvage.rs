//! Salvages what can be read of a damaged database, in a process of its own, and records what came of it beside the file.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use longhaul_core::{Config, Env, counted};
use longhaul_store::{Salvaged, Sanitizer, StoreError};
use sha2::{Digest, Sha256};

use crate::{Error, ErrorLog, Home, bounded_read, files, process, waiting_times};

/// What the names of damaged databases that were renamed begin with.
const SET_ASIDE: &str = "longhaul.db.damaged-";

/// The end of the name of the file that records what came of a salvage. It is empty until that is known; then its first line is
/// one of these two, and the second one says it.
const REPORT: &str = ".salvage";
const UNTOLD: &str = "untold";
const TOLD: &str = "told";

/// A damaged database that was renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// The file.
    pub path: PathBuf,
    /// What came of its salvage; `None` if that did not end yet, or was never begun.
    pub report: Option<String>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    NeverBegun,
    UnderWay,
    Untold,
    Told,
}

/// What came of a salvage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done(Salvaged),
    DoneBefore,
    /// Another process salvages something.
    Busy,
}

impl Home {
    /// Returns the damaged databases that were renamed.
    pub fn set_aside_databases(&self) -> Vec<SetAside> {
        let entries = std::fs::read_dir(self.dir()).into_iter().flatten().flatten();
        let is_one = |name: &str| {
            name.strip_prefix(SET_ASIDE).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_one));
        let mut found: Vec<SetAside> = named.map(|entry| SetAside::of(entry.path())).collect();
        found.sort_by(|first, other| first.path.cmp(&other.path));
        found
    }
}

impl SetAside {
    fn of(path: PathBuf) -> Self {
        let text = bounded_read::text(&report_of(&path), bounded_read::SMALL);
        let (state, report) = match text.as_deref().map(|text| text.split_once('\n')) {
            Err(_) => (State::NeverBegun, None),
            Ok(Some((TOLD, report))) => (State::Told, Some(report.trim().to_owned())),
            Ok(Some((_, report))) => (State::Untold, Some(report.trim().to_owned())),
            Ok(None) => (State::UnderWay, None),
        };
        Self { path, report, state }
    }

    /// Returns whether its salvage was begun and did not end.
    pub fn is_under_way(&self) -> bool {
        self.state == State::UnderWay
    }

    /// Deletes the file with what belongs to it.
    pub fn delete(&self) -> Result<(), Error> {
        ["-wal", "-shm", REPORT, ""].into_iter().try_for_each(|end| files::remove(&beside(&self.path, end)))
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn report_of(path: &Path) -> PathBuf {
    beside(path, REPORT)
}

/// Begins to salvage a database that has just been renamed. If the process cannot be started, the next session does it.
pub(crate) fn begin(path: &Path) -> Result<(), Error> {
    files::replace(&report_of(path), b"")?;
    start(path)
}

fn start(path: &Path) -> Result<(), Error> {
    let args = ["salvage", "--"].map(str::to_owned).into_iter().chain([path.display().to_string()]);
    process::spawn_own("memory", &args.collect::<Vec<_>>()).map(drop)
}

/// Starts salvages again that were interrupted, and returns what came of the others that nobody was told.
pub(crate) fn news(home: &Home) -> Result<Vec<String>, Error> {
    let mut news = Vec::new();
    for found in home.set_aside_databases() {
        match (found.state, &found.report) {
            (State::UnderWay, _) => start(&found.path)?,
            (State::Untold, Some(report)) => {
                files::replace(&report_of(&found.path), format!("{TOLD}\n{report}\n").as_bytes())?;
                news.push(report.clone());
            }
            _ => {}
        }
    }
    Ok(news)
}

/// Salvages what can be read of a damaged database, and then calls `finish`, before it records what came of it. It may be killed at
/// any time: the next run goes on.
pub fn salvage(env: &Env, home: &Home, config: &Config, path: &Path, finish: impl FnOnce()) -> Result<Outcome, Error> {
    process::leave_session();
    let read = |source| Error::Read { path: path.to_owned(), source };
    let about = bounded_read::open(path).and_then(|file| file.metadata()).map_err(read)?;
    let live = home.database().metadata().ok();
    if live.is_some_and(|live| (live.dev(), live.ino()) == (about.dev(), about.ino())) {
        return Err(read(io::Error::new(io::ErrorKind::InvalidInput, "it is the database that is in use")));
    }
    let Some(_lock) = files::try_lock(&home.locks().join("salvage"))? else { return Ok(Outcome::Busy) };
    let key = fingerprint(path).map_err(read)?;
    let store = home.store(waiting_times::DATABASE)?;
    let salvaged = store.salvage(path, &key, Sanitizer::new(config), env.now);
    drop(store);
    if matches!(salvaged, Ok(Some(_))) {
        finish();
    }
    let report = match &salvaged {
        Ok(Some(salvaged)) => describe(path, salvaged),
        // An interrupted run may have ended just before it could say so.
        Ok(None) => format!("what could be read of {} was salvaged", path.display()),
        // It will not be readable later either.
        Err(StoreError::Foreign { problem, .. }) => {
            format!("nothing of {} could be salvaged: {problem}", path.display())
        }
        Err(_) => String::new(),
    };
    let found = home.set_aside_databases().into_iter().find(|found| is_same(&found.path, path));
    if let Some(found) = found.filter(|found| found.report.is_none() && !report.is_empty()) {
        ErrorLog::new(env, "salvage").write(&report);
        files::replace(&report_of(&found.path), format!("{UNTOLD}\n{report}\n").as_bytes())?;
    }
    Ok(salvaged?.map_or(Outcome::DoneBefore, Outcome::Done))
}

/// Returns whether two paths lead to one file.
fn is_same(first: &Path, other: &Path) -> bool {
    match (first.metadata(), other.metadata()) {
        (Ok(first), Ok(other)) => (first.dev(), first.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Says what a salvage has brought, and what not.
pub fn describe(path: &Path, salvaged: &Salvaged) -> String {
    let Salvaged { prompts, observations, summaries, bookmarks, snapshots, known, others, .. } = *salvaged;
    let summaries = if summaries == 1 { "1 summary".to_owned() } else { format!("{summaries} summaries") };
    let saved = [
        counted(prompts, "prompt"),
        counted(observations, "observation"),
        summaries,
        counted(bookmarks, "bookmark"),
        counted(snapshots, "snapshot"),
    ];
    let mut text = format!("salvaged from {}: {}", path.display(), saved.join(", "));
    if known > 0 {
        text.push_str(&format!("; {known} were here already, or forgotten"));
    }
    if others > 0 {
        text.push_str(&format!("; {others} of other machines are left to sync"));
    }
    let lost: Vec<String> =
        [(salvaged.damaged_rows, "row"), (salvaged.damaged_pages, "page"), (salvaged.missing_tables, "table")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| counted(count, what))
            .collect();
    text.push_str(&match lost.as_slice() {
        [] => "; nothing was lost".to_owned(),
        lost => format!("; not readable: {}", lost.join(", ")),
    });
    text
}

/// Returns what identifies the content of a database with its log, whatever its name is.
fn fingerprint(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    for path in [path.to_owned(), beside(path, "-wal")] {
        let mut file = match bounded_read::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        let mut part = vec![0; 1 << 16];
        loop {
            let count = file.read(&mut part)?;
            if count == 0 {
                break;
            }
            hash.update(&part[..count]);
        }
    }
    Ok(hash.finalize().iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
}
