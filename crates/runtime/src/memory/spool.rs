//! The spool: what the hook on the hot path notes of a tool call, until somebody takes it into the database.
//!
//! `spool/<session>.jsonl`, a line for every call, read from where the last reading ended. A file that has grown large is
//! put aside as `<session>.old.jsonl` and read once more before it is removed: a hook may have had it open.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs2::FileExt;
use longhaul_core::{Millis, SessionId};
use longhaul_memory::Call;

use crate::{Error, Home, files};

/// A write of up to this many bytes is whole or not at all, whoever else writes.
const ATOMIC: usize = 4096;

/// A spool that has been read is put aside from this size on.
const LARGE: u64 = 4 * 1024 * 1024;

/// How much is read at a time.
const PIECE: usize = 4 * 1024 * 1024;

/// A file that nobody has written to for this long is held open by no hook.
const AT_REST: Duration = Duration::from_secs(60);

/// What was read, and where the next reading begins.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The calls, in the order in which they were noted.
    pub(crate) calls: Vec<Call>,
    /// How far the file was read.
    pub(crate) position: u64,
    /// Whether there is more.
    pub(crate) more: bool,
}

/// A session's spool.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
}

impl Spool {
    /// Returns a session's spool, whether there is one or not.
    pub(crate) fn of(home: &Home, session: &SessionId) -> Self {
        Self { path: home.spool().join(format!("{session}.jsonl")) }
    }

    /// Returns the sessions that have one.
    pub(crate) fn sessions(home: &Home) -> Vec<SessionId> {
        let entries = fs::read_dir(home.spool()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut sessions: Vec<SessionId> =
            names.filter_map(|name| SessionId::new(name.strip_suffix(".jsonl")?.trim_end_matches(".old"))).collect();
        sessions.sort();
        sessions.dedup();
        sessions
    }

    /// Adds a call.
    ///
    /// The line begins with a line break of its own: one that a full disk has torn costs no other.
    pub(crate) fn append(&self, call: &Call) -> Result<(), Error> {
        let line = format!("\n{}\n", call.to_line());
        let mut file = files::open_append(&self.path)?;
        let failed = |source| Error::Write { path: self.path.clone(), source };
        if line.len() > ATOMIC {
            file.lock_exclusive().map_err(failed)?;
        }
        // The lock goes with the file.
        file.write_all(line.as_bytes()).map_err(failed)
    }

    /// Returns whether anything stands behind `position`.
    pub(crate) fn has_more(&self, position: u64) -> bool {
        fs::metadata(&self.path).is_ok_and(|file| file.len() != position) || self.old().exists()
    }

    /// Reads on from `position`.
    pub(crate) fn read(&self, position: u64) -> Result<Notes, Error> {
        read(&self.path, position)
    }

    /// Returns the file that was put aside.
    fn old(&self) -> PathBuf {
        self.path.with_extension("old.jsonl")
    }

    /// Reads what was put aside, from its beginning.
    pub(crate) fn read_old(&self, position: u64) -> Result<Notes, Error> {
        read(&self.old(), position)
    }

    /// Removes what was put aside, if it is certain that nobody writes to it any more.
    pub(crate) fn remove_old(&self, now: Millis) {
        if is_at_rest(&self.old(), now) {
            let _ = fs::remove_file(self.old());
        }
    }

    /// Returns whether the spool, which has been read whole, is to be put aside.
    pub(crate) fn is_to_be_put_aside(&self, position: u64, now: Millis) -> bool {
        let is_idle = is_at_rest(&self.path, now) && position > 0;
        (position >= LARGE || is_idle) && !self.old().exists()
    }

    /// Puts the spool aside; the next call begins a new one.
    pub(crate) fn put_aside(&self) -> Result<(), Error> {
        match fs::rename(&self.path, self.old()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed.map_err(|source| Error::Write { path: self.path.clone(), source }),
        }
    }
}

fn read(path: &Path, position: u64) -> Result<Notes, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Notes::default()),
        file => file.map_err(failed)?,
    };
    let length = file.metadata().map_err(failed)?.len();
    // A file that is shorter is another one.
    let start = if length < position { 0 } else { position };
    let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(PIECE).min(PIECE)];
    let mut read = file.read_at(&mut bytes, start).map_err(failed)?;
    let more = start + (read as u64) < length;
    // A line that is being written, or longer than a piece, is for the next time.
    read = bytes[..read].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let text = String::from_utf8_lossy(&bytes[..read]);
    let calls = text.lines().filter_map(Call::from_line).collect();
    Ok(Notes { calls, position: start + read as u64, more: more && read > 0 })
}

fn is_at_rest(path: &Path, now: Millis) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    let since_epoch = modified.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since_epoch.is_some_and(|at| Duration::from_millis(now.0).saturating_sub(at) > AT_REST)
}
