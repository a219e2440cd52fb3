//! What an import leaves: titles, token counts, no notes of hooks, no large WAL; and how it is searched.

use std::fs;

use rusqlite::Connection;
use serde_json::json;

use crate::past::Past;
use crate::sandbox::Sandbox;

fn database(sandbox: &Sandbox) -> Connection {
    Connection::open(sandbox.data_dir().join("longhaul.db")).unwrap()
}

fn imported(write: impl Fn(&mut Past)) -> Sandbox {
    let sandbox = Sandbox::new().at(1_794_707_999_000).with_env("TZ", "UTC");
    let mut past = Past::new(&sandbox, "aaaa-1111");
    write(&mut past);
    let outcome = sandbox.longhaul(&["memory", "import", "--quiet"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    sandbox
}

#[test]
fn an_imported_session_has_its_first_and_last_prompt() {
    let sandbox = imported(|past| {
        past.prompt("why does the parser stall?").bash("make", &"x".repeat(400)).reply("It waits.");
        past.prompt("then fix it").reply("Done.");
    });
    let database = database(&sandbox);
    let sql = "SELECT first_user_prompt, last_prompt FROM sessions";
    let prompts: (String, String) = database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(prompts, ("why does the parser stall?".to_owned(), "then fix it".to_owned()));
}

#[test]
fn an_import_leaves_a_small_wal() {
    let sandbox = imported(|past| {
        for turn in 0..60 {
            past.prompt(&format!("question {turn}")).bash("make", &format!("{turn} ").repeat(5_000)).reply("Done.");
        }
    });
    let length = fs::metadata(sandbox.data_dir().join("longhaul.db-wal")).map_or(0, |wal| wal.len());
    assert!(length < 100_000, "{length} bytes");
}

#[test]
fn what_the_client_notes_of_hooks_is_neither_kept_nor_shown() {
    let note = |kind: &str| json!({ "type": "attachment", "attachment": { "type": kind, "hookName": "Stop", "stdout": "{}" } });
    let sandbox = imported(|past| {
        past.prompt("why?").write("user", json!(""), note("hook_success"));
        past.write("user", json!(""), note("async_hook_response")).write(
            "user",
            json!(""),
            note("hook_blocking_error"),
        );
        past.reply("Because.");
    });
    let database = database(&sandbox);
    let names = || {
        let detail = sandbox.longhaul(&["detail", "1", "--session", "aaaa", "--json"]).json();
        let details = detail[0]["details"].as_array().unwrap().clone();
        details.iter().map(|detail| detail["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["hook_blocking_error"]);
    let kept: i64 = database.query_row("SELECT count(*) FROM details", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 1);
}

#[test]
fn thoughts_and_images_are_named_once() {
    let image = json!([{ "type": "image", "source": { "type": "file" } }]);
    let sandbox = imported(|past| {
        past.prompt("look").write("assistant", json!([{ "type": "thinking", "thinking": "hmm" }]), json!({}));
        past.call("Read", json!({ "file_path": "/x.png" }), "", json!({}));
        let result = json!([{ "type": "tool_result", "tool_use_id": "t9", "content": image }]);
        past.write("assistant", json!([{ "type": "tool_use", "id": "t9", "name": "Read", "input": {} }]), json!({}));
        past.write("user", result, json!({})).reply("seen");
    });
    let shown = sandbox.longhaul(&["detail", "1", "--session", "aaaa"]).stdout;
    assert!(shown.contains("## thinking, ") && !shown.contains("thinking thinking"), "{shown}");
    assert!(shown.contains("[image]") && !shown.contains("[image image]"), "{shown}");
}

#[test]
fn a_search_explains_a_day_that_is_none_and_takes_a_star() {
    let sandbox = imported(|past| {
        past.prompt("the Parser drops quotes").reply("Parsing is fixed.");
    });
    let search = |query: &str| sandbox.longhaul(&["memory", "search", query]);
    let nonsense = search("quotes since:nonsense");
    assert_ne!(nonsense.status, Some(0), "{nonsense:?}");
    assert!(
        nonsense.stderr.contains("since:nonsense is not a day") && nonsense.stderr.contains("2026-01-31"),
        "{nonsense:?}"
    );
    assert!(search("Pars*").stdout.contains("the Parser drops quotes"), "{:?}", search("Pars*"));
    // Without the snippets, which show other words for each.
    let records = |query: &str| -> Vec<String> {
        let found = search(query).stdout;
        found.lines().filter(|line| !line.starts_with(' ')).map(str::to_owned).collect()
    };
    assert_eq!(records("Pars*"), records("Parse"));
    assert!(search("pars* quotes").stdout.contains("the Parser drops quotes"));
    assert!(search("quotes since:2026-10-01").stdout.contains("the Parser drops quotes"));
}
