//! What single sessions cost so far, read again and again while they run.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use longhaul_cost::{Ledger, Prices, Sum};
use longhaul_runtime::transcript_place;

use crate::followed_file::FollowedFile;
use crate::usage_files::usage_files;

/// Number of bytes that are read at a time.
const PIECE: usize = 256 * 1024;

/// The tokens and the cost of running sessions. Reads only what was added to a transcript since the last call.
#[derive(Debug, Default)]
pub struct SessionCosts {
    sessions: HashMap<PathBuf, FollowedSession>,
}

/// A session whose transcripts are read as they grow.
#[derive(Debug, Default)]
struct FollowedSession {
    ledger: Ledger,
    files: HashMap<PathBuf, FollowedFile>,
}

impl SessionCosts {
    /// Returns the tokens and the cost of a session so far, with those of its subagents.
    ///
    /// `transcript` is the path of the session's transcript, which of a session of Claude Code is named by its id. Requests that
    /// a forked session has copied belong to the original session. What cannot be read counts nothing, and is tried again
    /// at the next call. The first call reads the whole transcript; later ones cost a look at the size of each file.
    pub fn of(&mut self, transcript: &Path, prices: &Prices) -> Sum {
        let session = transcript.file_stem().unwrap_or_default().to_string_lossy();
        let followed = self.sessions.entry(transcript.to_owned()).or_default();
        let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        // Codex compresses a rollout that was not changed for a while.
        let place = transcript_place(transcript).unwrap_or_else(|| transcript.to_owned());
        let subagents = usage_files(&[transcript.with_extension("")]).into_iter().map(|file| (file.path, file.bytes));
        let files: Vec<(PathBuf, u64)> = std::iter::once((place.clone(), length(&place))).chain(subagents).collect();
        followed.read(&files, &session);
        followed.ledger.session(&session, prices)
    }

    /// Forgets every session but those with these transcripts.
    pub fn keep_only(&mut self, transcripts: &[&Path]) {
        self.sessions.retain(|transcript, _| transcripts.contains(&transcript.as_path()));
    }
}

impl FollowedSession {
    fn read(&mut self, files: &[(PathBuf, u64)], session: &str) {
        let has_shrunk =
            |(path, length): &(PathBuf, u64)| self.files.get(path).is_some_and(|file| file.has_shrunk_to(*length));
        if files.iter().any(has_shrunk) {
            *self = Self::default();
        }
        let Self { ledger, files: followed } = self;
        let project = ledger.project("", "");
        let mut piece = Vec::new();
        for (path, length) in files {
            let file = followed.entry(path.clone()).or_insert_with(|| FollowedFile::new(path));
            let is_rollout = file.is_rollout();
            if file.is_read_to(*length) {
                continue;
            }
            piece.resize(PIECE, 0);
            // After an error, the next call tries again.
            let _ = file.read(path, *length, &mut piece, |mut line| {
                // A rollout has one session, and its file has another name.
                if is_rollout {
                    line.session = None;
                }
                ledger.add(&line, session, project);
            });
        }
    }
}
