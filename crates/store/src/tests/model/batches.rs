use longhaul_core::Millis;
use longhaul_memory::{Kind, Observation};

use super::super::new_call;
use super::{LATER, empty, session};
use crate::{Cost, NewObservation, Retry, Store, Tokens, Words};

/// Adds tool calls to the first prompt of a session.
fn calls(store: &Store, id: &str, count: usize, at: u64) {
    for number in 0..count {
        let kind = if number == 7 { Kind::Decision } else { Kind::Discovery };
        let call_id = format!("{id}-call-{number}");
        let call = new_call(&call_id, Observation::new(kind, "Read", format!("by rule {number}")), at + 1);
        let call = NewObservation { prompt_number: Some(1), input: "", response: "", ..call };
        store.take_in(id, &[call], None).unwrap();
    }
}

/// Lets a model answer the next job, with words for every observation or for none; returns what the job was about.
fn answer(store: &Store, is_willing: bool) -> Option<(String, usize)> {
    let job = store.next_model_job(LATER, |_| true).unwrap()?;
    let reservation = store.reserve_tokens(job.prompt, "d", 1, 1_000).unwrap().unwrap();
    let said = |id: i64| (id, format!("by model {id}"), String::new());
    let observations = if is_willing { job.observations.iter().map(|(id, _)| said(*id)).collect() } else { Vec::new() };
    let words = Words { observations, lines: vec![String::new(); job.turns.len()], ..Words::default() };
    store.finish_model_job(reservation, &job, &words, Tokens::default(), Millis(9_000)).unwrap();
    Some((job.session, job.observations.len()))
}

fn left(store: &Store) -> i64 {
    let sql = "SELECT count(*) FROM observations WHERE made_by = 'rule'";
    store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn every_record_of_a_prompt_is_asked_about_sixteen_at_a_time() {
    let (_folder, store) = empty();
    session(&store, "s", 1_000, false);
    calls(&store, "s", 39, 1_000);
    let first = store.next_model_job(LATER, |_| true).unwrap().unwrap();
    assert!(first.observations.iter().any(|(_, seen)| seen.kind == Kind::Decision), "what tells most comes first");
    let asked: Vec<usize> = std::iter::from_fn(|| answer(&store, true)).map(|(_, count)| count).collect();
    assert_eq!((asked, left(&store)), (vec![16, 16, 8], 0));
    let sql = "SELECT count(*) FROM turns WHERE asked_to IS NOT NULL OR attempts > 0";
    assert_eq!(store.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

#[test]
fn a_model_that_never_puts_anything_into_words_is_asked_a_bounded_number_of_times() {
    let (_folder, store) = empty();
    session(&store, "s", 1_000, false);
    calls(&store, "s", 39, 1_000);
    let asked = std::iter::from_fn(|| answer(&store, false)).take(20).count();
    assert_eq!(asked, 4, "the first sixteen twice");
    session(&store, "few", 2_000, false);
    assert_eq!(std::iter::from_fn(|| answer(&store, false)).take(20).count(), 1);
}

#[test]
fn other_prompts_of_the_day_come_before_the_rest_of_a_long_one_and_older_ones_after_it() {
    let (_folder, store) = empty();
    const DAY: u64 = 24 * 3_600_000;
    let later = crate::Rest { now: Millis(3 * DAY), quiet_since: Millis(3 * DAY), silent_since: Millis(2 * DAY) };
    session(&store, "old", 1_000, false);
    session(&store, "other", 2 * DAY, false);
    session(&store, "long", 2 * DAY + 9, false);
    calls(&store, "long", 20, 2 * DAY + 9);
    let mut order = Vec::new();
    while let Some(job) = store.next_model_job(later, |_| true).unwrap() {
        let reservation = store.reserve_tokens(job.prompt, "d", 1, 1_000).unwrap().unwrap();
        let lines = vec![String::new(); job.turns.len()];
        let words = Words { lines, ..Words::default() };
        store.finish_model_job(reservation, &job, &words, Tokens::default(), later.now).unwrap();
        order.push(job.session);
    }
    assert_eq!(order, ["long", "other", "long", "long", "old"]);
}

#[test]
fn a_record_that_comes_late_is_asked_about_too() {
    let (_folder, store) = empty();
    session(&store, "s", 1_000, false);
    let job = store.next_model_job(LATER, |_| true).unwrap().unwrap();
    // While the model thinks,
    calls(&store, "s", 1, 1_000);
    let reservation = store.reserve_tokens(job.prompt, "d", 1, 1_000).unwrap().unwrap();
    store.finish_model_job(reservation, &job, &Words::default(), Tokens::default(), Millis(9_000)).unwrap();
    assert_eq!(answer(&store, true), Some(("s".to_owned(), 2)));
    assert_eq!(answer(&store, true), None);
    // and after it is done.
    calls(&store, "s", 2, 1_000);
    assert_eq!(answer(&store, true), Some(("s".to_owned(), 1)));
    assert_eq!((answer(&store, true), left(&store)), (None, 0));
}

#[test]
fn a_further_request_that_fails_is_put_off_and_given_up_like_the_first() {
    let (_folder, store) = empty();
    session(&store, "s", 1_000, false);
    calls(&store, "s", 20, 1_000);
    answer(&store, true).unwrap();
    let job = store.next_model_job(LATER, |_| true).unwrap().unwrap();
    let fail = |retry: Retry| {
        let reservation = store.reserve_tokens(job.prompt, "d", 1, 1_000).unwrap().unwrap();
        store.fail_model_job(reservation, Cost::Nothing, retry, "no", Millis(9_000)).unwrap();
    };
    fail(Retry::At(Millis(9_500)));
    assert_eq!(store.next_model_job(LATER, |_| true).unwrap(), None);
    assert_eq!(store.next_model_time(0, |_| true).unwrap(), Some(Millis(9_500)));
    let then = crate::Rest { now: Millis(9_500), ..LATER };
    let again = store.next_model_job(then, |_| true).unwrap().unwrap();
    assert_eq!((again.observations.len(), again.attempts), (5, 1));
    fail(Retry::Never);
    assert_eq!(store.next_model_job(then, |_| true).unwrap(), None);
}
