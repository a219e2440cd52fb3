use longhaul_memory::Kind;

use super::{Shelf, call};
use crate::recall::backlog::FEW_SEGMENTS;

#[test]
fn many_segments_become_few_and_everything_is_still_found() {
    let shelf = Shelf::new();
    let segments = "SELECT count(DISTINCT segid) FROM passage_terms_idx";
    // FTS5 merges the segments of a level by itself, so there are many only now and then.
    for turn in 0..400 {
        let id = format!("call-{turn}");
        shelf.take("s1", &[call(&id, Kind::Change, &format!("Edited file number {turn}"), turn)]);
        if shelf.count(segments) >= FEW_SEGMENTS {
            break;
        }
    }
    assert!(shelf.count(segments) >= FEW_SEGMENTS, "{}", shelf.count(segments));
    let found = "SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'edited'";
    let before = shelf.count(found);
    assert!(before > 0);
    shelf.store.merge_index(|| {}).unwrap();
    assert!(shelf.count(segments) < FEW_SEGMENTS, "{}", shelf.count(segments));
    assert_eq!(shelf.count(found), before);
    shelf.is_sound();
}

#[test]
fn the_calls_of_a_turn_are_one_segment() {
    let shelf = Shelf::new();
    let ids: Vec<String> = (0..20).map(|number| format!("call-{number}")).collect();
    let calls: Vec<_> =
        ids.iter().zip(0..).map(|(id, at)| call(id, Kind::Change, &format!("Edited {id}"), at)).collect();
    shelf.take("s1", &calls);
    assert_eq!(shelf.count("SELECT count(DISTINCT segid) FROM passage_terms_idx"), 1);
    assert_eq!(shelf.count("SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'edited'"), 20);
    shelf.is_sound();
}
