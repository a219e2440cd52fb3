//! A memory from before the index of passages: searched as before, indexed in the background, then searched anew.

use std::path::Path;

use rusqlite::Connection;
use serde_json::json;

use super::{first, memory, sandbox};
use crate::poll;
use crate::sandbox::{Outcome, Sandbox, payload};

/// How many prompts the old memory has.
const PROMPTS: i64 = 900;

/// The schema of the version before the index.
const OLD_SCHEMA: [&str; 10] = [
    include_str!("../../../crates/store/src/migrations/1_bookmarks.sql"),
    include_str!("../../../crates/store/src/migrations/2_agents.sql"),
    include_str!("../../../crates/store/src/migrations/3_context.sql"),
    include_str!("../../../crates/store/src/migrations/4_handoff.sql"),
    include_str!("../../../crates/store/src/migrations/5_continuation.sql"),
    include_str!("../../../crates/store/src/migrations/6_memory.sql"),
    include_str!("../../../crates/store/src/migrations/7_model.sql"),
    include_str!("../../../crates/store/src/migrations/8_bridge.sql"),
    include_str!("../../../crates/store/src/migrations/9_moved_in.sql"),
    include_str!("../../../crates/store/src/migrations/10_pending_replies.sql"),
];

/// Writes a memory as the version before had it: a session whose replies no index has.
fn old_memory(sandbox: &Sandbox) {
    std::fs::create_dir_all(sandbox.data_dir()).unwrap();
    let database = open(&sandbox.data_dir().join("longhaul.db"));
    database.pragma_update(None, "auto_vacuum", "incremental").unwrap();
    database.pragma_update(None, "journal_mode", "wal").unwrap();
    OLD_SCHEMA.iter().for_each(|step| database.execute_batch(step).unwrap());
    database.pragma_update(None, "user_version", 10).unwrap();
    let project = sandbox.project();
    let project = project.to_str().unwrap();
    database.execute("INSERT INTO projects (project_key, name) VALUES (?1, 'project')", [project]).unwrap();
    let sql = "INSERT INTO sessions (session_id, project, project_key, project_path, prompt_counter, created_at)
               VALUES ('old', 'project', ?1, ?1, ?2, 7)";
    database.execute(sql, (project, PROMPTS)).unwrap();
    database.execute_batch("BEGIN").unwrap();
    for n in 1..=PROMPTS {
        let prompt = if n == 77 { "why does the importer stall?".to_owned() } else { format!("question {n}") };
        let sql = "INSERT INTO user_prompts (session_id, project_id, prompt_number, prompt, created_at)
                   VALUES (1, 1, ?1, ?2, ?1 * 1000)";
        database.execute(sql, (n, &prompt)).unwrap();
        let sql = "INSERT INTO turns (session_id, origin_session_id, turn_number, turn_id, role, created_at)
                   VALUES ('old', 'old', ?1, 't' || ?1, 'user', ?1 * 1000)";
        database.execute(sql, [n]).unwrap();
        let reply = if n == 77 { "A lock of the exchange rates." } else { "Yes." };
        for (role, text) in [("user", prompt.as_str()), ("assistant", reply)] {
            let sql =
                "INSERT INTO bodies (session_id, origin_session_id, turn_number, role, text, token_count, created_at)
                       VALUES ('old', 'old', ?1, ?2, ?3, 0, ?1 * 1000)";
            database.execute(sql, (n, role, text)).unwrap();
        }
    }
    database.execute_batch("COMMIT").unwrap();
}

fn open(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

#[test]
fn an_old_memory_is_searched_as_before_and_then_by_its_replies() {
    let sandbox = sandbox();
    old_memory(&sandbox);
    // As before: every word is required, and replies are not searched.
    assert_eq!(first(&sandbox, &["importer stall"])["id"], "P77");
    assert_eq!(memory(&sandbox, &["search", "exchange rates"]).status, Some(1));
    let stats = memory(&sandbox, &["stats", "--json"]).json();
    assert_eq!(stats["search_index"], json!({ "complete": false, "done": 0, "total": 901 }));
    assert!(memory(&sandbox, &["stats"]).stdout.contains("search index"));
    let doctor = sandbox.longhaul(&["doctor"]);
    assert!(doctor.stdout.contains("search index is built to 0 %"), "{doctor:?}");
    // What is added, changed and forgotten meanwhile is kept right.
    memory(&sandbox, &["save", "the zeppelin is grounded"]);
    assert_eq!(memory(&sandbox, &["forget", "P500", "--yes"]).status, Some(0));

    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    let stats = memory(&sandbox, &["stats", "--json"]).json();
    assert_eq!(stats["search_index"]["complete"], true);
    assert_eq!(first(&sandbox, &["how did exchange rates lock"])["id"], "P77");
    assert_eq!(first(&sandbox, &["grounding zeppelins"])["id"], "O1");
    assert_eq!(memory(&sandbox, &["search", "+500"]).status, Some(1));
    let database = open(&sandbox.data_dir().join("longhaul.db"));
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%\\_words%' ESCAPE '\\'";
    assert_eq!(database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "the old indexes are gone");
    assert_eq!(sandbox.longhaul(&["doctor"]).stdout.find("search index is built"), None);
}

#[test]
fn a_session_that_begins_has_the_index_built() {
    let sandbox = sandbox();
    old_memory(&sandbox);
    let all = json!({ "session_id": "new", "cwd": sandbox.project(), "transcript_path": "/nowhere.jsonl",
                      "source": "startup" });
    let outcome =
        Outcome::of(&mut sandbox.executable("longhaul-session-start"), payload("SessionStart", all).as_bytes());
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    poll::wait_until(poll::DEADLINE, "the index to be complete", || {
        memory(&sandbox, &["stats", "--json"]).json()["search_index"]["complete"] == true
    });
    assert_eq!(first(&sandbox, &["exchange rates"])["id"], "P77");
}
