//! A second connection to a database, for another thread.

use longhaul_core::Millis;

use super::{empty, new_session, open};
use crate::Store;

fn has_session(store: &Store, session: &str) -> bool {
    store.session(session).unwrap().is_some()
}

/// Returns how much of the file is mapped, and the size of the cache.
fn settings(store: &Store) -> [i64; 2] {
    ["mmap_size", "cache_size"].map(|name| store.connection.pragma_query_value(None, name, |row| row.get(0)).unwrap())
}

/// SQLite maps two gigabytes at most unless .cargo/config.toml says otherwise. A large memory is larger.
#[test]
#[cfg(target_pointer_width = "64")]
fn more_than_two_gigabytes_are_mapped() {
    let (_folder, store) = empty();
    assert!(settings(&store)[0] > 1 << 31);
}

#[test]
fn another_thread_reads_what_is_stored_and_writes_nothing() {
    let (_folder, store) = empty();
    store.register_session(&new_session("s1")).unwrap();
    let reader = store.second_reader().unwrap().unwrap();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let second = reader.open().unwrap();
            let is_refused = second.remember_prompt("s1", None, "not stored", Millis(5)).is_err();
            (has_session(&second, "s1"), is_refused, settings(&second))
        });
        let (is_found, is_refused, same_settings) = reading.join().unwrap();
        assert!(is_found && is_refused);
        assert_eq!(same_settings, settings(&store));
    });
    store.connection.execute_batch("PRAGMA mmap_size = 0; PRAGMA cache_size = -512;").unwrap();
    let small = store.second_reader().unwrap().unwrap().open().unwrap();
    assert_eq!(settings(&small), [0, -512]);
}

#[test]
fn there_is_none_where_it_would_not_see_the_same() {
    let (folder, store) = empty();
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
