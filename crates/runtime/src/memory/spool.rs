//! The spool: what the hook on the hot path notes of a tool call, until somebody takes it into the database.
//!
//! `spool/<session>.jsonl`, a line for every call, read from where the last reading ended. Whoever writes holds the file's
//! lock, shared for a short line and alone for a long one; whoever empties it holds it alone. So nothing is written between
//! the last reading and the emptying. Whoever stores how far it was read holds it shared, and looks whether it is still
//! there: how far a spool was read says nothing of the one that took its place.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt as _, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs2::FileExt;
use longhaul_core::{Millis, SessionId};
use longhaul_memory::Call;

use crate::{Error, Home, bounded_read, files};

/// A write of up to this many bytes is whole or not at all, whoever else writes.
const ATOMIC: usize = 4096;

/// A spool that has been read is emptied from this size on.
const LARGE: u64 = 4 * 1024 * 1024;

/// How much is read at a time.
const PIECE: usize = 4 * 1024 * 1024;

/// A spool that nobody has written to for this long is emptied whatever its size.
const AT_REST: Duration = Duration::from_secs(60);

/// What was read, and where the next reading begins.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The calls, in the order in which they were noted.
    pub(crate) calls: Vec<Call>,
    /// How far the file was read.
    pub(crate) position: u64,
    file: Option<File>,
}

impl Notes {
    /// Keeps the spool from being emptied while these notes are held; returns whether it is the one that they are from.
    ///
    /// Waits for nobody: whoever empties it may be waiting for what the caller holds.
    pub(crate) fn hold(&self) -> bool {
        self.file.as_ref().is_some_and(|file| FileExt::try_lock_shared(file).is_ok() && is_there(file))
    }
}

/// A session's spool.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
}

impl Spool {
    /// Returns a session's spool, whether there is one or not.
    pub(crate) fn of(home: &Home, session: &SessionId) -> Self {
        Self { path: home.spool().join(format!("{}.jsonl", session.file_stem())) }
    }

    /// Returns the sessions that have one.
    pub(crate) fn sessions(home: &Home) -> Vec<SessionId> {
        let entries = fs::read_dir(home.spool()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| SessionId::from_file_stem(name.strip_suffix(".jsonl")?)).collect()
    }

    /// Adds a call.
    ///
    /// The line begins with a line break of its own: one that a full disk has torn costs no other.
    pub(crate) fn append(&self, call: &Call) -> Result<(), Error> {
        let line = format!("\n{}\n", call.to_line());
        let failed = |source| Error::Write { path: self.path.clone(), source };
        loop {
            let mut file = files::open_append(&self.path)?;
            let locked = if line.len() > ATOMIC { file.lock_exclusive() } else { FileExt::lock_shared(&file) };
            locked.map_err(failed)?;
            // It may have been removed between opening and locking: nobody would find what is written to it.
            if is_there(&file) {
                // The lock goes with the file.
                return file.write_all(line.as_bytes()).map_err(failed);
            }
        }
    }

    /// Returns whether anything stands behind `position`.
    pub(crate) fn has_more(&self, position: u64) -> bool {
        fs::metadata(&self.path).is_ok_and(|file| file.len() != position)
    }

    /// Reads on from `position`.
    pub(crate) fn read(&self, position: u64) -> Result<Notes, Error> {
        read(&self.path, position)
    }

    /// Returns whether a spool that has been read up to `position` is worth emptying.
    pub(crate) fn is_worth_emptying(&self, position: u64, now: Millis) -> bool {
        position >= LARGE || (position > 0 && is_at_rest(&self.path, now))
    }

    /// Removes the spool if nothing stands behind `position`, and `note` has noted that it is gone.
    ///
    /// In this order: a place that is noted and a file that is still there only means that it is read again. Where `note`
    /// says that another place is known, this is another file, of the same length by chance, and nobody has read it.
    pub(crate) fn empty(&self, position: u64, note: impl FnOnce() -> Result<bool, Error>) -> Result<bool, Error> {
        let Ok(file) = bounded_read::open(&self.path) else { return Ok(false) };
        // Somebody writes: another time.
        if file.try_lock_exclusive().is_err() || !file.metadata().is_ok_and(|metadata| metadata.len() == position) {
            return Ok(false);
        }
        if !note()? {
            return Ok(false);
        }
        fs::remove_file(&self.path).map_err(|source| Error::Write { path: self.path.clone(), source })?;
        Ok(true)
    }
}

fn read(path: &Path, position: u64) -> Result<Notes, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let file = match bounded_read::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Notes { position, ..Notes::default() }),
        file => file.map_err(failed)?,
    };
    let length = file.metadata().map_err(failed)?.len();
    let begin = if is_end_of_line(&file, length, position) { position } else { 0 };
    let mut start = begin;
    let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(PIECE).min(PIECE)];
    let read = loop {
        let read = file.read_at(&mut bytes, start).map_err(failed)?;
        match bytes[..read].iter().rposition(|byte| *byte == b'\n') {
            Some(end) => break end + 1,
            // No hook writes a line as long as this: it is passed over.
            None if read == PIECE => start += read as u64,
            // A line that is being written is for the next time, and so is one that was passed over and has no end yet.
            None => return Ok(Notes { position: begin, file: Some(file), ..Notes::default() }),
        }
    };
    let text = String::from_utf8_lossy(&bytes[..read]);
    let calls = text.lines().filter_map(Call::from_line).collect();
    Ok(Notes { calls, position: start + read as u64, file: Some(file) })
}

/// Returns whether a reading may have ended at `position`; where not, it was of another file by the same name.
fn is_end_of_line(file: &File, length: u64, position: u64) -> bool {
    let Some(last) = position.checked_sub(1) else { return true };
    let mut byte = [0];
    position <= length && file.read_at(&mut byte, last).is_ok_and(|read| read == 1) && byte == [b'\n']
}

/// Returns whether an open file still has a name.
fn is_there(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
}

fn is_at_rest(path: &Path, now: Millis) -> bool {
    files::modified(path).is_some_and(|at| Duration::from_millis(now.since(at)) > AT_REST)
}
