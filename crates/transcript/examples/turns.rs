//! Reads a transcript in two parts, and prints its turns.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use longhaul_transcript::{Cursor, Reader, Turn, merge_turns};

fn main() {
    let transcript = concat!(
        r#"{"type":"user","uuid":"1","timestamp":"2026-01-31T10:00:00Z","message":{"role":"user","content":"Is it green?"}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"2","parentUuid":"1","message":{"role":"assistant","content":[{"type":"tool_use","#,
        r#""id":"t","name":"Bash","input":{"command":"make check"}}]}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"3","parentUuid":"2","message":{"role":"assistant","content":[{"type":"text","#,
        r#""text":"It is."}]}}"#,
        "\n",
    )
    .as_bytes();
    let mut turns: Vec<Turn> = Vec::new();
    let mut cursor = Cursor::default();
    // Two readings, the first of which ends in the middle of a line.
    for end in [300, transcript.len()] {
        let before = &transcript[cursor.check_offset() as usize..cursor.offset as usize];
        // A file that was replaced meanwhile is read from its beginning.
        let mut reader = Reader::resume(cursor, before).unwrap_or_default();
        let start = reader.take().cursor.offset as usize;
        reader.feed(&transcript[start..end]);
        let batch = reader.take();
        println!("read up to {} of {end} bytes", batch.cursor.offset);
        merge_turns(&mut turns, batch.turns);
        cursor = batch.cursor;
    }
    for turn in turns {
        let asked = turn.prompt.as_ref().map_or("", |said| said.text.as_str());
        let tools: Vec<&str> = turn.calls.iter().filter_map(|call| call.name.as_deref()).collect();
        println!("{asked:?} -> {tools:?} -> {:?}", turn.reply());
    }
}
