//! A second connection to a database, for another thread.

use longhaul_core::Millis;

use super::{folder, new_session, open};
use crate::Store;

fn has_session(store: &Store, session: &str) -> bool {
    store.session(session).unwrap().is_some()
}

#[test]
fn another_thread_reads_what_is_stored_and_writes_nothing() {
    let folder = folder();
    let store = open(&folder.path().join("l.db")).unwrap();
    store.register_session(&new_session("s1")).unwrap();
    let reader = store.second_reader().unwrap().unwrap();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let second = reader.open().unwrap();
            let mapped = |store: &Store| -> i64 {
                store.connection.pragma_query_value(None, "mmap_size", |row| row.get(0)).unwrap()
            };
            let is_refused = second.remember_prompt("s1", None, "not stored", Millis(5)).is_err();
            (has_session(&second, "s1"), is_refused, mapped(&second))
        });
        let (is_found, is_refused, mapped) = reading.join().unwrap();
        assert!(is_found && is_refused);
        // As much as the first one: the maximum in .cargo/config.toml, which is more than SQLite's own.
        assert_eq!(mapped, 1 << 40);
    });
}

#[test]
fn there_is_none_where_it_would_not_see_the_same() {
    let folder = folder();
    let store = open(&folder.path().join("l.db")).unwrap();
    let transaction = store.connection.unchecked_transaction().unwrap();
    assert!(store.second_reader().unwrap().is_none());
    transaction.commit().unwrap();
    let reader = store.second_reader().unwrap().unwrap();
    drop(store);
    std::fs::remove_file(folder.path().join("l.db")).unwrap();
    let error = reader.open().unwrap_err().to_string();
    assert!(error.contains("l.db"), "{error}");
    assert!(!folder.path().join("l.db").exists(), "a reader creates no database");
    assert!(open(":memory:".as_ref()).unwrap().second_reader().unwrap().is_none());
}
