//! An index with terms of another version: searched as it is, and built again by upkeep.

use rusqlite::Connection;
use serde_json::json;

use super::{first, memory, remembering};
use crate::past::holding;
use crate::poll;
use crate::sandbox::{Sandbox, payload};

fn database(sandbox: &Sandbox) -> Connection {
    Connection::open(sandbox.data_dir().join("longhaul.db")).unwrap()
}

/// Makes the index one of another version, with a term that this version does not make.
fn make_old(sandbox: &Sandbox) {
    let sql =
        "INSERT INTO passage_terms (rowid, terms) VALUES (7, 'oldterm'); UPDATE passage_index SET terms_version = 999;";
    database(sandbox).execute_batch(sql).unwrap();
}

fn has_old_term(sandbox: &Sandbox) -> bool {
    let sql = "SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'oldterm'";
    database(sandbox).query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() > 0
}

fn is_complete(sandbox: &Sandbox) -> bool {
    memory(sandbox, &["stats", "--json"]).json()["search_index"]["complete"] == true
}

#[track_caller]
fn check_built_again(sandbox: &Sandbox) {
    assert!(!has_old_term(sandbox));
    assert_eq!(first(sandbox, &["exchange rates lock"])["id"], "P1");
    database(sandbox).execute("INSERT INTO passage_terms (passage_terms) VALUES ('integrity-check')", []).unwrap();
}

#[test]
fn an_index_of_another_version_is_used_and_then_built_again() {
    let sandbox = remembering();
    make_old(&sandbox);
    assert!(!is_complete(&sandbox));
    assert!(sandbox.longhaul(&["doctor"]).stdout.contains("0 % of the search index is built"));
    assert_eq!(first(&sandbox, &["exchange rates lock"])["id"], "P1");
    // What is stored meanwhile is added when it is built.
    assert_eq!(memory(&sandbox, &["save", "the zeppelin is grounded"]).status, Some(0));
    assert!(has_old_term(&sandbox));
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    assert!(is_complete(&sandbox));
    check_built_again(&sandbox);
    assert!(first(&sandbox, &["grounded zeppelins"])["id"].as_str().unwrap().starts_with('O'));
    // It is not built a second time.
    database(&sandbox).execute("INSERT INTO passage_terms (rowid, terms) VALUES (7, 'oldterm')", []).unwrap();
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    assert!(has_old_term(&sandbox));
}

#[test]
fn a_session_that_begins_has_an_index_of_another_version_built_again() {
    let sandbox = remembering();
    make_old(&sandbox);
    let all = json!({ "session_id": "new", "cwd": sandbox.project(), "transcript_path": "/nowhere.jsonl",
                      "source": "startup" });
    assert_eq!(sandbox.hook("longhaul-session-start", payload("SessionStart", all)).status, Some(0));
    poll::wait_until(poll::DEADLINE, "the index to be complete", || is_complete(&sandbox));
    check_built_again(&sandbox);
}

#[test]
fn what_is_forgotten_leaves_no_term_in_an_index_of_another_version() {
    let sandbox = remembering();
    make_old(&sandbox);
    assert!(!holding(&sandbox.data_dir(), "fahrenheit").is_empty());
    assert_eq!(memory(&sandbox, &["forget", "--session", "bbbb-2222", "--yes"]).status, Some(0));
    assert!(holding(&sandbox.data_dir(), "fahrenheit").is_empty());
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    check_built_again(&sandbox);
}

/// A memory of the version before, which did not record the terms of its index.
#[test]
fn the_index_of_an_earlier_version_is_built_again_and_nothing_is_lost() {
    let sandbox = remembering();
    let before = "DROP INDEX turns_with_unreported_rewind; DROP INDEX turns_taken_back;
                  DROP TRIGGER user_prompts_forgotten; DROP TRIGGER observations_forgotten;
                  DROP TRIGGER session_summaries_forgotten; DROP TRIGGER bookmarks_forgotten;
                  DROP TABLE sync_entities; DROP TABLE sync_log; DROP TABLE sync_projects; DROP TABLE sync_self;
                  DROP TABLE sync_hosts; ALTER TABLE sessions DROP COLUMN host_id;
                  DROP TRIGGER agents_removed; DROP TABLE session_places; DROP TABLE notifications;
                  ALTER TABLE agents DROP COLUMN wants; ALTER TABLE agents DROP COLUMN prompt_ms;
                  DROP TABLE passage_index; DROP TABLE forgotten_prompts; DROP TABLE snapshots;
                  ALTER TABLE session_summaries DROP COLUMN exchanges; PRAGMA user_version = 14;
                  INSERT INTO passage_terms (rowid, terms) VALUES (7, 'oldterm');";
    database(&sandbox).execute_batch(before).unwrap();
    assert!(!is_complete(&sandbox));
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    assert!(is_complete(&sandbox));
    check_built_again(&sandbox);
}
