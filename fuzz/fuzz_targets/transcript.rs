//! A transcript, whole and in two pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_transcript::{Reader, ends_in_interrupt, latest_usage, parse_timestamp, replaced_turns};

fuzz_target!(|bytes: &[u8]| {
    let mut whole = Reader::default();
    whole.feed(bytes);
    let whole = whole.take();
    let mut pieces = Reader::default();
    let (first, second) = bytes.split_at(bytes.len() / 2);
    pieces.feed(first);
    pieces.feed(second);
    assert_eq!(pieces.take(), whole);
    for turn in &whole.turns {
        let _ = (turn.reply(), turn.details().count());
    }
    let _ = (replaced_turns(&whole.links), latest_usage(bytes), ends_in_interrupt(bytes));
    let _ = std::str::from_utf8(bytes).map(parse_timestamp);
});
