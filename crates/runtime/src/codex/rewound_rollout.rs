//! The turns that a rewind in Codex took back.
//!
//! Codex changes no rollout. After a rewind it writes a new one for the same session, whose first line says up to which
//! line the earlier ones are still part of the conversation.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use longhaul_transcript::{HistoryBase, Reader, RolloutName, SessionMeta, line_number};

use crate::Error;
use crate::transcript_file::TranscriptFile;

/// Maximum length of the first line, which contains the instructions for the model.
const FIRST_LINE: u64 = 4 * 1024 * 1024;

/// Maximum number of bytes read of an earlier rollout.
const MOST: u64 = 256 * 1024 * 1024;

/// Maximum number of folder entries in which rollouts of the session are searched.
const MOST_ENTRIES: usize = 10_000;

/// Returns the ids of the turns of session `own` in earlier rollouts that the rollout `new` leaves out.
///
/// `old` is the rollout that was read before. Others of the session are searched beside both.
pub fn turns_left_out(own: &str, old: &Path, new: &Path) -> Result<Vec<String>, Error> {
    let failed = |source| Error::Read { path: new.to_owned(), source };
    let mut line = Vec::new();
    let file = TranscriptFile::open(new).map_err(failed)?;
    BufReader::new(file.take(FIRST_LINE)).read_until(b'\n', &mut line).map_err(failed)?;
    let Some(HistoryBase { rollout, end }) = SessionMeta::parse(&line).and_then(|meta| meta.base) else {
        return Ok(Vec::new());
    };
    let mut files = vec![old.to_owned()];
    files.extend(siblings(own, [old, new]));
    files.retain(|file| !is_same_or_later(file, new));
    files.sort();
    files.dedup();
    // The first rollout of a session has the id of the session.
    let is_of_session = |file: &PathBuf| RolloutName::of(file).is_some_and(|name| name.rollout == rollout);
    if rollout != own && !files.iter().any(is_of_session) {
        return Ok(Vec::new());
    }
    let mut turns = Vec::new();
    for file in &files {
        turns.extend(turns_from(file, end)?);
    }
    Ok(turns)
}

/// Returns the rollouts of a session in the folders of these files.
fn siblings(own: &str, files: [&Path; 2]) -> Vec<PathBuf> {
    let folders = files.into_iter().filter_map(Path::parent);
    let entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES));
    let is_own = |path: &PathBuf| RolloutName::of(path).is_some_and(|name| name.session == own);
    entries.map(|entry| entry.path()).filter(is_own).collect()
}

/// Returns whether a file is the rollout `new`, or was begun after it, so that `new` says nothing about it.
fn is_same_or_later(file: &Path, new: &Path) -> bool {
    let names = RolloutName::of(file).zip(RolloutName::of(new));
    file == new || names.is_some_and(|(file, new)| file.rollout >= new.rollout)
}

/// Returns the ids of the turns that begin in the lines of a rollout from the number `first` on.
fn turns_from(path: &Path, first: u64) -> Result<Vec<String>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let file = match TranscriptFile::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file.map_err(failed)?,
    };
    let mut lines = BufReader::new(file.take(MOST));
    let (mut reader, mut line) = (Reader::default(), Vec::new());
    while lines.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        if line_number(&line).is_some_and(|number| number >= first) {
            reader.feed(&line);
        }
        line.clear();
    }
    Ok(reader.take().turns.into_iter().filter(|turn| turn.begins).map(|turn| turn.id).collect())
}
