//! The beginning of a transcript: the folder and the time at which its session was started.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use longhaul_core::Millis;
use longhaul_transcript::{SessionMeta, parse_timestamp};
use serde::Deserialize;

use longhaul_runtime::Error;
use longhaul_runtime::TranscriptFile;

/// Maximum number of bytes read. Claude Code's own entries come first and take a few kilobytes.
const MOST: u64 = 16 * 1024 * 1024;

/// The folder and the time at which a session was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) cwd: PathBuf,
    pub(super) at: Option<Millis>,
}

#[derive(Deserialize)]
struct LineWire {
    uuid: Option<String>,
    cwd: Option<String>,
    timestamp: Option<String>,
}

impl Head {
    /// Reads a transcript up to its first entry; `None` if there is none.
    ///
    /// If the entry names no folder, it is the folder that contains the transcript.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let mut lines = BufReader::new(TranscriptFile::open(path).map_err(failed)?.take(MOST));
        let mut line = Vec::new();
        let mut first: Option<Self> = None;
        loop {
            line.clear();
            if lines.read_until(b'\n', &mut line).map_err(failed)? == 0 {
                return Ok(first);
            }
            if let Some(SessionMeta { cwd, at, is_subagent, .. }) = SessionMeta::parse(&line) {
                // The work of a subagent is recorded in the session that started it.
                let cwd = cwd.map_or_else(|| path.parent().unwrap_or(path).to_owned(), PathBuf::from);
                return Ok((!is_subagent).then_some(Self { cwd, at }));
            }
            let Ok(LineWire { uuid: Some(_), cwd, timestamp }) = serde_json::from_slice(&line) else { continue };
            let at = first.as_ref().and_then(|first| first.at).or_else(|| parse_timestamp(timestamp.as_deref()?));
            if let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) {
                return Ok(Some(Self { cwd: PathBuf::from(cwd), at }));
            }
            first.get_or_insert_with(|| Self { cwd: path.parent().unwrap_or(path).to_owned(), at });
        }
    }
}
