//! Where the handoff is that was asked for.

use longhaul_core::Millis;

use super::document::Document;

/// The file whose mere presence means to go on.
pub const MARKER_FILE: &str = "handoff-continue.md";

/// How far ahead a file's time may be: file systems and clocks differ a little. One from the future is always fresh.
const SLACK_MS: u64 = 5_000;

/// What a written file says by being there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenKind {
    /// What it says in its front matter.
    Handoff,
    /// That the work goes on.
    Marker,
}

/// A handoff that was written into a file, although a reply was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// Which of the two files it is.
    pub kind: WrittenKind,
    /// When it was last written.
    pub modified: Millis,
    /// Its text.
    pub text: String,
}

/// Returns whether a text is a handoff that carries `nonce` and says to go on.
pub(super) fn says_to_go_on(text: &str, nonce: &str) -> bool {
    Document::parse_answer(text, nonce).is_ok_and(|document| document.goes_on && document.answers(nonce))
}

/// Finds the handoff that answers what was asked at `asked` with `nonce`: the reply, else a file written since.
///
/// Returns why there is none: an answer to an older question, or none at all.
pub fn find_handoff(
    reply: &str,
    files: &[WrittenFile],
    nonce: &str,
    asked: Millis,
    now: Millis,
) -> Result<Document, String> {
    let from_reply = Document::parse_answer(reply, nonce);
    if let Ok(document) = &from_reply
        && document.answers(nonce)
    {
        return Ok(document.clone());
    }
    let is_fresh = |file: &&WrittenFile| file.modified >= asked && file.modified.0 <= now.0 + SLACK_MS;
    for file in files.iter().filter(is_fresh).filter(|file| !file.text.trim().is_empty()) {
        match (file.kind, Document::parse_answer(&file.text, nonce)) {
            (WrittenKind::Handoff, Ok(document)) if document.answers(nonce) => return Ok(document),
            (WrittenKind::Marker, Ok(document)) => return Ok(Document { goes_on: true, ..document }),
            (WrittenKind::Marker, Err(_)) => {
                let body = file.text.trim().to_owned();
                return Ok(Document { goes_on: true, body, ..Document::default() });
            }
            (WrittenKind::Handoff, _) => {}
        }
    }
    Err(match from_reply {
        Ok(Document { nonce: None, .. }) => "the reply's front matter has no nonce".to_owned(),
        Ok(_) => "the reply answers another question: its nonce is wrong".to_owned(),
        Err(malformed) => format!("the reply is no handoff: {malformed}"),
    })
}
