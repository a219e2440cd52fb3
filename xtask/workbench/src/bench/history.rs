//! The activity log of a session before a run.

use std::time::{SystemTime, UNIX_EPOCH};

use longhaul_activity_log::LogLine;
use longhaul_core::Millis;

use super::rows::Log;

/// Returns the lines of a log that ends at `now`.
pub(crate) fn lines(log: Log, now: Millis) -> Vec<LogLine> {
    let ago = |ms: u64| Millis(now.0 - ms);
    let calls = |count: u64| (1..=count).rev().map(move |n| LogLine::Tool { at: ago(n * 100), chars: 400 });
    let prompt = LogLine::Prompt { at: ago(10_000) };
    match log {
        Log::None | Log::AsItIs => Vec::new(),
        Log::Short => std::iter::once(prompt).chain(calls(5)).collect(),
        Log::Due => std::iter::once(prompt).chain(calls(20)).collect(),
        Log::Long(count) => {
            // As in a real long session: a bookmark after every fifteen calls, with its injection before it.
            let old = (6..count).rev().map(|left| {
                let at = ago(left * 900 + 100_000);
                match left % 17 {
                    6 => LogLine::Bookmark { at },
                    7 => LogLine::Injection { at },
                    _ => LogLine::Tool { at, chars: 400 },
                }
            });
            old.chain(lines(Log::Short, now)).collect()
        }
    }
}

/// Returns the current time.
#[expect(clippy::disallowed_methods, reason = "rows that type a bookmark run in real time")]
pub(crate) fn now() -> Millis {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(elapsed.as_millis()).unwrap_or_default())
}
