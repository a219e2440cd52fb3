//! Reads the last turns from the end of a transcript that is too large to be read as a whole at once.

use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom};

use longhaul_core::Config;
use longhaul_store::{BOOKMARK, Session, Store, Turn, turn_role};
use longhaul_transcript::{Batch, Reader, replaced_turns};

use crate::{Error, Sanitizer, bounded_read};

/// Number of bytes read from the end; the second is used if the first contain no prompt.
const TAILS: [u64; 2] = [512 * 1024, 4 * 1024 * 1024];

/// Turns of a transcript that are not stored yet.
#[derive(Debug, Default)]
pub struct Unread {
    /// The turns, the oldest first.
    pub turns: Vec<Turn>,
    /// Whether a part of the transcript before them was not read.
    pub has_gap: bool,
}

/// Returns the turns at the end of a session's transcript that are stored neither for it nor for its `heir`, the oldest
/// first.
///
/// They are only shown. Turns are stored only by reading the file in order, so that none is stored twice.
pub(crate) fn unread_turns(store: &Store, session: &Session, heir: &str, config: &Config) -> Result<Unread, Error> {
    let Some(path) = session.transcript.as_deref() else { return Ok(Unread::default()) };
    let (mut batch, mut has_gap) = (Batch::default(), false);
    for length in TAILS {
        let read = read_tail(path, session.cursor.offset, length);
        (batch, has_gap) = read.map_err(|source| Error::Read { path: path.into(), source })?;
        let asks = |turn: &longhaul_transcript::Turn| turn.prompt.is_some() && turn.origin.is_person();
        if batch.turns.iter().any(|turn| asks(turn) && turn_role(turn, config) != BOOKMARK) {
            break;
        }
    }
    let replaced: HashSet<&str> = replaced_turns(&batch.links).into_iter().collect();
    let mut turns = Vec::new();
    let rolled_back = batch.rolled_back();
    let is_live = |turn: &&longhaul_transcript::Turn| {
        !replaced.contains(turn.id.as_str()) && !rolled_back.contains(turn.id.as_str())
    };
    for turn in batch.turns.iter().filter(is_live) {
        if !store.has_turn(&session.session, &turn.id)? && !store.has_turn(heir, &turn.id)? {
            turns.extend(shown(session, turn, config));
        }
    }
    if !turns.iter().any(|turn| turn.role == "user") {
        turns.splice(..0, running(session, &batch, Sanitizer::new(config)));
    }
    Ok(Unread { turns, has_gap })
}

/// Reads the complete lines of the last `length` bytes of a file, but none before `offset`, which is the start of a
/// line. Also returns whether there are bytes between `offset` and what was read.
fn read_tail(path: &str, offset: u64, length: u64) -> io::Result<(Batch, bool)> {
    let mut file = bounded_read::open(path.as_ref())?;
    let begin = file.metadata()?.len().saturating_sub(length).max(offset);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    let cut = if begin == offset { Some(0) } else { bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1) };
    let mut reader = Reader::default();
    reader.feed(cut.map_or(&[], |cut| &bytes[cut..]));
    reader.finish();
    Ok((reader.take(), begin > offset))
}

/// Returns a turn as it would be stored; `None` if it has no prompt or the prompt is private.
fn shown(session: &Session, turn: &longhaul_transcript::Turn, config: &Config) -> Option<Turn> {
    let sanitizer = Sanitizer::new(config);
    let asked = sanitizer.capped(&turn.prompt.as_ref()?.text);
    let replied = sanitizer.capped(&turn.reply());
    (!asked.trim().is_empty()).then(|| view(session, turn, turn_role(turn, config), asked, replied))
}

/// Returns the turn that was running where the tail of the file starts. Its prompt is known from the UserPromptSubmit
/// hook.
fn running(session: &Session, batch: &Batch, sanitizer: Sanitizer) -> Option<Turn> {
    let asked = session.last_prompt.clone()?;
    let nothing = longhaul_transcript::Turn::default();
    let turn = batch.turns.first().filter(|turn| turn.prompt.is_none()).unwrap_or(&nothing);
    let reply = turn.reply();
    // If a private passage ends in the reply, its start is before the tail.
    let ends_private = reply.to_ascii_lowercase().contains("</private");
    let replied = sanitizer.capped(&if ends_private { sanitizer.reopened(&reply) } else { reply });
    Some(view(session, turn, "user", asked, replied))
}

fn view(session: &Session, turn: &longhaul_transcript::Turn, role: &str, asked: String, replied: String) -> Turn {
    let at = turn.at.unwrap_or(session.created_at);
    Turn {
        origin: session.session.clone(),
        number: 0,
        role: role.to_owned(),
        bytes: (asked.len() + replied.len()) as u64,
        asked,
        at,
        replied,
        replied_at: turn.replies.last().and_then(|said| said.at).unwrap_or(at),
        skeleton: String::new(),
        has_detail: !turn.calls.is_empty(),
    }
}
