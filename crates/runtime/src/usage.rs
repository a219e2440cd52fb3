//! How full a session's context is, from the end of its transcript.

use std::fs::File;
use std::path::Path;

use longhaul_transcript::{Usage, latest_usage};

use crate::files;

/// A single entry can be 100 KB; the newest usage stands within the last few.
const MAX_TAIL: usize = 512 * 1024;

/// Returns the newest reply's usage; `None` where the transcript is missing or tells nothing.
pub(crate) fn newest(transcript: Option<&Path>) -> Option<Usage> {
    let file = File::open(transcript?).ok()?;
    let (tail, _) = files::tail(&file, MAX_TAIL).ok()?;
    latest_usage(&tail)
}
