//! A search index that is damaged: built again from the records, also where that is interrupted.

use fs2::FileExt;
use serde_json::json;

use super::{first, memory, remembering};
use crate::poll;
use crate::sandbox::{Sandbox, payload, with};

/// Overwrites every page of the index.
fn damage(sandbox: &Sandbox) {
    sandbox.database().execute("UPDATE passage_terms_data SET block = x'00' WHERE id > 10", []).unwrap();
}

#[test]
fn a_damaged_index_is_built_again_by_a_search() {
    let sandbox = remembering();
    damage(&sandbox);
    assert_eq!(first(&sandbox, &["exchange rates lock"])["id"], "P1");
    assert_eq!(first(&sandbox, &["Heizmatten"])["type"], "prompt");
}

#[test]
fn a_rebuild_that_cannot_begin_leaves_the_index_to_the_next_search() {
    let sandbox = remembering();
    damage(&sandbox);
    let fails = "CREATE TRIGGER fails BEFORE UPDATE OF ranges ON indexes BEGIN SELECT RAISE(ABORT, 'no room'); END";
    sandbox.database().execute_batch(fails).unwrap();
    let failed = memory(&sandbox, &["search", "importer"]);
    assert!(failed.stderr.contains("corruption"), "{failed:?}");
    sandbox.database().execute_batch("DROP TRIGGER fails").unwrap();
    assert_eq!(first(&sandbox, &["exchange rates lock"])["id"], "P1");
}

#[test]
fn a_rebuild_that_is_interrupted_goes_on_later() {
    let sandbox = remembering();
    damage(&sandbox);
    // Emptying the index succeeds, and no step of the building.
    let fails = "CREATE TRIGGER fails BEFORE UPDATE OF ranges ON indexes
                 WHEN new.ranges ->> '$.prompts[0]' < old.ranges ->> '$.prompts[0]'
                 BEGIN SELECT RAISE(ABORT, 'killed'); END";
    sandbox.database().execute_batch(fails).unwrap();
    assert_ne!(memory(&sandbox, &["search", "importer"]).status, Some(0));
    let unbuilt = memory(&sandbox, &["search", "exchange rates"]);
    assert!(unbuilt.stderr.contains("nothing found"), "{unbuilt:?}");
    let rows = "SELECT count(*) FROM passage_terms WHERE passage_terms MATCH '\"=wp\"'";
    let indexed: i64 = sandbox.database().query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(indexed, 0, "nothing is in the index that its progress does not say");
    sandbox.database().execute_batch("DROP TRIGGER fails").unwrap();
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    assert_eq!(first(&sandbox, &["exchange rates lock"])["id"], "P1");
}

#[test]
fn a_prompt_finds_a_damaged_index_and_nothing_is_lost() {
    let sandbox = remembering();
    damage(&sandbox);
    let all = json!({ "session_id": "dddd-4444", "cwd": sandbox.project(), "prompt_id": "p1",
                      "prompt": "what made the importer stall?", "transcript_path": "/nowhere.jsonl" });
    let outcome = sandbox.hook("longhaul-user-prompt-submit", payload("UserPromptSubmit", all));
    assert_eq!((outcome.status, outcome.json()["continue"].as_bool()), (Some(0), Some(true)), "{outcome:?}");
    assert!(!sandbox.data_dir().join("longhaul.db.damaged-1").exists());
    assert!(sandbox.error_log().contains("the search index is damaged, upkeep builds it again"), "{outcome:?}");
    wait_until_complete(&sandbox);
    assert_eq!(first(&sandbox, &["exchange rates lock"])["id"], "P1");
}

/// Waits until the process that a hook has started has built the index.
fn wait_until_complete(sandbox: &Sandbox) {
    poll::wait_until(poll::DEADLINE, "the index to be complete", || is_complete(sandbox));
}

fn is_complete(sandbox: &Sandbox) -> bool {
    memory(sandbox, &["stats", "--json"]).json()["search_index"]["complete"] == true
}

#[test]
fn a_hook_leaves_a_damaged_index_to_upkeep() {
    let sandbox = remembering();
    let fire = |executable: &str, name: &str, changes: serde_json::Value| {
        let all = json!({ "session_id": "dddd-4444", "cwd": sandbox.project(), "transcript_path": "/nowhere.jsonl" });
        let outcome = sandbox.hook(executable, payload(name, with(all, &changes)));
        assert_eq!((outcome.status, outcome.json()["continue"].as_bool()), (Some(0), Some(true)), "{outcome:?}");
    };
    let turn = |number: usize| {
        let id = format!("p{number}");
        let prompt = json!({ "prompt": format!("what is mast {number} made of?"), "prompt_id": id });
        fire("longhaul-user-prompt-submit", "UserPromptSubmit", prompt);
        let reply =
            json!({ "last_assistant_message": format!("Mast {number} is made of aluminium."), "prompt_id": id });
        fire("longhaul-stop", "Stop", reply);
    };
    // A prompt that is searched for would find the damage first.
    sandbox.write_config(r#"{"memory":{"show":["page"]}}"#);
    // Whoever builds the index holds this lock: no process that a hook starts can do it meanwhile.
    std::fs::create_dir_all(sandbox.data_dir().join("locks")).unwrap();
    let lock = std::fs::File::create(sandbox.data_dir().join("locks/upkeep")).unwrap();
    lock.lock_exclusive().unwrap();
    // Writing meets the damage when the index merges the newest segments, every few turns.
    let met = (1..=20).find(|number| {
        turn(*number);
        damage(&sandbox);
        sandbox.error_log().contains("the search index is damaged, upkeep builds it again")
    });
    assert!(met.is_some(), "no hook has met the damage: {}", sandbox.error_log());
    assert!(!is_complete(&sandbox), "the hook has not built it");
    // Everything else is stored all the same, and the damage is reported once.
    let (log, next) = (sandbox.error_log(), met.unwrap() + 1);
    (next..next + 6).for_each(turn);
    assert_eq!(sandbox.error_log(), log);
    let stored: i64 = sandbox
        .database()
        .query_row("SELECT count(*) FROM prompts WHERE prompt LIKE 'what is mast%'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(stored as usize, next + 5);
    assert!(!sandbox.data_dir().join("longhaul.db.damaged-1").exists());
    drop(lock);
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    assert!(is_complete(&sandbox));
    assert_eq!(first(&sandbox, &["exchange rates lock"])["id"], "P1");
    assert_eq!(
        first(&sandbox, &[&format!("+{next} aluminium mast")])["title"],
        format!("what is mast {next} made of?")
    );
}
