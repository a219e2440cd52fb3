//! The activity log: every line, and what a window of it amounts to.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_activity_log::{LogLine, TailStart, bookmarks_since_prompt, measure, covers_window};

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n').filter_map(LogLine::parse) {
        assert_eq!(LogLine::parse(line.to_string().as_bytes()), Some(line));
    }
    for reach in [TailStart::LogStart, TailStart::Midway] {
        let metrics = measure(bytes, reach);
        let _ = (metrics.estimated_tokens(), metrics.elapsed_seconds(), metrics.is_turn_running());
        let _ = (covers_window(bytes, reach), bookmarks_since_prompt(bytes, reach));
    }
});
