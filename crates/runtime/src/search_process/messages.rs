//! What a hook and the search process send each other: one JSON object each, then the end of the stream.

use std::io::{self, Read};

use longhaul_store::{RecordId, What};
use serde::{Deserialize, Serialize};

use crate::memory::recalled_text::RecalledText;

/// Maximum size of a message, in bytes. A prompt and an answer have far less.
const MAX_BYTES: u64 = 256 * 1024;

/// The space for a message before it is read: most are shorter.
const USUAL_BYTES: usize = 4 * 1024;

/// A prompt to search for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) session: String,
    /// The prompt, without its private text.
    pub(super) text: String,
    /// The offset of the hook's time zone.
    pub(super) utc_offset_seconds: i32,
}

/// What is shown with the prompt.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    /// The text; empty if there is nothing to show.
    text: String,
    /// The names of the records that it is made of.
    records: Vec<String>,
}

impl From<RecalledText> for Answer {
    fn from(recalled: RecalledText) -> Self {
        Self { text: recalled.text, records: recalled.records.iter().map(ToString::to_string).collect() }
    }
}

impl Answer {
    /// Returns the text; `None` if a record has no valid name.
    pub(super) fn into_recalled(self) -> Option<RecalledText> {
        let records: Option<Vec<RecordId>> =
            self.records.iter().map(|name| RecordId::parse(name, What::Prompt)).collect();
        Some(RecalledText { text: self.text, records: records? })
    }
}

/// Reads a message to its end.
pub(super) fn read(stream: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    stream.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= MAX_BYTES => Ok(bytes),
        _ => Err(io::Error::other("the message is too long")),
    }
}
