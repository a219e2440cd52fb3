//! Reads a transcript from the position at which the last read ended.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use longhaul_core::{Config, Millis};
use longhaul_store::{Session, Store};
use longhaul_transcript::{Batch, Cursor, Reader};

use crate::session_file::TranscriptFile;
use crate::{Deadline, Error, waiting_times};

/// Number of bytes that are read at a time and stored in one transaction.
const PIECE: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Whether the end of the file was reached.
    pub is_whole: bool,
    /// Length of a line that was skipped because it is too long; 0 if there was none.
    pub passed_over: u64,
}

/// Stores what was appended to a session's transcript since the last read: at most `most` bytes, and as far as the
/// deadline allows.
///
/// The cost depends on the new bytes, not on the size of the file. A line that is too long is read to its end
/// regardless of `most`, and never read again.
pub fn catch_up(
    store: &Store,
    session: &Session,
    config: &Config,
    now: Millis,
    most: u64,
    deadline: Option<Deadline>,
) -> Result<Progress, Error> {
    let mut progress = Progress::default();
    let Some(path) = session.transcript.as_deref().map(Path::new) else { return Ok(progress) };
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mut file = TranscriptFile::open(path).map_err(failed)?;
    let length = file.length().map_err(failed)?;
    let mut session = session.clone();
    let mut expected = session.cursor.clone();
    if length.is_some_and(|length| length < session.cursor.offset) {
        session.cursor = Cursor::default();
    }
    let mut reader = resume(&mut file, &mut session.cursor).map_err(failed)?;
    let new = length.map(|length| usize::try_from(length - session.cursor.offset).unwrap_or(PIECE));
    let mut piece = vec![0; PIECE.min(new.unwrap_or(PIECE)).max(1)];
    let mut total = 0_u64;
    // On a slow machine a piece takes long: another one must not use the time in which the end of the file is read.
    let mut slowest = Duration::ZERO;
    let left = || deadline.map_or(Duration::MAX, Deadline::left);
    while (total < most || reader.is_in_long_line()) && left() > waiting_times::TRANSCRIPT_READ_NEEDED + 2 * slowest {
        let before = left();
        let allowed = if reader.is_in_long_line() { u64::MAX } else { most - total };
        let wanted = piece.len().min(usize::try_from(allowed).unwrap_or(usize::MAX));
        let read = file.read(&mut piece[..wanted]).map_err(failed)?;
        if read == 0 {
            reader.finish();
            keep(store, &mut session, &mut expected, reader.take(), config, now)?;
            progress.is_whole = true;
            break;
        }
        total += read as u64;
        reader.feed(&piece[..read]);
        if !keep(store, &mut session, &mut expected, reader.take(), config, now)? {
            // Another hook is reading the same transcript and has read further.
            return Ok(progress);
        }
        slowest = slowest.max(before.saturating_sub(left()));
    }
    if reader.is_in_long_line() {
        progress.passed_over = reader.pass_over();
        keep(store, &mut session, &mut expected, reader.take(), config, now)?;
    }
    Ok(progress)
}

/// Stores a batch. Returns `false` if another process has stored it already.
fn keep(
    store: &Store,
    session: &mut Session,
    expected: &mut Cursor,
    batch: Batch,
    config: &Config,
    now: Millis,
) -> Result<bool, Error> {
    if batch.cursor == session.cursor {
        return Ok(true);
    }
    let is_stored = store.ingest(session, expected, &batch, config, now)?;
    expected.clone_from(&batch.cursor);
    session.cursor = batch.cursor;
    Ok(is_stored)
}

/// Returns a reader that continues at the cursor, or starts at the beginning if the file was replaced.
pub(crate) fn resume(file: &mut TranscriptFile, cursor: &mut Cursor) -> io::Result<Reader> {
    let begin = cursor.check_offset();
    let mut before = vec![0; (cursor.offset - begin) as usize];
    let there = file.go_to(begin).and_then(|()| file.read_exact(&mut before));
    match there {
        Ok(()) => {
            if let Some(reader) = Reader::resume(cursor.clone(), &before) {
                return Ok(reader);
            }
        }
        // For a compressed file, this error is the only sign that it is shorter than before.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
        Err(error) => return Err(error),
    }
    *cursor = Cursor::default();
    file.go_to(0)?;
    Ok(Reader::default())
}
