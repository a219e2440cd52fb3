use longhaul_memory::Kind;

use super::{Shelf, call};
use crate::recall::segments::FEW;

#[test]
fn many_segments_become_few_and_everything_is_still_found() {
    let shelf = Shelf::new();
    let segments = "SELECT count(DISTINCT segid) FROM passage_terms_idx";
    // FTS5 merges the segments of a level by itself, so there are many only now and then.
    for turn in 0..400 {
        let id = format!("call-{turn}");
        shelf.take("s1", &[call(&id, Kind::Change, &format!("Edited file number {turn}"), turn)]);
        if shelf.count(segments) >= FEW {
            break;
        }
    }
    assert!(shelf.count(segments) >= FEW, "{}", shelf.count(segments));
    let found = "SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'edited'";
    let before = shelf.count(found);
    assert!(before > 0);
    shelf.store.merge_index(|| {}).unwrap();
    assert!(shelf.count(segments) < FEW, "{}", shelf.count(segments));
    assert_eq!(shelf.count(found), before);
    shelf.is_sound();
}
