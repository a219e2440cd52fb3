use longhaul_core::Millis;
use longhaul_sync::{CircleKey, Incoming, IncomingContent, ProjectId};

use super::{Engine, Machine, project, ring, settle};

#[test]
fn nothing_is_sent_of_a_project_that_is_not_shared() {
    let (mut a, mut engine) = (Machine::new("a"), Engine::default());
    a.prompt("s-a", "secret", "reply");
    a.exchange(&mut engine);
    assert_eq!(engine.records.len(), 0);
}

#[test]
fn sharing_begins_now_unless_the_past_is_asked_for() {
    let (mut a, mut engine) = (Machine::new("a"), Engine::default());
    a.prompt("s-a", "before", "reply");
    let now = a.tick();
    a.store.share_project(project(), "/p", "p", now).unwrap();
    a.prompt("s-a", "after", "reply");
    a.exchange(&mut engine);
    assert_eq!(engine.records.len(), 1);
    a.store.share_project(project(), "/p", "p", Millis(0)).unwrap();
    a.exchange(&mut engine);
    assert_eq!(engine.records.len(), 2, "the past is added, and what was sent is not sent again");
}

#[test]
fn unsharing_keeps_back_what_was_not_sent_and_sharing_again_sends_it() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("first");
    a.exchange(&mut engine);
    a.note("second");
    let _ = a.exchange_up_to(&mut engine, &mut super::Budget(2));
    assert!(a.store.unshare_project("/p").unwrap());
    assert!(!a.store.unshare_project("/p").unwrap());
    a.note("third");
    a.exchange(&mut engine);
    b.exchange(&mut engine);
    assert_eq!(b.dump().len(), 1, "{:?}", b.dump());
    assert_eq!(engine.payloads(), 1);
    a.share();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!(b.dump().len(), 3);
}

#[test]
fn records_of_a_project_that_is_not_shared_here_wait_encrypted() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::new("b"), Engine::default());
    a.note("zyqxsecretzyqx");
    a.note("more");
    a.exchange(&mut engine);
    b.exchange(&mut engine);
    assert_eq!((b.dump().len(), b.store.sync_counts().unwrap().waiting), (0, 2));
    let bytes = std::fs::read(b.folder.path().join("l.db-wal")).unwrap();
    assert!(!bytes.windows(14).any(|window| window == b"zyqxsecretzyqx"));
    let known = b.store.sync_projects().unwrap();
    assert_eq!((known[0].name.as_str(), known[0].is_shared, known[0].waiting), ("p", false, 2));
    b.share();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!((b.dump().len(), b.store.sync_counts().unwrap().waiting), (2, 0));
}

#[test]
fn a_project_has_another_folder_on_every_machine() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::new("b"), Engine::default());
    b.store.share_project(project(), "/elsewhere", "other-name", Millis(0)).unwrap();
    a.prompt("s-a", "go", "done");
    settle(&mut [&mut a, &mut b], &mut engine);
    let key: String = b.store.connection.query_row("SELECT project_key FROM sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(key, "/elsewhere");
}

#[test]
fn a_record_of_a_newer_kind_and_a_damaged_one_do_not_stop_the_others() {
    let (mut a, b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    (0..4).for_each(|number| a.note(&format!("note {number}")));
    a.exchange(&mut engine);
    let mut page: Vec<Incoming> =
        engine.fetch(a.host(), 0, 10).into_iter().map(|record| Incoming::open(&ring(), record)).collect();
    page[1].content = IncomingContent::Later;
    page[2].content = IncomingContent::Damaged;
    let taken = b.store.take_in_records(&page, Millis(b.now)).unwrap();
    assert_eq!((taken.records, taken.applied, taken.waiting, taken.damaged), (4, 2, 1, 1));
    let counts = b.store.sync_counts().unwrap();
    assert_eq!((counts.newer, counts.damaged), (1, 1));
    assert_eq!(b.store.records_that_wait(None, 10).unwrap(), [], "this version still does not know it");
    b.store.connection.execute("UPDATE sync_log SET version = 0 WHERE state = 2", []).unwrap();
    let later = b.store.records_that_wait(None, 10).unwrap();
    let page: Vec<Incoming> = later.into_iter().map(|record| Incoming::open(&ring(), record)).collect();
    assert_eq!(b.store.take_in_waiting(&page).unwrap().applied, 1);
    assert_eq!(b.dump().len(), 3);
}

#[test]
fn a_page_is_taken_in_once_and_never_behind_a_gap() {
    let (mut a, b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    (0..4).for_each(|number| a.note(&format!("note {number}")));
    a.exchange(&mut engine);
    let page: Vec<Incoming> =
        engine.fetch(a.host(), 0, 10).into_iter().map(|record| Incoming::open(&ring(), record)).collect();
    assert_eq!(b.store.take_in_records(&page[2..], Millis(b.now)).unwrap().records, 0);
    assert_eq!(b.store.take_in_records(&page[..2], Millis(b.now)).unwrap().records, 2);
    assert_eq!(b.store.take_in_records(&page, Millis(b.now)).unwrap().records, 2);
    assert_eq!(b.store.take_in_records(&page, Millis(b.now)).unwrap().records, 0);
    assert_eq!(b.dump().len(), 4);
}

#[test]
fn what_is_encrypted_with_another_key_changes_nothing() {
    let (mut a, b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("note");
    a.exchange(&mut engine);
    let other = CircleKey::new([9; 32]);
    let other = longhaul_sync::CircleHeader::new(ring().circle(), &other, &[3; 24]).unlock(&other).unwrap();
    let page: Vec<Incoming> =
        engine.fetch(a.host(), 0, 10).into_iter().map(|record| Incoming::open(&other, record)).collect();
    assert_eq!(b.store.take_in_records(&page, Millis(b.now)).unwrap().damaged, 1);
    assert_eq!(b.dump(), [""; 0]);
}

#[test]
fn raw_tool_text_is_sent_only_if_that_is_configured() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    a.call("s-a", "Ran make");
    a.exchange(&mut engine);
    let own = a.store.sync_self().unwrap().unwrap();
    let range = longhaul_sync::IdxRange { host: own.host, after: 0, through: own.head };
    let text = |raw: bool| {
        let scan = crate::Scan { raw, ..a.scan() };
        let found = a.store.records_to_send(range, 10, scan).unwrap();
        String::from_utf8(found[0].content.as_ref().unwrap().encode()).unwrap()
    };
    assert!(!text(false).contains("raw output"));
    assert!(text(true).contains("raw output") && text(true).contains("raw input"));
}

#[test]
fn leaving_keeps_what_was_fetched_and_shares_nothing_more() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("of a");
    b.note("of b");
    settle(&mut [&mut a, &mut b], &mut engine);
    b.store.leave_circle().unwrap();
    assert_eq!(b.store.sync_self().unwrap(), None);
    assert_eq!((b.dump().len(), b.store.sync_projects().unwrap().len()), (2, 0));
    let other = ProjectId::of_name("other circle");
    let host = b.new_host();
    b.store.join_circle(longhaul_sync::CircleId::random([8; 16]), host, "b", "b", Millis(b.now)).unwrap();
    b.store.share_project(other, "/p", "p", Millis(0)).unwrap();
    let mut second = Engine::default();
    b.exchange(&mut second);
    assert_eq!(second.records.len(), 1, "what a has made is not b's to share elsewhere");
}
