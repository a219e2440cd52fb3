use longhaul_memory::Query;

use super::{Engine, Machine, settle};
use crate::{Hit, SearchQuery};

fn three() -> (Machine, Machine, Machine) {
    let (mut a, mut b, mut c) = (Machine::sharing("a"), Machine::sharing("b"), Machine::sharing("c"));
    let mut engine = Engine::default();
    a.prompt("s-a", "the deploy script of anna", "uses rsync");
    b.prompt("s-b", "the deploy script of bob", "uses scp");
    c.prompt("s-c", "the deploy script here", "uses cp");
    settle(&mut [&mut a, &mut b, &mut c], &mut engine);
    for (host, name) in [(a.host(), "anna"), (b.host(), "bob")] {
        c.store.note_host(host, name, None, Some(0)).unwrap();
    }
    (a, b, c)
}

fn search(machine: &Machine, text: &str, from: Option<&str>) -> Vec<Hit> {
    let query = Query::parse(text);
    let search = SearchQuery {
        query: (!text.is_empty()).then_some(&query),
        project_key: Some("/p"),
        from_host: from,
        limit: 10,
        ..SearchQuery::default()
    };
    machine.store.search(&search).unwrap()
}

#[test]
fn a_result_says_which_host_it_comes_from() {
    let (_, _, c) = three();
    let mut hosts: Vec<Option<String>> = search(&c, "deploy script", None).into_iter().map(|hit| hit.host).collect();
    hosts.sort();
    assert_eq!(hosts, [None, Some("anna".into()), Some("bob".into())]);
    let hit = &search(&c, "rsync", None)[0];
    assert_eq!(hit.to_json()["host"], "anna");
    let record = &c.store.records(&[hit.record]).unwrap()[0];
    assert_eq!(record.host.as_deref(), Some("anna"));
    assert_eq!(record.to_json()["host"], "anna");
}

#[test]
fn a_search_can_be_limited_to_a_host() {
    let (_, _, c) = three();
    for text in ["deploy script", ""] {
        let titles =
            |from: &str| -> Vec<String> { search(&c, text, Some(from)).into_iter().map(|hit| hit.title).collect() };
        assert_eq!(titles("anna"), ["the deploy script of anna"], "{text:?}");
        assert_eq!(titles("@Bob"), ["the deploy script of bob"], "{text:?}");
        assert_eq!(titles("c"), ["the deploy script here"], "{text:?}");
        assert_eq!(titles("zoe"), [""; 0], "{text:?}");
    }
}

#[test]
fn the_index_that_is_built_again_still_knows_the_hosts() {
    let (_, _, mut c) = three();
    c.store.connection.execute("UPDATE indexes SET form = 0 WHERE id = 0", []).unwrap();
    while c.store.build_index(100).unwrap() {}
    assert_eq!(search(&c, "deploy script", Some("anna")).len(), 1);
    c.store.forget(search(&c, "rsync", None)[0].record).unwrap();
    assert_eq!(search(&c, "deploy script", Some("anna")).len(), 0);
    assert_eq!(c.store.integrity_check().unwrap(), [""; 0]);
}

#[test]
fn the_page_of_a_new_session_says_which_host_a_session_was_on() {
    let (_, _, c) = three();
    let sessions = c.store.page_sessions("/p", 10).unwrap();
    let mut hosts: Vec<Option<&str>> = sessions.iter().map(|session| session.host.as_deref()).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, [None, Some("anna"), Some("bob")]);
}
