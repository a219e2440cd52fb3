//! The spool: tool calls that PostToolUse has recorded and that are not in the database yet, and prompts and bookmarks that
//! found the database locked.
//!
//! The file is `spool/<session>.jsonl`, with a line for every call, read from where the last read ended. A writer locks
//! the file: shared for a short line, exclusively for a long one. A process that removes the file locks it exclusively,
//! so that nothing is written between the last read and the removal. A process that stores the position holds a shared
//! lock and checks that the file still exists, because the position does not apply to the next spool.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt as _, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs2::FileExt;
use longhaul_core::{Millis, SessionId};
use longhaul_memory::Call;

use crate::{Error, Home, bounded_read, files};

/// A write of up to this many bytes is atomic among concurrent writers.
const ATOMIC: usize = 4096;

/// A spool of at least this size is removed after it was read.
const LARGE: u64 = 4 * 1024 * 1024;

/// Number of bytes read at a time.
const PIECE: usize = 4 * 1024 * 1024;

/// A spool that was not written for this long is removed at any size.
const AT_REST: Duration = Duration::from_secs(60);

/// The result of a read, and the position for the next one.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The calls, in the order in which they were recorded.
    pub(crate) calls: Vec<Call>,
    /// The position up to which the file was read.
    pub(crate) position: u64,
    file: Option<File>,
}

impl Notes {
    /// Prevents the spool from being removed while these notes exist. Returns whether it is still the spool that was
    /// read.
    ///
    /// Does not block: a process that removes the spool may be waiting for a lock that the caller holds.
    pub(crate) fn hold(&self) -> bool {
        self.file.as_ref().is_some_and(|file| FileExt::try_lock_shared(file).is_ok() && is_there(file))
    }
}

#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
}

impl Spool {
    /// Returns the spool of a session, which need not exist.
    pub(crate) fn of(home: &Home, session: &SessionId) -> Self {
        Self { path: home.spool().join(format!("{}.jsonl", session.file_stem())) }
    }

    pub(crate) fn sessions(home: &Home) -> Vec<SessionId> {
        let entries = fs::read_dir(home.spool()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| SessionId::from_file_stem(name.strip_suffix(".jsonl")?)).collect()
    }

    /// Appends a call.
    ///
    /// The line starts with a newline, so that an incomplete line before it, caused by a full disk, does not damage it.
    pub(crate) fn append(&self, call: &Call) -> Result<(), Error> {
        let line = format!("\n{}\n", call.to_line());
        let failed = |source| Error::Write { path: self.path.clone(), source };
        loop {
            let mut file = files::open_append(&self.path)?;
            let locked = if line.len() > ATOMIC { file.lock_exclusive() } else { FileExt::lock_shared(&file) };
            locked.map_err(failed)?;
            // The file may have been removed between opening and locking, and then the line would be lost.
            if is_there(&file) {
                // Closing the file releases the lock.
                return file.write_all(line.as_bytes()).map_err(failed);
            }
        }
    }

    pub(crate) fn has_more(&self, position: u64) -> bool {
        fs::metadata(&self.path).is_ok_and(|file| file.len() != position)
    }

    pub(crate) fn read(&self, position: u64) -> Result<Notes, Error> {
        read(&self.path, position)
    }

    /// Returns whether a spool that was read up to `position` should be removed.
    pub(crate) fn is_worth_emptying(&self, position: u64, now: Millis) -> bool {
        position >= LARGE || (position > 0 && is_at_rest(&self.path, now))
    }

    /// Removes the spool if there is no data after `position` and `note` returns `true`.
    ///
    /// `note` resets the position in the database first: if the file remains, it is only read again. If `note` finds
    /// another position, this is another file of the same length, which was not read yet.
    pub(crate) fn empty(&self, position: u64, note: impl FnOnce() -> Result<bool, Error>) -> Result<bool, Error> {
        let Ok(file) = bounded_read::open(&self.path) else { return Ok(false) };
        // Another process is writing. The next call tries again.
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
            // No hook writes a line of this length, so it is skipped.
            None if read == PIECE => start += read as u64,
            // A line that is being written is read next time, and so is a skipped line without an end.
            None => return Ok(Notes { position: begin, file: Some(file), ..Notes::default() }),
        }
    };
    let text = String::from_utf8_lossy(&bytes[..read]);
    let calls = text.lines().filter_map(Call::from_line).collect();
    Ok(Notes { calls, position: start + read as u64, file: Some(file) })
}

/// Returns whether a read can have ended at `position`. If not, it was a read of another file with the same name.
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
