//! Reading a transcript from where the last reading ended.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use longhaul_core::Millis;
use longhaul_store::{Session, Store};
use longhaul_transcript::{Batch, Cursor, Reader};

use crate::{Deadline, Error, Keeper, files};

/// How much is read at a time, and stored in one transaction.
const PIECE: usize = 1024 * 1024;

/// With less time than this left, the rest is left to the next time.
const TIME_NEEDED: std::time::Duration = std::time::Duration::from_millis(300);

/// How far a reading came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Whether the file's end was reached.
    pub is_whole: bool,
    /// How long a line was that was passed over, because it is too long; 0 where there was none.
    pub passed_over: u64,
}

/// Takes in what a session's transcript has grown by, `most` bytes of it, as far as the time allows.
///
/// Cost follows what is new, not how large the file is. A line that is too long is read to its end whatever `most` says,
/// and never again.
pub fn catch_up(
    store: &mut Store,
    session: &Session,
    keeper: Keeper,
    now: Millis,
    most: u64,
    deadline: Option<Deadline>,
) -> Result<Progress, Error> {
    let mut progress = Progress::default();
    let Some(path) = session.transcript.as_deref().map(Path::new) else { return Ok(progress) };
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mut file = files::open_plain(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut session = session.clone();
    let mut expected = session.cursor.clone();
    if metadata.len() < session.cursor.offset {
        session.cursor = Cursor::default();
    }
    let mut reader = resume(&mut file, &mut session).map_err(failed)?;
    let mut piece = vec![0; PIECE.min(usize::try_from(metadata.len() - session.cursor.offset).unwrap_or(PIECE).max(1))];
    let mut total = 0_u64;
    while (total < most || reader.is_in_long_line()) && deadline.is_none_or(|deadline| deadline.left() > TIME_NEEDED) {
        let left = if reader.is_in_long_line() { u64::MAX } else { most - total };
        let wanted = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = file.read(&mut piece[..wanted]).map_err(failed)?;
        if read == 0 {
            progress.is_whole = true;
            break;
        }
        total += read as u64;
        reader.feed(&piece[..read]);
        if !keep(store, &mut session, &mut expected, reader.take(), keeper, now)? {
            // Another hook reads the same at this moment, and has come further.
            return Ok(progress);
        }
    }
    if reader.is_in_long_line() {
        progress.passed_over = reader.pass_over();
        keep(store, &mut session, &mut expected, reader.take(), keeper, now)?;
    }
    Ok(progress)
}

/// Stores what a piece brought; returns whether it was this reading's to store.
fn keep(
    store: &mut Store,
    session: &mut Session,
    expected: &mut Cursor,
    batch: Batch,
    keeper: Keeper,
    now: Millis,
) -> Result<bool, Error> {
    if batch.cursor == session.cursor {
        return Ok(true);
    }
    let is_stored = store.ingest(session, expected, &batch, &keeper, now)?;
    expected.clone_from(&batch.cursor);
    session.cursor = batch.cursor;
    Ok(is_stored)
}

/// Returns a reader that goes on where the last one ended, or begins anew where the file is another.
fn resume(file: &mut File, session: &mut Session) -> std::io::Result<Reader> {
    let begin = session.cursor.check_offset();
    let mut before = vec![0; (session.cursor.offset - begin) as usize];
    file.seek(SeekFrom::Start(begin))?;
    file.read_exact(&mut before)?;
    if let Some(reader) = Reader::resume(session.cursor.clone(), &before) {
        return Ok(reader);
    }
    session.cursor = Cursor::default();
    file.seek(SeekFrom::Start(0))?;
    Ok(Reader::default())
}
