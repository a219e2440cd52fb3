use longhaul_core::Millis;

use super::{Engine, Machine, settle};
use crate::{RecordId, What};

const SECRET: &str = "zyqxsecretzyqx";

fn prompt() -> RecordId {
    RecordId { what: What::Prompt, id: 1 }
}

impl Machine {
    /// Returns whether the file or its WAL has the secret.
    fn has_secret(&self) -> bool {
        self.store.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        ["l.db", "l.db-wal"].iter().any(|name| {
            let bytes = std::fs::read(self.folder.path().join(name)).unwrap_or_default();
            bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
        })
    }
}

fn two_with_secret() -> (Machine, Machine, Engine) {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.prompt("s-a", &format!("the password is {SECRET}"), &format!("{SECRET} noted"));
    a.prompt("s-a", "another", "reply");
    a.summary("s-a", &format!("about {SECRET}"));
    settle(&mut [&mut a, &mut b], &mut engine);
    assert!(a.has_secret() && b.has_secret());
    (a, b, engine)
}

#[test]
fn what_is_forgotten_where_it_was_made_is_gone_everywhere_and_its_payload_from_the_engine() {
    let (mut a, mut b, mut engine) = two_with_secret();
    a.store.forget(prompt()).unwrap();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert!(!a.has_secret() && !b.has_secret());
    assert_eq!(b.dump().len(), 1, "{:?}", b.dump());
    assert_eq!(engine.payloads(), 2, "the other prompt and the tombstone");
}

#[test]
fn what_is_forgotten_on_another_host_is_gone_everywhere() {
    let (mut a, mut b, mut engine) = two_with_secret();
    b.store.forget(prompt()).unwrap();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert!(!a.has_secret() && !b.has_secret());
    assert_eq!(a.dump().len(), 1, "{:?}", a.dump());
}

#[test]
fn a_record_that_was_forgotten_before_it_was_sent_never_reaches_the_engine() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    a.prompt("s-a", SECRET, "reply");
    let _ = a.exchange_up_to(&mut engine, &mut super::Budget(2));
    assert_eq!((engine.records.len(), a.store.sync_counts().unwrap().unsent), (0, 1), "it is in the log only");
    a.store.forget(prompt()).unwrap();
    a.exchange(&mut engine);
    assert_eq!((engine.records.len(), engine.payloads()), (2, 1));
}

#[test]
fn a_host_that_joins_later_gets_nothing_of_what_was_forgotten() {
    let (mut a, mut b, mut engine) = two_with_secret();
    a.store.forget(prompt()).unwrap();
    settle(&mut [&mut a, &mut b], &mut engine);
    let mut c = Machine::sharing("c");
    settle(&mut [&mut a, &mut b, &mut c], &mut engine);
    assert_eq!(c.dump().len(), 1);
    assert!(!c.has_secret());
}

#[test]
fn a_tombstone_that_comes_before_its_record_still_deletes_it() {
    let (mut a, mut b, mut engine) = two_with_secret();
    b.store.forget(prompt()).unwrap();
    b.exchange(&mut engine);
    // The newcomer fetches the tombstone of b first, or the record of a first: the order of the ids decides.
    let mut c = Machine::sharing("c");
    c.exchange(&mut engine);
    assert!(!c.dump().join("\n").contains(SECRET), "{:?}", c.dump());
    settle(&mut [&mut a, &mut b, &mut c], &mut engine);
}

#[test]
fn deleting_a_project_here_deletes_own_records_everywhere_and_those_of_others_only_here() {
    let (mut a, mut b, mut engine) = two_with_secret();
    b.note("made by b");
    settle(&mut [&mut a, &mut b], &mut engine);
    b.store.forget_project("/p", Millis(b.now)).unwrap();
    for _ in 0..2 {
        b.exchange(&mut engine);
        a.exchange(&mut engine);
    }
    assert_eq!(b.dump(), [""; 0]);
    assert!(!b.has_secret());
    assert_eq!(a.dump().len(), 3, "{:?}", a.dump());
    assert!(!a.dump().join("\n").contains("made by b"));
}

#[test]
fn forgetting_a_session_also_forgets_what_comes_of_it_later() {
    let (mut a, mut b, mut engine) = two_with_secret();
    a.call("s-a", "not sent yet");
    b.now = a.now + 10_000;
    b.store.forget_session("s-a", Millis(b.now)).unwrap();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!(a.dump(), [""; 0]);
    assert_eq!(engine.payloads(), engine.records.values().filter(|record| record.host == b.host()).count());
}

#[test]
fn a_bookmark_is_forgotten_with_its_session() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.bookmark("s-a", SECRET);
    settle(&mut [&mut a, &mut b], &mut engine);
    a.store.forget_session("s-a", Millis(a.now + 1)).unwrap();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!(b.dump(), [""; 0]);
    assert!(!b.has_secret());
}
