use super::{Budget, Engine, Machine, settle};
use crate::{RecordId, What};

fn fill(machine: &mut Machine) {
    machine.prompt("s-a", "why does the build fail", "a missing library");
    machine.call("s-a", "Ran make");
    machine.summary("s-a", "build");
    machine.note("deploy on Fridays is forbidden");
    machine.bookmark("s-a", "before the rewrite");
}

#[test]
fn records_of_every_kind_reach_another_host_and_come_back_to_neither_twice() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    fill(&mut a);
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!(b.dump().len(), 5);
    assert_eq!(engine.records.len(), 5);
    b.prompt("s-b", "and on the server", "works");
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!(a.dump().len(), 6);
}

#[test]
fn a_reply_that_comes_later_is_a_newer_version() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.prompt("s-a", "go", "first");
    settle(&mut [&mut a, &mut b], &mut engine);
    let sql = "UPDATE turns SET reply = 'first and second' WHERE number = (SELECT max(number) FROM turns)";
    a.store.connection.execute(sql, []).unwrap();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert!(b.dump()[0].ends_with("→ first and second"), "{:?}", b.dump());
    assert_eq!(engine.records.len(), 2);
}

#[test]
fn a_prompt_waits_for_its_reply_for_half_an_hour() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    a.prompt("s-a", "go", "");
    a.exchange(&mut engine);
    assert_eq!(engine.records.len(), 0);
    a.note("what comes after it does not wait");
    a.exchange(&mut engine);
    assert_eq!(engine.records.len(), 1);
    a.now += 31 * 60 * 1_000;
    a.exchange(&mut engine);
    assert_eq!(engine.records.len(), 2);
}

#[test]
fn a_summary_that_is_written_again_reaches_the_others() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.summary("s-a", "first");
    settle(&mut [&mut a, &mut b], &mut engine);
    a.summary("s-a", "second");
    settle(&mut [&mut a, &mut b], &mut engine);
    assert!(b.dump()[0].contains("learned second"), "{:?}", b.dump());
}

#[test]
fn a_search_finds_what_another_host_did() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    fill(&mut a);
    settle(&mut [&mut a, &mut b], &mut engine);
    let query = longhaul_memory::Query::parse("missing library");
    let search = crate::SearchQuery { query: Some(&query), project_key: Some("/p"), limit: 5, ..Default::default() };
    let hits = b.store.search(&search).unwrap();
    assert_eq!(hits[0].title, "why does the build fail", "{hits:?}");
    assert_eq!(hits[0].host.as_deref(), Some("host"), "its name is not known yet");
}

#[test]
fn an_exchange_that_is_killed_anywhere_loses_nothing_and_doubles_nothing() {
    for steps in 0..40 {
        let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
        fill(&mut a);
        b.prompt("s-b", "question", "answer");
        let _ = a.exchange_up_to(&mut engine, &mut Budget(steps));
        let _ = b.exchange_up_to(&mut engine, &mut Budget(steps / 2));
        a.store.forget(RecordId { what: What::Observation, id: 1 }).unwrap();
        let _ = b.exchange_up_to(&mut engine, &mut Budget(steps));
        let _ = a.exchange_up_to(&mut engine, &mut Budget(steps / 2));
        settle(&mut [&mut a, &mut b], &mut engine);
        assert_eq!(a.dump().len(), 4, "killed after {steps} steps: {:?}", a.dump());
    }
}

#[test]
fn foreign_sessions_are_not_offered_for_a_handoff_and_a_model_is_not_asked_about_them() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    fill(&mut a);
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!(b.store.sessions_of("/p").unwrap().len(), 0);
    assert_eq!(b.count("SELECT count(*) FROM prompts WHERE model_at IS NULL"), 0);
    assert_eq!(a.store.sessions_of("/p").unwrap().len(), 1);
    b.session("s-a");
    assert_eq!(b.store.sessions_of("/p").unwrap().len(), 0, "no transcript of it is here");
}

/// A prompt may have many turns with long replies, and a record that is too large is not sent at all.
#[test]
fn a_very_long_reply_is_sent_by_its_two_ends() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.prompt("s-a", "read it", "short");
    let reply = format!("first {} last", "middle ".repeat(900_000));
    a.store.connection.execute("UPDATE turns SET reply = ?1", [&reply]).unwrap();
    a.exchange(&mut engine);
    b.exchange(&mut engine);
    let sql = "SELECT reply FROM turns";
    let here: String = b.store.connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(here.starts_with("first ") && here.ends_with(" last") && here.contains("characters left out"));
    assert!((262_000..=262_144).contains(&here.chars().count()), "{}", here.chars().count());
    let largest = engine.records.values().filter_map(|record| record.payload.as_ref().map(Vec::len)).max().unwrap();
    assert!(largest < 1_000_000, "{largest}");
}

/// What was not logged is logged by the next exchange.
#[test]
fn without_random_bytes_nothing_is_logged() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    a.note("note");
    let failed = a.store.log_changes(a.scan(), &mut || Err("no random bytes".into())).unwrap_err();
    assert_eq!(std::error::Error::source(&failed).unwrap().to_string(), "no random bytes");
    a.exchange(&mut engine);
    assert_eq!(engine.incoming(a.host(), 0, 9).len(), 1);
}
