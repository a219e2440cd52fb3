//! Detecting that the user pressed Esc. No hook reports it, the transcript shows it.

use longhaul_core::event::predicates::INTERRUPTED;
use serde::Deserialize;

use crate::rollout;

#[derive(Deserialize)]
struct EntryWire<'a> {
    #[serde(rename = "type", borrow)]
    kind: &'a str,
    #[serde(default, rename = "isSidechain")]
    is_sidechain: bool,
}

/// Returns whether the newest message of the main conversation records an interrupt.
///
/// For a rollout, returns whether its last turn was aborted. Incomplete lines and lines of other kinds are skipped.
pub fn ends_in_interrupt(tail: &[u8]) -> bool {
    let newest = tail.rsplit(|byte| *byte == b'\n').find(|line| {
        let entry = serde_json::from_slice::<EntryWire<'_>>(line);
        entry.is_ok_and(|entry| matches!(entry.kind, "user" | "assistant") && !entry.is_sidechain)
    });
    match newest {
        Some(line) => line.windows(INTERRUPTED.len()).any(|window| window == INTERRUPTED.as_bytes()),
        None => rollout::ends_aborted(tail),
    }
}
