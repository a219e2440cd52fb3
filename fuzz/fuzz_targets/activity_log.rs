//! The activity log: every line, and what a window of it amounts to.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_activity_log::{Line, Reach, bookmarks_since_prompt, measure, reaches_far_enough};

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n').filter_map(Line::parse) {
        assert_eq!(Line::parse(line.to_string().as_bytes()), Some(line));
    }
    for reach in [Reach::Whole, Reach::Part] {
        let metrics = measure(bytes, reach);
        let _ = (metrics.estimated_tokens(), metrics.elapsed_seconds(), metrics.is_turn_running());
        let _ = (reaches_far_enough(bytes, reach), bookmarks_since_prompt(bytes, reach));
    }
});
