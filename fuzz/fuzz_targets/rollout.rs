//! A rollout of Codex, whole and in two pieces, and what its head and its end say.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_transcript::{Reader, SessionMeta, merge_turns, ends_in_interrupt, latest_usage};

fuzz_target!(|bytes: &[u8]| {
    let mut reader = Reader::default();
    reader.feed(bytes);
    let whole = reader.take();
    // Taken in between, as a session's hooks do.
    let mut reader = Reader::default();
    let (first, second) = bytes.split_at(bytes.len() / 2);
    reader.feed(first);
    let mut turns = reader.take().turns;
    reader.feed(second);
    let last = reader.take();
    merge_turns(&mut turns, last.turns);
    assert_eq!((last.cursor.offset, turns.len()), (whole.cursor.offset, whole.turns.len()));
    for turn in &whole.turns {
        let _ = (turn.reply(), turn.details().count());
    }
    for line in bytes.split(|byte| *byte == b'\n') {
        let _ = SessionMeta::parse(line);
    }
    let _ = (latest_usage(bytes), ends_in_interrupt(bytes));
});
