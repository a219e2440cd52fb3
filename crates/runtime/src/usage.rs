//! How full a session's context is, from the end of its transcript.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_handoff::continuation::Fill;
use longhaul_store::{ContextUse, Store};
use longhaul_transcript::{Usage, latest_usage, window_tokens};

use crate::{Error, files};

/// A single entry can be 100 KB; the newest usage stands within the last few.
const MAX_TAIL: usize = 512 * 1024;

/// Returns whether the last thing in the transcript is that the user interrupted.
pub(crate) fn ends_in_interrupt(transcript: &Path) -> bool {
    let tail = files::open_plain(transcript).ok().and_then(|file| files::tail(&file, MAX_TAIL).ok());
    tail.is_some_and(|(tail, _)| longhaul_transcript::ends_in_interrupt(&tail))
}

/// Returns the newest reply's usage; `None` where the transcript is missing or tells nothing.
pub(crate) fn newest(transcript: Option<&Path>) -> Option<Usage> {
    let file = files::open_plain(transcript?).ok()?;
    let (tail, _) = files::tail(&file, MAX_TAIL).ok()?;
    latest_usage(&tail)
}

/// Returns how full a session's context is: as the client told its status line, else as its transcript tells.
///
/// The status line's word is the client's own, and counts unless a reply came after it. `None` where neither knows.
pub(crate) fn fill(
    store: &Store,
    session: &str,
    transcript: Option<&Path>,
    windows: &BTreeMap<String, u64>,
) -> Result<Option<Fill>, Error> {
    let usage = newest(transcript);
    let told = store.context(session)?;
    let replied = usage.as_ref().and_then(|usage| usage.at);
    let fresh = told.as_ref().filter(|told| replied.is_none_or(|at| at <= told.recorded_at));
    let tokens = fresh.and_then(|told| told.used_tokens).or(usage.as_ref().map(|usage| usage.tokens));
    let Some(tokens) = tokens else { return Ok(None) };
    let model = usage.as_ref().and_then(|usage| usage.model.as_deref());
    let window = told.and_then(|told| told.window_tokens).unwrap_or_else(|| window_tokens(model, tokens, windows));
    Ok(Some(Fill { tokens, window }))
}

/// Returns how full a context is by what the client told.
pub(crate) fn told_fill(told: &ContextUse) -> Option<Fill> {
    Some(Fill { tokens: told.used_tokens?, window: told.window_tokens? })
}
