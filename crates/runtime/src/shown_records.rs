//! What a session was shown of earlier ones, so that it is not recalled again.
//!
//! The file is `sessions/<id>.shown`. Its lines are `p` with the ids of records that were added to a prompt, or `s`
//! with hashes of the sentences that the page or a handoff showed. It contains no text, so that nothing of a forgotten
//! record remains.

use std::collections::HashSet;

use longhaul_core::SessionId;
use longhaul_memory::said_parts;
use longhaul_store::{RecordId, What};

use crate::{Error, Home, bounded_read, files};

/// Marks a line with ids of records that were added to a prompt.
const BY_PROMPT: &str = "p";

/// Marks a line with hashes of sentences that were shown at the start.
const AT_START: &str = "s";

#[derive(Debug, Default)]
pub(crate) struct ShownRecords {
    /// Records that were added to its prompts.
    pub(crate) recalled: Vec<RecordId>,
    /// Hashes of the sentences that it was shown at its start.
    pub(crate) said: HashSet<u32>,
}

impl ShownRecords {
    /// Reads the file. Returns nothing if it does not exist.
    pub(crate) fn load(home: &Home, session: &SessionId) -> Self {
        let text = bounded_read::text(&path(home, session), bounded_read::LARGE).unwrap_or_default();
        let mut shown = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            match words.next() {
                Some(BY_PROMPT) => shown.recalled.extend(words.filter_map(|id| RecordId::parse(id, What::Prompt))),
                Some(AT_START) => shown.said.extend(words.filter_map(|hash| u32::from_str_radix(hash, 16).ok())),
                _ => {}
            }
        }
        shown
    }
}

/// Returns the number of passages that were added to a session's prompts.
pub fn recalled_passages(home: &Home, session: &SessionId) -> u64 {
    ShownRecords::load(home, session).recalled.len() as u64
}

/// Records that a prompt got records.
pub(crate) fn note_recalled(home: &Home, session: &SessionId, records: &[String]) -> Result<(), Error> {
    append(home, session, BY_PROMPT, records)
}

pub(crate) fn note_said(home: &Home, session: &SessionId, text: &str) -> Result<(), Error> {
    let hashes: Vec<String> = said_parts(text).into_iter().map(|hash| format!("{hash:x}")).collect();
    append(home, session, AT_START, &hashes)
}

fn append(home: &Home, session: &SessionId, by: &str, words: &[String]) -> Result<(), Error> {
    if words.is_empty() {
        return Ok(());
    }
    files::append_line(&path(home, session), &format!("{by} {}", words.join(" ")))
}

fn path(home: &Home, session: &SessionId) -> std::path::PathBuf {
    home.session_file(session, "shown")
}
