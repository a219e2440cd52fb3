//! How full a session's context is, from the end of its transcript.

use std::fs::File;
use std::path::Path;

use longhaul_transcript::{Usage, latest_usage};

use crate::files;

/// A single entry can be 100 KB; the newest usage stands within the last few.
const MAX_TAIL: usize = 512 * 1024;

/// Returns whether the last thing in the transcript is that the user interrupted.
pub(crate) fn ends_in_interrupt(transcript: &Path) -> bool {
    let tail = File::open(transcript).ok().and_then(|file| files::tail(&file, MAX_TAIL).ok());
    tail.is_some_and(|(tail, _)| longhaul_transcript::ends_in_interrupt(&tail))
}

/// Returns the newest reply's usage; `None` where the transcript is missing or tells nothing.
pub(crate) fn newest(transcript: Option<&Path>) -> Option<Usage> {
    let file = File::open(transcript?).ok()?;
    let (tail, _) = files::tail(&file, MAX_TAIL).ok()?;
    latest_usage(&tail)
}
