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
    a.store.share_project(project(), "p", "/p", "p", now).unwrap();
    a.prompt("s-a", "after", "reply");
    a.exchange(&mut engine);
    assert_eq!(engine.records.len(), 1);
    a.store.share_project(project(), "p", "/p", "p", Millis(0)).unwrap();
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
    assert_eq!((b.store.projects().unwrap(), b.store.stats().unwrap().projects), (Vec::new(), 0), "it is none of ours");
    b.share();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!((b.dump().len(), b.store.sync_counts().unwrap().waiting), (2, 0));
    assert_eq!((b.store.sync_projects().unwrap().len(), b.store.stats().unwrap().projects), (1, 1));
}

#[test]
fn a_project_has_another_folder_on_every_machine() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::new("b"), Engine::default());
    b.store.share_project(project(), "p", "/elsewhere", "other-name", Millis(0)).unwrap();
    assert_eq!((b.store.projects().unwrap().len(), b.store.stats().unwrap().projects), (0, 0), "nothing is recorded");
    a.prompt("s-a", "go", "done");
    settle(&mut [&mut a, &mut b], &mut engine);
    let known = b.store.projects().unwrap();
    assert_eq!((known[0].key.as_str(), known[0].name.as_str()), ("/elsewhere", "other-name"));
    assert_eq!((known.len(), b.store.stats().unwrap().projects), (1, 1));
    assert_eq!(b.count("SELECT count(*) FROM sessions WHERE project = 'other-name'"), 1);
    assert_eq!(b.store.sync_projects().unwrap()[0].name, "p", "as the others know it");
}

#[test]
fn a_record_of_a_newer_kind_and_a_damaged_one_do_not_stop_the_others() {
    let (mut a, b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    (0..4).for_each(|number| a.note(&format!("note {number}")));
    a.exchange(&mut engine);
    let mut page = engine.incoming(a.host(), 0, 10);
    page[1].content = IncomingContent::Later;
    page[2].content = IncomingContent::Damaged;
    let taken = b.store.take_in_records(&page, Millis(b.now)).unwrap();
    assert_eq!((taken.records, taken.applied, taken.waiting, taken.damaged), (4, 2, 1, 1));
    let counts = b.store.sync_counts().unwrap();
    assert_eq!((counts.newer, counts.damaged), (1, 1));
    assert_eq!(b.store.records_that_wait(10).unwrap(), [], "this version still does not know it");
    b.store.connection.execute("UPDATE sync_log SET version = 0 WHERE state = 2", []).unwrap();
    let later = b.store.records_that_wait(10).unwrap();
    let page: Vec<Incoming> = later.into_iter().map(|record| Incoming::open(&ring(), record)).collect();
    assert_eq!(b.store.take_in_waiting(&page, Millis(b.now)).unwrap().applied, 1);
    assert_eq!(b.dump().len(), 3);
}

#[test]
fn a_page_is_taken_in_once_and_never_behind_a_gap() {
    let (mut a, b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    (0..4).for_each(|number| a.note(&format!("note {number}")));
    a.exchange(&mut engine);
    let page = engine.incoming(a.host(), 0, 10);
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
    let known = "SELECT count(*) FROM projects
                 WHERE since + seen_prompts + seen_observations + seen_summaries + seen_bookmarks > 0";
    assert_eq!(b.count(known), 0, "nothing is known of the circle any more");
    let other = ProjectId::of_name("other circle");
    let host = b.new_host();
    b.store.join_circle(longhaul_sync::CircleId::random([8; 16]), host, "b", "b", Millis(b.now)).unwrap();
    b.store.share_project(other, "p", "/p", "p", Millis(0)).unwrap();
    let mut second = Engine::default();
    b.exchange(&mut second);
    assert_eq!(second.records.len(), 1, "what a has made is not b's to share elsewhere");
}

#[test]
fn joining_the_same_circle_again_doubles_nothing() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("of a");
    a.prompt("s-a", "question", "answer");
    a.summary("s-a", "summary");
    settle(&mut [&mut a, &mut b], &mut engine);
    a.store.leave_circle().unwrap();
    let host = a.new_host();
    a.store.join_circle(ring().circle(), host, "a", "a", Millis(a.now)).unwrap();
    a.exchange(&mut engine);
    a.share();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!(b.dump().len(), 3, "{:?}", b.dump());
    assert_eq!(a.count("SELECT count(*) FROM sessions WHERE host_id IS NULL"), 1);
    a.note("more of a");
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!(b.dump().len(), 4, "{:?}", b.dump());
}

/// A summary covers its whole session.
#[test]
fn a_summary_of_a_session_from_before_the_sharing_is_not_sent() {
    let (mut a, mut engine) = (Machine::new("a"), Engine::default());
    a.prompt("s-old", "before", "reply");
    a.call("s-calls", "before");
    let now = a.tick();
    a.store.share_project(project(), "p", "/p", "p", now).unwrap();
    a.summary("s-old", "about what was before");
    a.summary("s-calls", "about what was before");
    a.exchange(&mut engine);
    assert_eq!(engine.records.len(), 0);
    a.prompt("s-new", "after", "reply");
    a.summary("s-new", "about what is shared");
    a.exchange(&mut engine);
    assert_eq!(engine.records.len(), 2);
    a.share();
    a.exchange(&mut engine);
    assert_eq!(engine.records.len(), 6, "with the past, everything is shared");
}

#[test]
fn a_damaged_record_is_fetched_again_after_an_hour() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    (0..4).for_each(|number| a.note(&format!("note {number}")));
    a.exchange(&mut engine);
    let whole = engine.clone();
    for idx in [2, 3] {
        engine.records.get_mut(&(a.host(), idx)).unwrap().payload = Some(vec![1; 200]);
    }
    b.exchange(&mut engine);
    assert_eq!((b.dump().len(), b.store.sync_counts().unwrap().damaged), (2, 2));
    engine = whole;
    b.exchange(&mut engine);
    assert_eq!(b.store.sync_counts().unwrap().damaged, 2, "not in every exchange");
    b.now += 60 * 60 * 1_000;
    b.exchange(&mut engine);
    assert_eq!((b.dump().len(), b.store.sync_counts().unwrap().damaged), (4, 0));
}

/// A query of the states uses their index, however long the log is.
#[test]
fn open_records_are_found_by_an_index() {
    let a = Machine::new("a");
    for sql in [
        crate::sync::log::open_records(10).as_str(),
        crate::sync::send::NOTE_ERASED,
        crate::sync::circle::LIST,
        crate::sync::circle::MAKE_READY,
    ] {
        let mut statement = a.store.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let values = vec![rusqlite::types::Null; statement.parameter_count()];
        let rows = statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        let plan: Vec<String> = rows.map(Result::unwrap).collect();
        assert!(plan.iter().any(|step| step.contains("sync_log_open")), "{sql}: {plan:?}");
    }
}
