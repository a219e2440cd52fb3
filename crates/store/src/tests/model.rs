mod batches;
mod lines;

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Observation, Summary};

use super::{empty, new_call, new_session};
use crate::{Cost, ModelJob, NewObservation, NewSession, RecordId, Rest, Retry, Store, Tokens, What, Words};

const LATER: Rest = Rest { now: Millis(9_000), quiet_since: Millis(8_000), silent_since: Millis(7_000) };

/// A session with a prompt and a tool call, and, unless `is_running`, a summary.
fn session(store: &Store, session: &str, at: u64, is_running: bool) {
    let new = NewSession { at: Millis(at), ..new_session(session) };
    store.register_session(&new).unwrap();
    let number = store.remember_prompt(session, None, "go", Millis(at)).unwrap().unwrap();
    let id = format!("{session}-{number}");
    let call = new_call(&id, Observation::new(Kind::Command, "Bash", "by rule"), at + 1);
    let call = NewObservation { prompt_number: Some(number), input: "", response: "", ..call };
    store.take_in(session, &[call], None).unwrap();
    if !is_running {
        let summary = Summary::new("by rule");
        store.write_summary(session, number, &summary, MadeBy::Rule, Millis(at + 2)).unwrap();
    }
}

fn next(store: &Store, rest: Rest) -> Option<String> {
    store.next_model_job(rest, |_| true).unwrap().map(|job| job.session)
}

fn words() -> Words {
    let summary = Summary::new("by model");
    let observations = vec![(1, "by model".to_owned(), String::new())];
    Words { summary: Some((1, summary)), observations, lines: Vec::new() }
}

/// A job of which only the number of its prompt matters.
fn plain_job(prompt: i64) -> ModelJob {
    ModelJob {
        prompt,
        session: String::new(),
        project: String::new(),
        prompts: Vec::new(),
        at: Millis(0),
        until: None,
        summary: None,
        observations: Vec::new(),
        turns: Vec::new(),
        attempts: 0,
        more_after: None,
        newest: i64::MAX,
    }
}

#[test]
fn the_newest_prompt_at_rest_comes_first() {
    let (_folder, store) = empty();
    session(&store, "old", 1_000, false);
    session(&store, "new", 2_000, false);
    session(&store, "fresh", 7_999, false);
    session(&store, "running", 7_500, true);
    assert_eq!(next(&store, LATER).as_deref(), Some("new"), "what was written a moment ago, or runs, is left alone");
    assert!(store.next_model_job(LATER, |_| false).unwrap().is_none());
    let rest = Rest { quiet_since: Millis(8_500), silent_since: Millis(8_000), ..LATER };
    assert_eq!(next(&store, rest).as_deref(), Some("fresh"));
    session(&store, "new", 8_400, false);
    assert_eq!(next(&store, LATER).as_deref(), Some("old"), "a session that goes on is left alone as a whole");
}

#[test]
fn a_turn_without_an_end_is_told_after_a_long_silence() {
    let (_folder, store) = empty();
    session(&store, "killed", 1_000, true);
    assert_eq!(next(&store, Rest { silent_since: Millis(1_000), ..LATER }), None);
    let job = store.next_model_job(LATER, |_| true).unwrap().unwrap();
    assert_eq!((job.summary, job.observations.len()), (None, 1));
}

#[test]
fn an_answer_changes_what_rules_have_said_and_nothing_else() {
    let (_folder, store) = empty();
    session(&store, "s", 1_000, false);
    session(&store, "s", 2_000, false);
    let person = Summary::new("by person");
    store.write_summary("s", 1, &person, MadeBy::Person, Millis(1_002)).unwrap();
    let reservation = store.reserve_tokens(1, "d", 100, 100).unwrap().unwrap();
    let done = store
        .finish_model_job(reservation, &plain_job(1), &words(), Tokens { input: 5, output: 6 }, Millis(9))
        .unwrap();
    assert_eq!((done.summaries, done.observations), (0, 1));
    assert_eq!(store.model_spending("d").unwrap().total(), 11);
    // The same again, as by a worker that does not know that it has been settled.
    let done = store
        .finish_model_job(reservation, &plain_job(1), &words(), Tokens { input: 5, output: 6 }, Millis(9))
        .unwrap();
    assert_eq!((done.summaries, done.observations, store.model_spending("d").unwrap().total()), (0, 0, 11));
    assert_eq!(store.integrity_check().unwrap(), [""; 0]);
    let job = store.next_model_job(LATER, |_| true).unwrap().unwrap();
    assert_eq!((job.prompt, job.prompts.len(), job.until), (2, 2, None), "the first is done, the second is not");
}

#[test]
fn what_was_forgotten_meanwhile_does_not_come_back() {
    let (_folder, store) = empty();
    session(&store, "s", 1_000, false);
    let reservation = store.reserve_tokens(1, "d", 100, 100).unwrap().unwrap();
    let ids = [(What::Summary, 1), (What::Observation, 1), (What::Prompt, 1)].map(|(what, id)| RecordId { what, id });
    for id in ids {
        store.forget(id).unwrap();
    }
    let done = store.finish_model_job(reservation, &plain_job(1), &words(), Tokens::default(), Millis(9)).unwrap();
    assert_eq!((done.summaries, done.observations), (0, 0));
    assert!(store.records(&ids).unwrap().is_empty());
    let reservation = store.reserve_tokens(1, "d", 100, 100).unwrap().unwrap();
    store.fail_model_job(reservation, Cost::Nothing, Retry::At(Millis(9)), "no", Millis(9)).unwrap();
    assert_eq!(next(&store, LATER), None);
}

#[test]
fn what_is_set_aside_is_not_there_for_others() {
    let (_folder, store) = empty();
    session(&store, "s", 1_000, false);
    let first = store.reserve_tokens(1, "d", 60, 100).unwrap().unwrap();
    assert_eq!(store.reserve_tokens(1, "d", 41, 100).unwrap(), None);
    assert!(store.reserve_tokens(1, "e", 41, 100).unwrap().is_some(), "another day");
    store.fail_model_job(first, Cost::Unknown, Retry::At(Millis(9_001)), "hung", Millis(9)).unwrap();
    assert_eq!(store.model_spending("d").unwrap().unreported, 60);
    assert_eq!(store.model_trouble().unwrap().unwrap().error, "hung");
    assert_eq!(next(&store, LATER), None, "it waits");
    assert_eq!(next(&store, Rest { now: Millis(9_001), ..LATER }).as_deref(), Some("s"));
    let give_up = |attempts: u32| {
        assert_eq!(attempts, 1);
        Retry::Never
    };
    assert_eq!(store.settle_left_over(Millis(9), give_up).unwrap(), 1);
    assert_eq!(store.model_spending("e").unwrap().total(), 41);
    assert_eq!(next(&store, Rest { now: Millis(9_001), ..LATER }), None, "given up");
}
