//! `longhaul memory import`: every past session, once, whatever happens.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::past::{Past, holding};
use crate::sandbox::{Outcome, Sandbox, payload, with};

fn memory(sandbox: &Sandbox, args: &[&str]) -> Outcome {
    sandbox.longhaul(&[&["memory"], args].concat())
}

fn import(sandbox: &Sandbox) -> Value {
    let outcome = memory(sandbox, &["import", "--json"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    outcome.json()
}

/// Everything that is remembered, as text; turns and raw text included.
fn everything(sandbox: &Sandbox) -> String {
    let database = sandbox.database();
    let mut all = memory(sandbox, &["export", "--all"]).stdout;
    for table in ["turns", "details", "sessions", "links"] {
        let sql = format!("SELECT count(*) FROM {table}");
        let count: i64 = database.query_row(&sql, [], |row| row.get(0)).unwrap();
        all.push_str(&format!("{table} {count}\n"));
    }
    all
}

fn write_sessions(sandbox: &Sandbox, count: usize, turns: usize) {
    for session in 0..count {
        let mut past = Past::new(sandbox, &format!("{session:04}-past"));
        for turn in 0..turns {
            past.prompt(&format!("question {turn} of session {session}"));
            past.bash(&format!("make part-{turn}"), &"a line of output\n".repeat(200));
            past.edit(&format!("src/part{turn}.rs"), "old", "new").reply("Done.");
        }
    }
}

#[test]
fn an_import_brings_everything_once() {
    let sandbox = Sandbox::new();
    write_sessions(&sandbox, 5, 4);
    let first = import(&sandbox);
    assert_eq!(first["sessions"], 5);
    assert_eq!((&first["prompts"], &first["observations"], &first["summaries"]), (&json!(20), &json!(40), &json!(5)));
    let before = everything(&sandbox);
    let database = sandbox.database();
    for (index, level) in [("passage_terms", 0), ("prompt_trigrams", 1), ("observation_trigrams", 1)] {
        let sql = format!("INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', {level})");
        database.execute(&sql, []).unwrap_or_else(|error| panic!("{index}: {error}"));
    }
    let counted: i64 = database.query_row("SELECT sum(observations) FROM projects", [], |row| row.get(0)).unwrap();
    assert_eq!(counted, 40);
    let second = import(&sandbox);
    assert_eq!((&second["files"], &second["unchanged"]), (&json!(0), &json!(5)));
    fs::remove_file(sandbox.data_dir().join("imported.jsonl")).unwrap();
    let third = import(&sandbox);
    assert_eq!((&third["files"], &third["prompts"], &third["observations"]), (&json!(5), &json!(0), &json!(0)));
    assert_eq!(third["summaries"], 0);
    assert_eq!(everything(&sandbox), before);
}

#[test]
fn a_transcript_that_has_grown_is_read_again() {
    let sandbox = Sandbox::new();
    let mut past = Past::new(&sandbox, "aaaa");
    past.prompt("first").bash("make", "ok").reply("Done.");
    import(&sandbox);
    past.prompt("second").bash("make install", "ok").reply("Installed.");
    let second = import(&sandbox);
    assert_eq!((&second["sessions"], &second["prompts"], &second["observations"]), (&json!(0), &json!(1), &json!(1)));
    let numbers: Vec<i64> = memory(&sandbox, &["export"])
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["type"] == "observation")
        .map(|record| record["prompt_number"].as_i64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2]);
}

#[test]
fn a_bookmark_is_no_prompt_and_a_list_is_one() {
    let sandbox = Sandbox::new();
    let mut past = Past::new(&sandbox, "aaaa");
    past.prompt("· green tests").prompt("· fix the parser\n· then the tests").reply("Done.");
    assert_eq!(import(&sandbox)["prompts"], 1);
    let export = memory(&sandbox, &["export"]).stdout;
    let prompt: Value = serde_json::from_str(export.lines().next().unwrap()).unwrap();
    assert_eq!(prompt["prompt"], "· fix the parser\n· then the tests");
}

#[test]
fn an_import_that_is_killed_is_carried_on() {
    let whole = Sandbox::new();
    write_sessions(&whole, 30, 12);
    import(&whole);
    let expected = import_facts(&whole);
    let sandbox = Sandbox::new();
    write_sessions(&sandbox, 30, 12);
    for ms in [2, 10, 25, 40, 60, 90, 130] {
        let mut command = sandbox.executable("longhaul");
        let mut child = command.args(["memory", "import", "--quiet"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(ms));
        let _ = child.kill();
        child.wait().unwrap();
    }
    import(&sandbox);
    assert_eq!(import_facts(&sandbox), expected);
}

/// Everything that is remembered, without numbers, which depend on who came first.
fn import_facts(sandbox: &Sandbox) -> Vec<String> {
    let root = sandbox.path("").display().to_string();
    let mut facts: Vec<String> = everything(sandbox)
        .replace(&root, "~/")
        .lines()
        .map(|line| match serde_json::from_str::<Value>(line) {
            Ok(mut record) => {
                record["id"] = Value::Null;
                record.to_string()
            }
            Err(_) => line.to_owned(),
        })
        .collect();
    facts.sort();
    facts
}

#[test]
fn nothing_private_or_secret_is_taken_from_a_transcript() {
    let sandbox = Sandbox::new();
    let mut past = Past::new(&sandbox, "aaaa");
    past.prompt("<private>zanzibar plans</private>").bash("grep zanzibar", "zanzibar found").reply("zanzibar it is.");
    past.write("user", json!("<task-notification>zanzibar agent is done</task-notification>"), json!({}));
    past.prompt("what <private>kilimanjaro</private> is public?");
    past.call(
        "Bash",
        json!({ "command": "echo <private>kilimanjaro</private>" }),
        "<private>kilimanjaro</private>",
        json!({ "stdout": "<private>kilimanjaro</private>" }),
    );
    past.bash("echo AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE")
        .reply("The key is AKIAIOSFODNN7EXAMPLE.<private>kilimanjaro");
    import(&sandbox);
    for gone in ["zanzibar", "kilimanjaro", "AKIAIOSFODNN7EXAMPLE"] {
        assert_eq!(holding(&sandbox.data_dir(), gone), Vec::<std::path::PathBuf>::new(), "{gone}");
    }
    assert_eq!(memory(&sandbox, &["search", "public"]).status, Some(0));
}

#[test]
fn a_session_that_hooks_know_is_not_doubled() {
    let sandbox = Sandbox::new();
    let mut past = Past::new(&sandbox, "aaaa");
    past.prompt("look at the parser").bash("make check", "ok").reply("It works.");
    let entry = fs::read_to_string(&past.path).unwrap().lines().nth(1).unwrap().to_owned();
    let prompt_id = serde_json::from_str::<Value>(&entry).unwrap()["promptId"].as_str().unwrap().to_owned();
    let common = json!({ "session_id": "aaaa", "cwd": sandbox.project(), "transcript_path": past.path });
    let fire = |executable: &str, name: &str, more: Value| {
        let all = with(common.clone(), &more);
        assert_eq!(sandbox.hook(executable, payload(name, all)).status, Some(0));
    };
    fire("longhaul-session-start", "SessionStart", json!({}));
    let asked = json!({ "prompt": "look at the parser", "prompt_id": prompt_id });
    fire("longhaul-user-prompt-submit", "UserPromptSubmit", asked);
    fire("longhaul-stop", "Stop", json!({ "last_assistant_message": "It works.", "prompt_id": prompt_id }));
    let brought = import(&sandbox);
    assert_eq!((&brought["sessions"], &brought["observations"]), (&json!(0), &json!(1)));
    let prompts = memory(&sandbox, &["search", "--type", "prompts", "--json"]).json();
    assert_eq!(prompts.as_array().unwrap().len(), 1, "{prompts}");
    let summaries = memory(&sandbox, &["search", "--type", "summaries", "--json"]).json();
    assert_eq!(summaries.as_array().unwrap().len(), 1, "{summaries}");
    let before = everything(&sandbox);
    fire("longhaul-stop", "Stop", json!({ "last_assistant_message": "It works.", "prompt_id": prompt_id }));
    assert_eq!(everything(&sandbox).lines().count(), before.lines().count());
}

#[test]
fn what_is_no_transcript_does_no_harm() {
    let sandbox = Sandbox::new();
    let mut past = Past::new(&sandbox, "aaaa");
    past.prompt("hello").reply("Hi.");
    let folder = past.path.parent().unwrap().to_owned();
    fs::write(folder.join("empty.jsonl"), "").unwrap();
    fs::write(
        folder.join("torn.jsonl"),
        "{\"type\":\"user\",\"uuid\":\"u\",\"cwd\":\"/x\",\"message\":{\"content\":\"ab",
    )
    .unwrap();
    fs::write(folder.join("binary.jsonl"), [0_u8, 159, 146, 150].repeat(2000)).unwrap();
    fs::write(folder.join("notes.txt"), "zanzibar").unwrap();
    fs::create_dir_all(folder.join("aaaa/subagents")).unwrap();
    fs::copy(&past.path, folder.join("agent-1234.jsonl")).unwrap();
    fs::copy(&past.path, folder.join("aaaa/subagents/agent-5678.jsonl")).unwrap();
    let brought = import(&sandbox);
    assert_eq!((&brought["sessions"], &brought["prompts"]), (&json!(1), &json!(1)));
    let nowhere = memory(&sandbox, &["import", "--from", "/nowhere/at/all"]);
    assert_eq!(nowhere.status, Some(1));
    assert!(nowhere.stderr.contains("--from DIR"), "{nowhere:?}");
    sandbox.write_config(r#"{"memory":{"enabled":false}}"#);
    assert!(memory(&sandbox, &["import"]).stderr.contains("memory.enabled"));
}

#[test]
fn a_project_that_is_left_out_is_not_imported() {
    let sandbox = Sandbox::new();
    Past::new(&sandbox, "aaaa").prompt("about zanzibar").reply("Yes.");
    Past::within(&sandbox, "bbbb", &sandbox.home().join("hidden/x")).prompt("about kilimanjaro").reply("No.");
    sandbox.write_config(r#"{"memory":{"exclude":["~/hidden/*"]}}"#);
    let brought = import(&sandbox);
    assert_eq!((&brought["sessions"], &brought["excluded"]), (&json!(1), &json!(1)));
    assert_eq!(holding(&sandbox.data_dir(), "kilimanjaro"), Vec::<std::path::PathBuf>::new());
}

#[test]
fn what_a_model_was_asked_about_the_memory_is_no_past() {
    let sandbox = Sandbox::new();
    let own = sandbox.data_dir().join("model");
    fs::create_dir_all(&own).unwrap();
    // The client tells a folder without links, and a folder below it is none of the user's either.
    let told = fs::canonicalize(&own).unwrap();
    Past::within(&sandbox, "aaaa-asked", &own).prompt("put the notes into better words").reply("{}");
    Past::within(&sandbox, "bbbb-asked", &told.join("deeper")).prompt("and these notes").reply("{}");
    Past::new(&sandbox, "cccc-real").prompt("mend the lamp").reply("Mended.");
    let brought = import(&sandbox);
    assert_eq!((&brought["sessions"], &brought["excluded"]), (&json!(1), &json!(2)));
    assert!(!everything(&sandbox).contains("notes"));
}

#[test]
fn an_imported_session_has_its_first_and_last_prompt_and_leaves_a_small_wal() {
    let sandbox = Sandbox::new();
    let mut past = Past::new(&sandbox, "aaaa");
    for turn in 0..60 {
        past.prompt(&format!("question {turn}")).bash("make", &format!("{turn} ").repeat(5_000)).reply("Done.");
    }
    import(&sandbox);
    let length = fs::metadata(sandbox.data_dir().join("longhaul.db-wal")).map_or(0, |wal| wal.len());
    assert!(length < 100_000, "{length} bytes");
    let database = sandbox.database();
    let sql = "SELECT first_user_prompt || ' ' || last_prompt FROM sessions";
    let prompts: String = database.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(prompts, "question 0 question 59");
}
