//! What a session has been shown of earlier ones, so that nothing is recalled for it again.
//!
//! `sessions/<id>.shown`, a line for each time: `p` and the ids of records that a prompt brought, or `s` and hashes of the
//! sentences that the page or a handoff showed. No text, so that nothing of a forgotten record is left here.

use std::collections::HashSet;

use longhaul_core::SessionId;
use longhaul_memory::said_parts;
use longhaul_store::{RecordId, What};

use crate::{Error, Home, bounded_read, files};

/// Marks ids of records that a prompt has brought.
const BY_PROMPT: &str = "p";

/// Marks hashes of what was shown at the start.
const AT_START: &str = "s";

/// What a session has been shown.
#[derive(Debug, Default)]
pub(crate) struct ShownRecords {
    /// Records that its prompts have brought.
    pub(crate) recalled: Vec<RecordId>,
    /// Hashes of the sentences that it was shown at its start.
    pub(crate) said: HashSet<u32>,
}

impl ShownRecords {
    /// Reads it; nothing where nothing was shown.
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

/// Notes that a prompt has brought records.
pub(crate) fn note_recalled(home: &Home, session: &SessionId, records: &[RecordId]) -> Result<(), Error> {
    let ids: Vec<String> = records.iter().map(ToString::to_string).collect();
    append(home, session, BY_PROMPT, &ids)
}

/// Notes what a text says that the session is shown.
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
