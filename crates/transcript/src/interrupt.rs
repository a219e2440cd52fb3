//! Whether the user pressed Esc: no hook tells, the transcript does.

use serde::Deserialize;

use crate::rollout;

/// How the client notes an interrupt, as a message of the user.
const MARKER: &str = "[Request interrupted by user";

#[derive(Deserialize)]
struct EntryWire<'a> {
    #[serde(rename = "type", borrow)]
    kind: &'a str,
    #[serde(default, rename = "isSidechain")]
    is_sidechain: bool,
}

/// Returns whether the newest message of the main loop is the note of an interrupt.
///
/// Lines that are cut, half written or of another kind are passed over. Of a rollout: whether its last turn was aborted.
pub fn ends_in_interrupt(tail: &[u8]) -> bool {
    let newest = tail.rsplit(|byte| *byte == b'\n').find(|line| {
        let entry = serde_json::from_slice::<EntryWire<'_>>(line);
        entry.is_ok_and(|entry| matches!(entry.kind, "user" | "assistant") && !entry.is_sidechain)
    });
    match newest {
        Some(line) => line.windows(MARKER.len()).any(|window| window == MARKER.as_bytes()),
        None => rollout::ends_aborted(tail),
    }
}
