mod context;
mod entry;
mod reader;
mod recorded;
mod rollout;
mod turn;

use crate::{Batch, Reader};

/// Reads a whole transcript at once.
fn read(bytes: &[u8]) -> Batch {
    let mut reader = Reader::default();
    reader.feed(bytes);
    reader.take()
}

/// The recorded transcripts, with their names.
const RECORDED: [(&str, &str); 9] = [
    ("compact", include_str!("tests/transcripts/compact.jsonl")),
    ("failing-tool", include_str!("tests/transcripts/failing-tool.jsonl")),
    ("interrupted", include_str!("tests/transcripts/interrupted.jsonl")),
    ("parallel", include_str!("tests/transcripts/parallel.jsonl")),
    ("permission-denied", include_str!("tests/transcripts/permission-denied.jsonl")),
    ("rewound", include_str!("tests/transcripts/rewound.jsonl")),
    ("stop-blocked", include_str!("tests/transcripts/stop-blocked.jsonl")),
    ("subagents", include_str!("tests/transcripts/subagents.jsonl")),
    ("tools", include_str!("tests/transcripts/tools.jsonl")),
];
