//! The context use of a session: from the end of its transcript, and from the reports of Claude Code.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_handoff::continuation::WindowUse;
use longhaul_store::{ContextUse, Store};
use longhaul_transcript::{Compacted, ContextFill, ReportedBy, ReportedContext, Usage, latest_usage};

use crate::{Error, bounded_read, files};

/// Number of bytes read from the end. One entry can have 100 KB, and the newest usage is in one of the last few.
const MAX_TAIL: usize = 512 * 1024;

/// The same, for a compaction of Codex: its entry repeats the user's prompts.
const MAX_COMPACTED: usize = 2 * 1024 * 1024;

/// Returns whether the transcript ends with an interrupt by the user.
pub(crate) fn ends_in_interrupt(transcript: &Path) -> bool {
    let tail = bounded_read::open(transcript).ok().and_then(|file| files::tail(&file, MAX_TAIL).ok());
    tail.is_some_and(|(tail, _)| longhaul_transcript::ends_in_interrupt(&tail))
}

/// Returns whether the newest turn in a rollout of Codex is over.
pub(crate) fn is_turn_over(rollout: &Path) -> bool {
    let tail = bounded_read::open(rollout).ok().and_then(|file| files::tail(&file, MAX_TAIL).ok());
    tail.is_some_and(|(tail, _)| longhaul_transcript::is_turn_over(&tail))
}

/// Returns what the model is shown after the newest compaction in a rollout of Codex.
pub(crate) fn compacted(rollout: &Path) -> Option<Compacted> {
    let file = bounded_read::open(rollout).ok()?;
    Compacted::newest(&files::tail(&file, MAX_COMPACTED).ok()?.0)
}

/// Returns the usage of the newest reply; `None` if the transcript is missing or contains none.
pub(crate) fn newest(transcript: Option<&Path>) -> Option<Usage> {
    let file = bounded_read::open(transcript?).ok()?;
    let (tail, _) = files::tail(&file, MAX_TAIL).ok()?;
    latest_usage(&tail)
}

/// Returns the context use of a session, from the reports in `contexts` and from its transcript.
pub fn how_full<'a>(
    session: &str,
    usage: Option<&'a Usage>,
    contexts: &'a [ContextUse],
    windows: &BTreeMap<String, u64>,
) -> ContextFill<'a> {
    let own = contexts.iter().find(|context| context.session == session);
    let others = contexts.iter().filter(|context| context.session != session);
    longhaul_transcript::context_fill(usage, own.map(reported), others.map(reported), windows)
}

/// Returns the context use of a session, as the monitor shows it; `None` if it is not known.
pub(crate) fn fill(
    store: &Store,
    session: &str,
    transcript: Option<&Path>,
    windows: &BTreeMap<String, u64>,
) -> Result<Option<WindowUse>, Error> {
    let usage = newest(transcript);
    let contexts = store.contexts_for(session)?;
    let filled = how_full(session, usage.as_ref(), &contexts, windows);
    Ok(filled.tokens.map(|tokens| WindowUse { tokens, window: filled.window }))
}

fn reported(context: &ContextUse) -> ReportedContext<'_> {
    // The status line always gets the model, the bridge never does.
    let by = if context.model.is_some() { ReportedBy::StatusLine } else { ReportedBy::Bridge };
    let mut reported = ReportedContext::new(context.recorded_at, by);
    reported.model = context.model.as_deref();
    reported.tokens = context.used_tokens;
    reported.window = context.window_tokens;
    reported
}

/// Returns the context use that Claude Code reported.
pub(crate) fn reported_fill(reported: &ContextUse) -> Option<WindowUse> {
    Some(WindowUse { tokens: reported.used_tokens?, window: reported.window_tokens? })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use longhaul_store::ContextUse;
    use longhaul_transcript::{ReportedBy, WindowSource};

    use super::how_full;

    #[test]
    fn a_report_without_a_model_comes_from_the_bridge() {
        let bridge = ContextUse { session: "s".to_owned(), window_tokens: Some(300), ..ContextUse::default() };
        let status_line = ContextUse { model: Some("m".to_owned()), ..bridge.clone() };
        for (context, by) in [(bridge, ReportedBy::Bridge), (status_line, ReportedBy::StatusLine)] {
            let contexts = [context];
            assert_eq!(how_full("s", None, &contexts, &BTreeMap::new()).source, WindowSource::Reported(by));
        }
    }
}
