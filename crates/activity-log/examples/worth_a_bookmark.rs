//! Decides from a session's activity log whether a bookmark is due, and prints the reason.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use longhaul_activity_log::{BookmarkVerdict, Situation, TailStart, decide, measure};
use longhaul_core::{Config, Millis};

fn main() {
    let (config, _) = Config::from_json(r#"{"bookmarks": {"thresholds": {"min_tool_calls": 3}}}"#);
    let mut log = String::from("P 1000\nB 2000\n");
    for call in 1..=4_u64 {
        let now = Millis(100_000 * call);
        log.push_str(&format!("T {now} 1200\n"));
        let metrics = measure(log.as_bytes(), TailStart::LogStart);
        match decide(Situation::ToolCall, &config.bookmarks, true, &metrics, now) {
            BookmarkVerdict::Inject(reason) => println!("call {call}: a bookmark, after {reason}"),
            BookmarkVerdict::Skip(skip) => println!("call {call}: none, {skip}"),
        }
    }
}
