//! Killed processes, damaged databases and databases of a newer version: nothing is lost.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::json;

use super::{Session, titles};
use crate::dice::Dice;
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Sandbox, payload};

#[test]
fn hooks_killed_at_any_moment_lose_nothing_that_was_answered() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.prompt("go");
    let mut dice = Dice(42);
    let mut answered = Vec::new();
    for number in 0..90 {
        let id = format!("call-{number}");
        let (executable, text) = match dice.roll(4) {
            0 => ("longhaul-stop", payload("Stop", json!({ "session_id": "s", "cwd": sandbox.project() }))),
            1 => (
                "longhaul-session-start",
                payload("SessionStart", json!({ "session_id": "t", "cwd": sandbox.project() })),
            ),
            _ => {
                let call = json!({
                    "session_id": "s", "cwd": sandbox.project(), "tool_name": "Bash", "tool_use_id": id,
                    "tool_input": { "command": format!("run number{number}") },
                    "tool_response": { "stdout": "x".repeat(dice.roll(9_000) as usize) },
                });
                ("longhaul-post-tool-use", payload("PostToolUse", call))
            }
        };
        let mut child = sandbox.executable(executable).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        // On a busy machine, hardly any would be done in that time.
        if dice.roll(4) > 0 {
            std::thread::sleep(Duration::from_micros(dice.roll(6_000)));
            let _ = child.kill();
        }
        if child.wait().unwrap().success() && executable == "longhaul-post-tool-use" {
            answered.push(number);
        }
    }
    session.stop("done");
    assert!(answered.len() > 10, "some must live to tell: {answered:?}");
    let stored = titles(&sandbox);
    for number in &answered {
        let wanted = format!("number{number}`");
        assert!(
            stored.iter().any(|title| title.split_whitespace().any(|word| word == wanted)),
            "{wanted} of {stored:?}"
        );
    }
    let database = sandbox.database();
    let check: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    let once: i64 = database
        .query_row("SELECT count(*) - count(DISTINCT tool_use_id) FROM observations", [], |row| row.get(0))
        .unwrap();
    assert_eq!(once, 0);
}

#[test]
fn a_damaged_database_is_set_aside_and_the_user_told() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.data_dir()).unwrap();
    fs::write(sandbox.data_dir().join("longhaul.db"), "garbage".repeat(1000)).unwrap();
    let session = Session::new(&sandbox, "s");
    let reply = session.fire("SessionStart", json!({ "source": "startup" }));
    assert!(reply["systemMessage"].as_str().unwrap().contains("longhaul.db.damaged-1"), "{reply}");
    let kept = fs::read_to_string(sandbox.data_dir().join("longhaul.db.damaged-1")).unwrap();
    assert_eq!(kept, "garbage".repeat(1000));
    session.prompt("go");
    session.bash("t1", "ls", "a");
    session.stop("done");
    assert_eq!(titles(&sandbox).len(), 1);
    let log = sandbox.error_log();
    // That nothing of it could be salvaged may be there already.
    assert_eq!(log.lines().filter(|line| !line.contains("salvaged:")).count(), 1, "{log}");
}

/// Overwrites the page from which all others of the observations are reached.
fn damage_observations(sandbox: &Sandbox) {
    let path = sandbox.data_dir().join("longhaul.db");
    let database = Connection::open(&path).unwrap();
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'observations'";
    let page: usize = database.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap() as usize;
    drop(database);
    let mut bytes = fs::read(&path).unwrap();
    bytes[(page - 1) * 4096..page * 4096].fill(0xa5);
    fs::write(&path, bytes).unwrap();
}

#[test]
fn what_can_be_read_of_a_damaged_database_comes_back_and_the_next_session_says_so() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.prompt("go");
    for number in 0..50 {
        session.bash(&format!("t{number}"), &format!("echo {number}"), &"x".repeat(500));
    }
    session.stop("done");
    damage_observations(&sandbox);
    // Otherwise the new database gets some of them from there.
    fs::remove_file(sandbox.data_dir().join("spool/s.jsonl")).unwrap();
    session.prompt("and now?");
    session.bash("t50", "echo 50", "x");
    let reply = session.fire("Stop", json!({ "last_assistant_message": "done" }));
    assert!(reply["systemMessage"].as_str().unwrap_or_default().contains("salvaged in the background"), "{reply}");
    let report = sandbox.data_dir().join("longhaul.db.damaged-1.salvage");
    wait_until(DEADLINE, "the salvage", || fs::read_to_string(&report).is_ok_and(|text| text.contains("observations")));
    // The session goes on, and the next one says what came of it, once.
    session.prompt("go on");
    session.stop("done");
    assert_eq!(titles(&sandbox).len(), 51);
    let prompts = "SELECT prompt_number || ' ' || prompt FROM prompts ORDER BY prompt_number";
    assert_eq!(sandbox.rows(prompts), ["1 go", "2 and now?", "3 go on"]);
    let next = Session::new(&sandbox, "next");
    let told = next.fire("SessionStart", json!({ "source": "startup" }))["systemMessage"].to_string();
    assert!(told.contains("50 observations") && told.contains("not readable: 1 page"), "{told}");
    let again = Session::new(&sandbox, "again").fire("SessionStart", json!({ "source": "startup" }));
    assert!(!again["systemMessage"].to_string().contains("salvaged"), "{again}");
    let doctor = sandbox.longhaul(&["doctor"]);
    assert!(doctor.stdout.contains("50 observations"), "{doctor:?}");
    assert!(sandbox.error_log().contains("50 observations"), "{}", sandbox.error_log());
    // By hand: once, and never of what is no damaged database.
    let aside = sandbox.data_dir().join("longhaul.db.damaged-1");
    let done = sandbox.longhaul(&["memory", "salvage", aside.to_str().unwrap()]);
    assert!(done.status == Some(0) && done.stderr.contains("was salvaged before"), "{done:?}");
    fs::write(sandbox.project().join("text"), "no database").unwrap();
    let refused = [
        (sandbox.data_dir().join("longhaul.db"), "the database that is in use"),
        (sandbox.project().join("text"), "no database of Longhaul"),
        (sandbox.project(), "not a regular file"),
        (sandbox.project().join("nowhere"), "nowhere"),
    ];
    for (path, why) in refused {
        let refused = sandbox.longhaul(&["memory", "salvage", path.to_str().unwrap()]);
        assert!(refused.status == Some(1) && refused.stderr.contains(why), "{refused:?}");
    }
    assert_eq!(titles(&sandbox).len(), 51);
    // Everything that was recorded is in the file, too.
    assert_eq!(sandbox.longhaul(&["memory", "purge", "--all", "--yes"]).status, Some(0));
    assert!(!aside.exists() && !report.exists());
}

#[test]
fn a_salvage_that_was_interrupted_goes_on_in_the_next_session() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.prompt("go");
    session.bash("t0", "echo 0", "x");
    session.stop("done");
    let data = sandbox.data_dir();
    let database = Connection::open(data.join("longhaul.db")).unwrap();
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(database);
    fs::rename(data.join("longhaul.db"), data.join("longhaul.db.damaged-1")).unwrap();
    let doctor = sandbox.longhaul(&["doctor"]);
    assert!(doctor.stdout.contains("longhaul memory salvage"), "{doctor:?}");
    fs::write(data.join("longhaul.db.damaged-1.salvage"), "").unwrap();
    session.fire("SessionStart", json!({ "source": "startup" }));
    let report = data.join("longhaul.db.damaged-1.salvage");
    wait_until(DEADLINE, "the salvage", || {
        fs::read_to_string(&report).is_ok_and(|text| text.contains("nothing was lost"))
    });
    assert_eq!(titles(&sandbox).len(), 1);
}

#[test]
fn a_database_damaged_further_in_is_set_aside_too() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.prompt("go");
    for number in 0..50 {
        session.bash(&format!("t{number}"), &format!("echo {number}"), &"x".repeat(500));
    }
    session.stop("done");
    let path = sandbox.data_dir().join("longhaul.db");
    let database = Connection::open(&path).unwrap();
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(database);
    let mut bytes = fs::read(&path).unwrap();
    for byte in bytes.iter_mut().skip(8192) {
        *byte = 0xa5;
    }
    fs::write(&path, bytes).unwrap();
    let reply = session.fire("UserPromptSubmit", json!({ "prompt": "and now?" }));
    assert!(reply["systemMessage"].as_str().unwrap_or_default().contains("damaged-1"), "{reply}");
    session.fire("SessionStart", json!({ "source": "startup" }));
    assert_eq!(sandbox.rows("SELECT 'ok' FROM sessions LIMIT 1"), ["ok"]);
}

#[test]
fn a_database_from_before_the_first_release_is_set_aside_and_the_user_told_once() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.data_dir()).unwrap();
    let path = |name: &str| sandbox.data_dir().join(name);
    fs::write(path("longhaul.db.before-1"), "of an earlier time").unwrap();
    let old = Connection::open(path("longhaul.db")).unwrap();
    let fill = "PRAGMA journal_mode = wal; CREATE TABLE bookmarks (id INTEGER PRIMARY KEY, note TEXT); PRAGMA user_version = 23;
                INSERT INTO bookmarks (note) VALUES ('kept');";
    old.execute_batch(fill).unwrap();
    let doctor = sandbox.longhaul(&["doctor"]).stdout;
    assert!(doctor.contains("was written by a version before the first release"), "{doctor}");
    // Another program is the first to open it, while one of the version before still has it open.
    assert_eq!(sandbox.longhaul(&["memory", "save", "a note"]).status, Some(0));
    let session = Session::new(&sandbox, "s");
    let reply = session.fire("SessionStart", json!({ "source": "startup" }));
    let message = reply["systemMessage"].as_str().unwrap_or_default();
    assert!(message.contains("longhaul.db.before-2") && message.contains("`longhaul memory import`"), "{reply}");
    let reply = session.fire("SessionStart", json!({ "source": "startup" }));
    assert!(!reply["systemMessage"].as_str().unwrap_or_default().contains("before"), "{reply}");
    let doctor = sandbox.longhaul(&["doctor"]).stdout;
    assert!(doctor.contains("were renamed: longhaul.db.before-1, longhaul.db.before-2"), "{doctor}");
    drop(old);
    assert_eq!(fs::read_to_string(path("longhaul.db.before-1")).unwrap(), "of an earlier time");
    let kept = Connection::open(path("longhaul.db.before-2")).unwrap();
    assert_eq!(kept.query_row("SELECT note FROM bookmarks", [], |row| row.get::<_, String>(0)).unwrap(), "kept");
    session.prompt("go");
    session.bash("t1", "ls", "a");
    session.stop("done");
    assert_eq!(titles(&sandbox).len(), 2);
}

#[test]
fn a_newer_schema_is_left_alone() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.prompt("go");
    let path = sandbox.data_dir().join("longhaul.db");
    let database = Connection::open(&path).unwrap();
    let known: u32 = database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    database.pragma_update(None, "user_version", 999).unwrap();
    drop(database);
    let before = fs::read(&path).unwrap();
    session.bash("t1", "ls", "a");
    session.stop("done");
    session.fire("SessionStart", json!({ "source": "startup" }));
    assert_eq!(fs::read(&path).unwrap(), before, "nothing is written");
    assert!(sandbox.error_log().contains("schema 999"), "{}", sandbox.error_log());
    // What was noted waits for a version that can take it in.
    Connection::open(&path).unwrap().pragma_update(None, "user_version", known).unwrap();
    session.stop("done");
    assert_eq!(titles(&sandbox).len(), 1);
}
