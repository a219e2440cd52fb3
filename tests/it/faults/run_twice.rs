//! A job that finds the database damaged runs again with a new one: nothing of its first run is reported or stored twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Session, bash, files};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::Sandbox;

/// The tables that jobs read or write, each of which is damaged in turn.
const USED: [&str; 8] =
    ["agents", "bookmarks", "bridges", "continuations", "handoff_log", "observations", "sessions", "turns"];

/// Every hook whose jobs use the database, with what makes them act.
fn events() -> Vec<(&'static str, Value)> {
    vec![
        ("SessionStart", json!({ "source": "startup" })),
        ("SessionStart", json!({ "source": "clear" })),
        ("UserPromptSubmit", json!({ "prompt": "\u{b7} before the merge", "prompt_id": "p" })),
        ("UserPromptSubmit", json!({ "prompt": "do it", "prompt_id": "p" })),
        ("UserPromptSubmit", json!({ "prompt": "do it without an id", "prompt_id": null })),
        ("UserPromptSubmit", json!({ "prompt": "/longhaul:tl", "prompt_id": "p" })),
        ("PostToolUse", bash("t")),
        ("PostToolUseFailure-Bash", json!({})),
        ("PreToolUse-Agent", json!({})),
        ("PermissionRequest", json!({})),
        ("Notification-permission_prompt", json!({})),
        ("SubagentStart", json!({})),
        ("SubagentStop", json!({})),
        ("Stop", json!({ "last_assistant_message": "done" })),
        ("StopFailure", json!({})),
        ("PreCompact-manual", json!({})),
        ("SessionEnd-clear", json!({})),
    ]
}

/// What a hook leaves behind.
#[derive(Debug)]
struct Left {
    reply: Value,
    log: Vec<String>,
}

impl Left {
    fn by(sandbox: &Sandbox, name: &str, changes: &Value) -> Self {
        let reply = Session::new(sandbox, "s").fire(name, changes.clone());
        Self { reply, log: sandbox.log_lines("s") }
    }
}

/// Returns the tables that hold what is stored, by name, with the page at which each begins.
fn tables(sandbox: &Sandbox) -> Vec<(String, u64)> {
    let database = sandbox.database();
    let sql = "SELECT name, rootpage FROM sqlite_schema WHERE type = 'table' AND rootpage > 0
               AND name NOT LIKE 'sqlite_%' AND name NOT GLOB '*_words_*' AND name NOT GLOB '*_trigrams_*'";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// Counts the rows of each table, without those that say how far a file was salvaged.
fn rows(sandbox: &Sandbox) -> BTreeMap<String, i64> {
    let names = tables(sandbox).into_iter().map(|(name, _)| name);
    let database = sandbox.database();
    let count = |name: &str| {
        let condition = if name == "known_ids" { "scope <> 'from salvage'" } else { "TRUE" };
        database.query_row(&format!("SELECT count(*) FROM {name} WHERE {condition}"), [], |row| row.get(0)).unwrap()
    };
    names.map(|name| (name.clone(), count(&name))).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in files(from) {
        let there = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &there);
        } else {
            fs::copy(&path, &there).unwrap();
        }
    }
}

#[test]
fn a_job_that_is_run_again_leaves_what_one_run_leaves() {
    let sandbox = Sandbox::new().at(1_794_707_999_000);
    Session::started(&sandbox, "s");
    // A turn runs, of which no table knows anything yet.
    fs::write(sandbox.data_dir().join("sessions/s.log"), "S 1794707990000 idle\nP 1794707991000\n").unwrap();
    let rows_before = rows(&sandbox);
    let mut tables = tables(&sandbox);
    tables.retain(|(name, _)| USED.contains(&name.as_str()));
    assert_eq!(tables.len(), USED.len(), "{tables:?}");
    let page_size: i64 = {
        let database = sandbox.database();
        database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        database.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap()
    };
    let page_size = page_size.unsigned_abs() as usize;
    let (data, template) = (sandbox.data_dir(), sandbox.path("template"));
    copy(&data, &template);
    let whole = fs::read(data.join("longhaul.db")).unwrap();
    let prepare = |content: Option<&[u8]>| {
        fs::remove_dir_all(&data).unwrap();
        copy(&template, &data);
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(data.join(format!("longhaul.db{end}")));
        }
        if let Some(content) = content {
            fs::write(data.join("longhaul.db"), content).unwrap();
        }
    };
    let mut run_again = BTreeMap::new();
    for (name, changes) in events() {
        prepare(None);
        let once = Left::by(&sandbox, name, &changes);
        let rows_once = rows(&sandbox);
        for (table, page) in &tables {
            let mut damaged = whole.clone();
            let at = (*page as usize - 1) * page_size;
            damaged[at..at + page_size].fill(0xff);
            prepare(Some(&damaged));
            let mut twice = Left::by(&sandbox, name, &changes);
            if !data.join("longhaul.db.damaged-1").exists() {
                // No job of this hook reads that table.
                continue;
            }
            *run_again.entry(name).or_insert(0) += 1;
            // What was there before is salvaged in the background.
            let report = data.join("longhaul.db.damaged-1.salvage");
            wait_until(DEADLINE, "the salvage", || fs::read(&report).is_ok_and(|report| !report.is_empty()));
            // PreCompact prints nothing; the log and the doctor say it.
            if let Some(reply) = twice.reply.as_object_mut() {
                let told = reply.remove("systemMessage").and_then(|told| Some(told.as_str()?.to_owned()));
                let told = told.unwrap_or_default();
                let count = told.matches("damaged").count();
                assert_eq!(count, 2, "{name}, {table}: the message and the file's name: {told}");
                let others: Vec<&str> = told.split("; ").filter(|message| !message.contains("damaged")).collect();
                if !others.is_empty() {
                    reply.insert("systemMessage".to_owned(), others.join("; ").into());
                }
            }
            assert_eq!(twice.reply, once.reply, "{name}, {table}");
            assert_eq!(twice.log, once.log, "{name}, {table}");
            for (table_of_rows, count) in rows(&sandbox) {
                // What an earlier job has stored is in the file that was set aside.
                let most = rows_once[&table_of_rows].max(rows_before[&table_of_rows]);
                assert!(count <= most, "{name}, {table}: {table_of_rows} has {count} rows");
            }
            assert!(!sandbox.error_log().contains("panicked"), "{}", sandbox.error_log());
        }
    }
    let marked = run_again.get("UserPromptSubmit").copied().unwrap_or_default();
    assert!(run_again.len() >= 10 && marked >= 6, "too few jobs were run again: {run_again:?}");
}

#[test]
fn a_notice_is_told_although_the_prompt_is_a_command_that_ends_the_turn() {
    let sandbox = Sandbox::new();
    let session = Session::started(&sandbox, "s");
    let stored = sandbox.database().execute(
        "INSERT INTO continuations (session_id, project_path, state, since, untold, created_at)
         VALUES ('s', '/p', 'failed', 1, 'the pane was closed', 1)",
        [],
    );
    assert_eq!(stored.unwrap(), 1);
    let reply = session.fire("UserPromptSubmit", json!({ "prompt": "/longhaul:tl" }));
    assert_eq!(reply["continue"], false, "{reply}");
    assert!(reply["stopReason"].as_str().unwrap().contains("handed over"), "{reply}");
    let told = reply["systemMessage"].as_str().unwrap_or_default();
    assert!(told.contains("not continued: the pane was closed"), "{reply}");
}
