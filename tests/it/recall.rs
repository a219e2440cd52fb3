//! Recall: questions are answered from prompts and replies, also in other words.

mod answering;
mod index_damage;
mod index_rebuild;
mod long_replies;
mod marked_words;
mod quality;
mod upkeep_attacked;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::past::{Past, holding};
use crate::sandbox::{Outcome, Sandbox};

fn sandbox() -> Sandbox {
    Sandbox::new().at(1_794_707_999_000).with_env("TZ", "UTC")
}

fn memory(sandbox: &Sandbox, args: &[&str]) -> Outcome {
    sandbox.longhaul(&[&["memory"], args].concat())
}

fn import(sandbox: &Sandbox) {
    assert_eq!(memory(sandbox, &["import", "--quiet"]).status, Some(0));
}

/// Some sessions about different things.
fn remembering() -> Sandbox {
    let sandbox = sandbox();
    Past::new(&sandbox, "aaaa-1111")
        .prompt("why does the importer stall?")
        .bash("tail importer.log", "waiting for lock")
        .reply("The exchange rates hold the lock while they wait for an answer; chunks of 500 rows cured it.")
        .prompt("where is the address of a feed taken apart?")
        .edit("src/net/feed.rs", "a", "b")
        .reply("In `parseHttpUrl`, which src/net/feed.rs calls.");
    Past::new(&sandbox, "bbbb-2222")
        .prompt("支払期日を読み取れない")
        .reply("和暦で書かれていたためです。元号表を追加しました。")
        .prompt("三号样地的坐标不对")
        .reply("经纬度抄错了一位，已经改正。")
        .prompt("Warum überhitzen die Heizmatten?")
        .reply("Der Regler rechnet mit Fahrenheit. Die Einheit steht jetzt fest auf Celsius.");
    Past::new(&sandbox, "cccc-3333").prompt("it dies at night").reply(
        "The trace says:\nthread 'main' panicked at src/importer/swift.rs:212:34:\ncalled `Option::unwrap()` on a \
             `None` value\nField 86 has no subfields for card payments; the raw text is kept now.",
    );
    import(&sandbox);
    sandbox
}

/// Asks as somebody types it, and returns the first result.
#[track_caller]
fn first(sandbox: &Sandbox, typed: &[&str]) -> Value {
    let found = memory(sandbox, &[&["search", "--json"], typed].concat());
    assert_eq!(found.status, Some(0), "{typed:?}: {found:?}");
    found.json()[0].clone()
}

/// What each kind of word finds is tested with `longhaul-memory` and the store: here, that it arrives there as it was typed.
#[test]
fn a_question_is_answered_however_it_is_typed() {
    let sandbox = remembering();
    let trace = "thread 'main' panicked at src/importer/swift.rs:212:34:\ncalled `Option::unwrap()` on a `None` value\n\
                 stack backtrace:\n   0: rust_begin_unwind\n   1: core::panicking::panic_fmt\n   2: -foo file:bar +baz";
    let (stalls, address) = ("why does the importer stall?", "where is the address of a feed taken apart?");
    let (japanese, chinese, german) =
        ("支払期日を読み取れない", "三号样地的坐标不对", "Warum überhitzen die Heizmatten?");
    for (typed, expected) in [
        (&["why", "did", "the", "importers", "stall"][..], stalls),
        (&["why did the importer stall"], stalls),
        (&["could you please tell me what was holding a lock"], stalls),
        (&["improter"], stalls),
        (&["parse_http_url"], address),
        (&["http url"], address),
        (&["日"], japanese),
        (&["元号"], japanese),
        (&["样地的坐标"], chinese),
        (&["warum wurde die heizmatte ueberhitzt, einheiten"], german),
        (&["fahrenhiet"], german),
        (&[trace], "it dies at night"),
    ] {
        let found = first(&sandbox, typed);
        assert_eq!(found["title"], expected, "{typed:?}: {found}");
    }
}

#[test]
fn replies_are_searched_and_read() {
    let sandbox = remembering();
    let found = first(&sandbox, &["fahrenheit"]);
    assert_eq!((&found["type"], &found["title"]), (&json!("prompt"), &json!("Warum überhitzen die Heizmatten?")));
    assert!(found["snippet"].as_str().unwrap().contains("Fahrenheit"), "{found}");
    let id = found["id"].as_str().unwrap();
    let read = memory(&sandbox, &["get", id]).stdout;
    assert!(read.contains("## reply\nDer Regler rechnet mit Fahrenheit."), "{read}");
    assert!(memory(&sandbox, &["get", id, "--json"]).json()[0]["reply"].as_str().unwrap().contains("Celsius"));
}

#[test]
fn what_is_forgotten_leaves_no_term_of_its_replies() {
    let sandbox = sandbox();
    Past::new(&sandbox, "aaaa-1111")
        .prompt("where to?")
        .reply("To zanzibar, by dirigible, in the rainy seasons.")
        .prompt("and then?")
        .reply("Back home, past kilimanjaro.");
    import(&sandbox);
    let none = Vec::<PathBuf>::new();
    assert_eq!(first(&sandbox, &["dirigibles"])["id"], "P1");
    assert_ne!(holding(&sandbox.data_dir(), "dirig"), none);
    assert_eq!(memory(&sandbox, &["forget", "P1", "--yes"]).status, Some(0));
    // An index writes of a word what differs from the word before it.
    for gone in ["zanzibar", "anzibar", "dirig", "irigibl", "rainy", "ainy"] {
        assert_eq!(holding(&sandbox.data_dir(), gone), none, "{gone}");
    }
    assert_eq!(
        indexed(&sandbox, &["zanzibar", "dirig", "dirigible", "raini", "rainy", "season", "seasons"]),
        none_of()
    );
    assert_ne!(indexed(&sandbox, &["kilimanjaro"]), none_of());
    assert_eq!(first(&sandbox, &["kilimanjaro"])["id"], "P2");
    assert_eq!(memory(&sandbox, &["forget", "--session", "aaaa", "--yes"]).status, Some(0));
    assert_eq!(holding(&sandbox.data_dir(), "kilimanjar"), none);
    assert_eq!(indexed(&sandbox, &["kilimanjaro", "home", "past"]), none_of());
}

fn none_of() -> Vec<String> {
    Vec::new()
}

/// Returns those of some terms that a full-text index has, with the index.
fn indexed(sandbox: &Sandbox, terms: &[&str]) -> Vec<String> {
    let database = sandbox.database();
    let sql = "SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5%'";
    let mut statement = database.prepare(sql).unwrap();
    let tables: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    assert!(tables.iter().any(|table| table == "passage_terms"), "{tables:?}");
    let mut found = Vec::new();
    for table in tables {
        let sql = format!("CREATE VIRTUAL TABLE temp.{table}_terms USING fts5vocab(main, {table}, row)");
        database.execute_batch(&sql).unwrap();
        for term in terms {
            let sql = format!("SELECT 1 FROM temp.{table}_terms WHERE term = ?1");
            if database.prepare(&sql).unwrap().exists([term]).unwrap() {
                found.push(format!("{table}: {term}"));
            }
        }
    }
    found
}

#[test]
fn private_text_of_a_reply_is_in_no_index() {
    let sandbox = sandbox();
    Past::new(&sandbox, "aaaa-1111")
        .prompt("plan?")
        .reply("Take the ferry. <private>The safe is behind gauguin.</private>");
    import(&sandbox);
    assert_eq!(first(&sandbox, &["ferries"])["id"], "P1");
    assert_eq!(holding(&sandbox.data_dir(), "gauguin"), Vec::<PathBuf>::new());
    assert!(fs::exists(sandbox.data_dir().join("longhaul.db")).unwrap());
}
