use longhaul_core::Millis;

use super::{empty, new_session, open, place};
use crate::{NewSession, Store, StoreError};

fn register(store: &Store, id: &str, client_pid: u32) {
    let new = NewSession { client_pid, ..new_session(id) };
    store.register_session(&new).unwrap();
}

fn names(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = store.batons("/p").unwrap().into_iter().map(|baton| baton.session).collect();
    names.sort();
    names
}

#[test]
fn the_last_baton_of_a_project_and_client_counts() {
    let (_folder, store) = empty();
    store.write_baton("/p", 1, "a", "tl", Millis(1)).unwrap();
    store.write_baton("/p", 1, "b", "clear", Millis(2)).unwrap();
    store.write_baton("/p", 2, "c", "tl", Millis(3)).unwrap();
    store.write_baton("/q", 1, "d", "tl", Millis(4)).unwrap();
    assert_eq!(names(&store), ["b", "c"]);
    store.drop_baton("/p", 1).unwrap();
    assert_eq!(names(&store), ["c"]);
    assert_eq!((store.drop_batons("/p").unwrap(), store.batons("/q").unwrap().len()), (1, 1));
}

#[test]
fn the_end_of_its_session_renews_a_baton_and_leaves_the_log_alone() {
    let (_folder, store) = empty();
    store.write_baton("/p", 1, "a", "clear", Millis(1)).unwrap();
    let log = store.injections(10).unwrap();
    store.write_baton("/p", 1, "a", "session_end", Millis(5)).unwrap();
    let batons = store.batons("/p").unwrap();
    assert_eq!((batons.len(), batons[0].trigger.as_str(), batons[0].at), (1, "clear", Millis(5)));
    assert_eq!((log.len(), log[0].at), (1, Millis(1)));
    assert_eq!(store.injections(10).unwrap(), log);
}

#[test]
fn of_two_heirs_one_gets_the_predecessor() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    register(&store, "old", 0);
    let heirs: Vec<String> = (0..8).map(|n| format!("heir-{n}")).collect();
    for heir in &heirs {
        register(&store, heir, 0);
    }
    let merged: Vec<bool> = std::thread::scope(|scope| {
        let path = &path;
        let running: Vec<_> =
            heirs.iter().map(|heir| scope.spawn(move || open(path).unwrap().merge("old", heir).unwrap())).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(merged.iter().filter(|merged| **merged).count(), 1, "{merged:?}");
    let winner = merged.iter().position(|merged| *merged).map(|index| heirs[index].clone());
    assert_eq!(store.session("old").unwrap().unwrap().merged_into, winner);
}

#[test]
fn a_merge_drops_the_batons_that_led_to_it() {
    let (_folder, store) = empty();
    register(&store, "old", 1);
    register(&store, "heir", 2);
    store.set_heir("heir", Some("old")).unwrap();
    store.write_baton("/p", 1, "old", "tl", Millis(1)).unwrap();
    store.write_baton("/p", 2, "before-old", "session_end", Millis(1)).unwrap();
    store.write_baton("/p", 3, "another", "tl", Millis(1)).unwrap();
    assert!(store.merge("old", "heir").unwrap());
    assert_eq!(names(&store), ["another"]);
    assert_eq!(store.session("heir").unwrap().unwrap().inherits, None);
}

#[test]
fn what_fails_half_way_stores_nothing() {
    let (_folder, store) = empty();
    let failed: Result<(), StoreError> = store.transaction("write", |store| {
        store.write_baton("/p", 1, "a", "tl", Millis(1))?;
        // SQLite refuses a transaction within a transaction.
        store.transaction("write", |_| Ok(()))
    });
    assert!(failed.is_err());
    assert_eq!(names(&store), Vec::<String>::new());
    store.transaction("write", |store| store.write_baton("/p", 1, "a", "tl", Millis(1))).unwrap();
    assert_eq!(names(&store), ["a"]);
}
