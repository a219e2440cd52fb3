//! How full a session's context is: from the end of its transcript, and from what the client has told.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_handoff::continuation::Fill;
use longhaul_store::{ContextUse, Store};
use longhaul_transcript::{Filled, Listener, Told, Usage, latest_usage};

use crate::{Error, bounded_read, files};

/// A single entry can be 100 KB; the newest usage stands within the last few.
const MAX_TAIL: usize = 512 * 1024;

/// Returns whether the last thing in the transcript is that the user interrupted.
pub(crate) fn ends_in_interrupt(transcript: &Path) -> bool {
    let tail = bounded_read::open(transcript).ok().and_then(|file| files::tail(&file, MAX_TAIL).ok());
    tail.is_some_and(|(tail, _)| longhaul_transcript::ends_in_interrupt(&tail))
}

/// Returns the newest reply's usage; `None` where the transcript is missing or tells nothing.
pub(crate) fn newest(transcript: Option<&Path>) -> Option<Usage> {
    let file = bounded_read::open(transcript?).ok()?;
    let (tail, _) = files::tail(&file, MAX_TAIL).ok()?;
    latest_usage(&tail)
}

/// Returns how full a session's context is, by everything that `contexts` and its transcript tell.
pub fn how_full<'a>(
    session: &str,
    usage: Option<&'a Usage>,
    contexts: &'a [ContextUse],
    windows: &BTreeMap<String, u64>,
) -> Filled<'a> {
    let own = contexts.iter().find(|context| context.session == session);
    let others = contexts.iter().filter(|context| context.session != session);
    longhaul_transcript::fill(usage, own.map(told), others.map(told), windows)
}

/// Returns how full a session's context is, as the monitor shows it; `None` where nobody knows.
pub(crate) fn fill(
    store: &Store,
    session: &str,
    transcript: Option<&Path>,
    windows: &BTreeMap<String, u64>,
) -> Result<Option<Fill>, Error> {
    let usage = newest(transcript);
    let contexts = store.contexts_for(session)?;
    let filled = how_full(session, usage.as_ref(), &contexts, windows);
    Ok(filled.tokens.map(|tokens| Fill { tokens, window: filled.window }))
}

fn told(context: &ContextUse) -> Told<'_> {
    // The status line is always told the model, the bridge never.
    let to = if context.model.is_some() { Listener::StatusLine } else { Listener::Bridge };
    Told {
        model: context.model.as_deref(),
        tokens: context.used_tokens,
        window: context.window_tokens,
        at: context.recorded_at,
        to,
    }
}

/// Returns how full a context is by what the client told.
pub(crate) fn told_fill(told: &ContextUse) -> Option<Fill> {
    Some(Fill { tokens: told.used_tokens?, window: told.window_tokens? })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use longhaul_store::ContextUse;
    use longhaul_transcript::{Listener, WindowFrom};

    use super::how_full;

    #[test]
    fn what_only_the_bridge_was_told_is_said_to_be_from_it() {
        let bridge = ContextUse { session: "s".to_owned(), window_tokens: Some(300), ..ContextUse::default() };
        let status_line = ContextUse { model: Some("m".to_owned()), ..bridge.clone() };
        for (context, listener) in [(bridge, Listener::Bridge), (status_line, Listener::StatusLine)] {
            let contexts = [context];
            assert_eq!(how_full("s", None, &contexts, &BTreeMap::new()).from, WindowFrom::Told(listener));
        }
    }
}
