use longhaul_core::Millis;

use super::{LATER, empty, session, words};
use crate::{ModelJob, RecordId, Rest, Store, Tokens, What, Words};

/// A session with a prompt, a tool call, a summary and a reply.
fn answered(store: &Store, id: &str, at: u64) {
    session(store, id, at, false);
    store.keep_reply(id, "hook:1", Some("go"), "It is\ndone.", Millis(at + 2)).unwrap();
}

fn next(store: &Store) -> Option<ModelJob> {
    store.next_model_job(LATER, |_| true).unwrap()
}

/// Lets a model answer a job with `line` for each of its turns.
fn answer(store: &Store, job: &ModelJob, line: &str) -> usize {
    let reservation = store.reserve_tokens(job.prompt, "d", 1, 1_000).unwrap().unwrap();
    let words = Words { lines: vec![line.to_owned(); job.turns.len()], ..Words::default() };
    store.finish_model_job(reservation, job, &words, Tokens::default(), Millis(9_000)).unwrap().turns
}

fn line(store: &Store, id: &str) -> String {
    store.turns(id, None, 10).unwrap().0[0].skeleton.clone()
}

#[test]
fn a_turn_has_the_models_line_until_it_says_something_else() {
    let (_folder, store) = empty();
    answered(&store, "s", 1_000);
    let job = next(&store).unwrap();
    assert_eq!((job.turns.len(), job.turns[0].replied.as_str()), (1, "It is\ndone."));
    assert_eq!(answer(&store, &job, "by model"), 1);
    assert_eq!((line(&store, "s").as_str(), next(&store)), ("by model", None));
    // The same reply, as the transcript writes it.
    store.keep_reply("s", "hook:1", Some("go"), "It is done.", Millis(1_003)).unwrap();
    assert_eq!((line(&store, "s").as_str(), next(&store)), ("by model", None));
    store.keep_reply("s", "hook:1", Some("go"), "It was not done.", Millis(1_004)).unwrap();
    assert_eq!(line(&store, "s"), "");
    assert_eq!(next(&store).unwrap().turns.len(), 1, "a model is asked again");
}

#[test]
fn a_line_for_a_turn_that_has_gone_on_meanwhile_is_not_stored() {
    let (_folder, store) = empty();
    answered(&store, "s", 1_000);
    let job = next(&store).unwrap();
    store.keep_reply("s", "hook:1", Some("go"), "Something else.", Millis(1_004)).unwrap();
    assert_eq!((answer(&store, &job, "late"), line(&store, "s").as_str()), (0, ""));
    let job = next(&store).unwrap();
    assert_eq!((answer(&store, &job, "in time"), line(&store, "s").as_str()), (1, "in time"));
    assert_eq!(next(&store), None);
}

#[test]
fn a_turn_that_a_model_gives_no_line_for_keeps_the_rules_and_is_not_asked_about_again() {
    let (_folder, store) = empty();
    answered(&store, "s", 1_000);
    let job = next(&store).unwrap();
    assert_eq!((answer(&store, &job, ""), next(&store)), (0, None));
    assert_eq!(line(&store, "s"), "");
}

#[test]
fn what_is_forgotten_leaves_no_line_and_gets_none() {
    for what in [What::Prompt, What::Observation] {
        let (_folder, store) = empty();
        answered(&store, "s", 1_000);
        let job = next(&store).unwrap();
        answer(&store, &job, "by model");
        store.forget(RecordId { what, id: 1 }).unwrap();
        let left = "SELECT count(*) FROM turns WHERE model_line IS NOT NULL";
        let count = |store: &Store| store.connection.query_row(left, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count(&store), 0, "{what:?}");
        if what == What::Prompt {
            answer(&store, &job, "too late");
            assert_eq!(count(&store), 0, "what was forgotten does not come back");
        }
    }
}

#[test]
fn a_summary_by_a_model_is_forgotten_with_what_it_tells_of() {
    let (_folder, store) = empty();
    answered(&store, "s", 1_000);
    let job = next(&store).unwrap();
    let reservation = store.reserve_tokens(job.prompt, "d", 1, 1_000).unwrap().unwrap();
    store.finish_model_job(reservation, &job, &words(), Tokens::default(), Millis(9_000)).unwrap();
    store.forget(RecordId { what: What::Observation, id: 1 }).unwrap();
    assert!(store.records(&[RecordId { what: What::Summary, id: 1 }]).unwrap().is_empty());
}

#[test]
fn what_will_be_asked_is_known_before_it_is_time() {
    let (_folder, store) = empty();
    let due = |store: &Store| store.next_model_time(500, |_| true).unwrap();
    assert_eq!(due(&store), None);
    session(&store, "running", 7_500, true);
    assert_eq!(due(&store), None, "its end is an event of its own");
    answered(&store, "s", 7_900);
    assert_eq!(due(&store), Some(Millis(8_402)), "half a second after the last that happened in it");
    assert_eq!(store.next_model_time(500, |_| false).unwrap(), None);
    let rest = Rest { now: Millis(8_402), quiet_since: Millis(7_902), silent_since: Millis(0) };
    assert!(store.next_model_job(rest, |_| true).unwrap().is_some());
}
