//! Finding the handoff that was asked for: in the reply, or in a file. The caller reads the files, and chooses the name of
//! the one that is not [`MARKER_FILE`].

use longhaul_core::Millis;

use super::handoff_document::Document;

/// The name of the file whose presence alone means that the work is to be continued.
pub const MARKER_FILE: &str = "handoff-continue.md";

/// How far in the future a file's time may be, because file systems and clocks differ. A later time is not valid.
const SLACK_MS: u64 = 5_000;

/// The kind of a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenKind {
    /// A handoff, whose front matter says whether to continue.
    Handoff,
    /// A marker, whose presence means that the work is to be continued.
    Marker,
}

/// A handoff that the model wrote into a file, instead of replying with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// The kind of file.
    pub kind: WrittenKind,
    /// The time at which it was last modified.
    pub modified: Millis,
    /// The text of the file.
    pub text: String,
}

/// Returns whether a text is a handoff with `nonce` that says to continue.
pub(super) fn says_to_go_on(text: &str, nonce: &str) -> bool {
    Document::parse_answer(text, nonce).is_ok_and(|document| document.goes_on && document.answers(nonce))
}

/// Finds the handoff with `nonce` that was asked for at the time `asked`: in the reply, or else in a file written since.
///
/// The error describes why there is none.
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
