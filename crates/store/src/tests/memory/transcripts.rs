use longhaul_core::{Config, Millis};
use longhaul_memory::Kind;
use longhaul_transcript::{Batch, Cursor, SourcedText, ToolCall, Turn};

use super::{Shelf, call};
use crate::{RecordId, What};

/// A transcript with one turn and one call.
fn batch(call: &str) -> Batch {
    let mut call = ToolCall::new(call);
    call.at = Some(Millis(20));
    call.name = Some("Bash".to_owned());
    call.input = Some("from the transcript".to_owned());
    call.output = Some("from the transcript".to_owned());
    let mut turn = Turn::new("u1");
    turn.at = Some(Millis(10));
    turn.prompt = Some(SourcedText::new("u1", Some(Millis(10)), "make it"));
    turn.calls = vec![call];
    let mut batch = Batch::default();
    batch.cursor.offset = 100;
    batch.turns = vec![turn];
    batch
}

#[test]
fn the_transcript_corrects_what_memory_has_put_there() {
    let shelf = Shelf::new();
    shelf.take("s1", &[call("t", Kind::Command, "Ran make", 15)]);
    assert_eq!(shelf.count("SELECT count(*) FROM details WHERE turn IS NULL"), 1);
    let session = shelf.store.session("s1").unwrap().unwrap();
    assert!(shelf.store.ingest(&session, &Cursor::default(), &batch("t"), &Config::default(), Millis(30)).unwrap());
    assert_eq!(shelf.count("SELECT count(*) FROM details"), 1);
    let right = "turn = 1 AND (input_text, output_text) = ('from the transcript', 'from the transcript')";
    assert_eq!(shelf.count(&format!("SELECT count(*) FROM details WHERE {right}")), 1);
    let turns = shelf.store.turns("s1", None, 5).unwrap().0;
    assert_eq!(turns.len(), 1);
    assert!(turns[0].skeleton.contains("make it"), "{}", turns[0].skeleton);
}

#[test]
fn the_transcript_does_not_bring_back_what_was_forgotten() {
    let shelf = Shelf::new();
    shelf.take("s1", &[call("t", Kind::Command, "Ran make", 15)]);
    shelf.store.forget(RecordId { what: What::Observation, id: 1 }).unwrap();
    let session = shelf.store.session("s1").unwrap().unwrap();
    shelf.store.ingest(&session, &Cursor::default(), &batch("t"), &Config::default(), Millis(30)).unwrap();
    assert_eq!(shelf.count("SELECT count(*) FROM details"), 0);
}
