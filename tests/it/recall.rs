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
use crate::sandbox::{Outcome, Sandbox, payload};

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

#[track_caller]
fn check(typed: &[&str], expected_title: &str) {
    let sandbox = remembering();
    let found = first(&sandbox, typed);
    assert_eq!(found["title"], expected_title, "{typed:?}: {found}");
}

#[test]
fn a_question_in_other_words_is_answered() {
    check(&["why", "did", "the", "importers", "stall"], "why does the importer stall?");
    check(&["why did the importer stall"], "why does the importer stall?");
    check(&["could you please tell me what was holding a lock"], "why does the importer stall?");
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
fn japanese_is_found_by_a_word_of_two_characters() {
    check(&["期日"], "支払期日を読み取れない");
    check(&["元号"], "支払期日を読み取れない");
    check(&["日"], "支払期日を読み取れない");
}

#[test]
fn chinese_is_found_within_a_sentence() {
    check(&["样地的坐标"], "三号样地的坐标不对");
    check(&["经纬度"], "三号样地的坐标不对");
}

#[test]
fn scripts_without_spaces_are_found_within_a_sentence() {
    let sandbox = sandbox();
    let long = "ប្រព័ន្ធនេះដំណើរការបានល្អណាស់នៅថ្ងៃនេះ";
    Past::new(&sandbox, "aaaa-1111")
        .prompt("khmer")
        .reply(&format!("{long}មានបញ្ហាជាមួយកុំព្យូទ័រ{long}"))
        .prompt("burmese")
        .reply("ကျွန်တော်တို့ရဲ့ကွန်ပျူတာမှာပြဿနာတစ်ခုရှိနေတယ်။")
        .prompt("lao")
        .reply("ຄອມພິວເຕີຂອງພວກເຮົາມີບັນຫາໃນມື້ນີ້")
        .prompt("thai")
        .reply("คอมพิวเตอร์ของเรามีปัญหาในวันนี้และทำงานช้ามาก");
    import(&sandbox);
    for (typed, title) in [
        ("បញ្ហា", "khmer"),
        ("កុំព្យូទ័រ", "khmer"),
        ("ប្រព័ន្ធ", "khmer"),
        ("ပြဿနာ", "burmese"),
        ("ကွန်ပျူတာ", "burmese"),
        ("ບັນຫາ", "lao"),
        ("ปัญหา", "thai"),
        ("ทำงาน", "thai"),
    ] {
        for typed in [typed.to_owned(), format!("+{typed}")] {
            assert_eq!(first(&sandbox, &["--type", "prompts", &typed])["title"], title, "{typed}");
        }
    }
}

#[test]
fn german_is_found_in_another_inflection() {
    check(&["Heizmatte"], "Warum überhitzen die Heizmatten?");
    check(&["warum wurde die heizmatte ueberhitzt, einheiten"], "Warum überhitzen die Heizmatten?");
}

#[test]
fn a_stack_trace_is_a_query() {
    let trace = "thread 'main' panicked at src/importer/swift.rs:212:34:\ncalled `Option::unwrap()` on a `None` value\n\
                 stack backtrace:\n   0: rust_begin_unwind\n   1: core::panicking::panic_fmt\n   2: -foo file:bar +baz";
    check(&[trace], "it dies at night");
}

#[test]
fn an_identifier_is_found_whole_and_by_its_parts() {
    for typed in ["parseHttpUrl", "parse_http_url", "http url", "HttpUrl"] {
        check(&[typed], "where is the address of a feed taken apart?");
    }
}

#[test]
fn a_typing_error_is_corrected() {
    check(&["improter"], "why does the importer stall?");
    check(&["fahrenhiet"], "Warum überhitzen die Heizmatten?");
}

#[test]
fn signs_do_what_they_look_like_without_more_quotes() {
    let sandbox = remembering();
    let titles = |typed: &[&str]| {
        let found = memory(&sandbox, &[&["search", "--json", "--type", "prompts"], typed].concat()).json();
        found.as_array().unwrap().iter().map(|hit| hit["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles(&["importer", "-stall"]), ["it dies at night"]);
    assert_eq!(titles(&["importer", "exchange rates"]), ["why does the importer stall?"]);
    assert_eq!(titles(&["importer", "+subfields"]), ["it dies at night"]);
    assert_eq!(titles(&["-stall", "importer"]), ["it dies at night"]);
}

#[test]
fn nothing_found_says_what_was_tried() {
    let sandbox = remembering();
    let none = memory(&sandbox, &["search", "zeppelins"]);
    assert_eq!(none.status, Some(1));
    assert!(none.stderr.contains("has any of zeppelins"), "{none:?}");
    let weak = memory(&sandbox, &["search", "zeppelin captain uniform importer colours"]);
    assert_eq!(weak.status, Some(0));
    assert!(weak.stderr.contains("weak"), "{weak:?}");
}

/// The last reply reaches the hook before the transcript has it.
#[test]
fn a_reply_is_found_as_soon_as_its_turn_is_over() {
    let sandbox = sandbox();
    let project = sandbox.project();
    let fire = |executable: &str, name: &str, changes: Value| {
        let mut all = json!({ "session_id": "dddd-4444", "cwd": project, "prompt_id": "p1",
                              "transcript_path": "/nowhere.jsonl" });
        all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let outcome = Outcome::of(&mut sandbox.executable(executable), payload(name, all).as_bytes());
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
    };
    fire("longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": "which broker do we take?" }));
    fire("longhaul-stop", "Stop", json!({ "last_assistant_message": "Mosquitto, on the machine in the greenhouse." }));
    assert_eq!(first(&sandbox, &["mosquitto greenhouses"])["title"], "which broker do we take?");
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
    let database = rusqlite::Connection::open(sandbox.data_dir().join("longhaul.db")).unwrap();
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

/// Long text is longer than an argument may be, so this is as long as one may be.
#[test]
fn any_text_is_a_query() {
    let sandbox = remembering();
    let words = (0..15_000).map(|n| format!("w{n:x}q")).collect::<Vec<_>>().join(" ");
    for typed in
        ["\"importer", "importer AND OR NOT (", "😀 importer", "“importer„", "importer \u{202e}\u{300}", "* importer"]
    {
        assert_eq!(first(&sandbox, &[typed])["title"], "why does the importer stall?", "{typed}");
    }
    for typed in [words.as_str(), "AND OR NOT", "\"", "😀", "+ - *", "NEAR(", "'; --"] {
        let found = memory(&sandbox, &["search", "--", typed]);
        assert!(matches!(found.status, Some(0 | 1)), "{found:?}");
        assert!(!found.stderr.contains("SQL") && !found.stderr.contains("fts5"), "{found:?}");
    }
}

#[test]
fn a_question_names_a_person_and_a_day() {
    let sandbox = sandbox();
    for (id, day) in [("aaaa-1111", "2023-05-08"), ("bbbb-2222", "2023-08-20")] {
        let mut past = Past::new(&sandbox, id);
        let mut say = |kind: &str, text: &str, minute: u32| {
            let more = json!({ "timestamp": format!("{day}T10:{minute:02}:00.000Z"), "origin": { "kind": "human" } });
            past.write(kind, json!(text), more);
        };
        say("user", "Ingrid: I went to a support group yesterday and it was so powerful.", 1);
        say("assistant", "Kwame: That is great, Ingrid! What did you take away from it?", 2);
        say("user", "Ingrid: That I want to buy a telescope.", 3);
        say("assistant", "Kwame: Do it!", 4);
    }
    import(&sandbox);
    let found = first(&sandbox, &["Which support group did Ingrid go to in May 2023?"]);
    assert_eq!(found["session_id"], "aaaa-1111", "{found}");
    let found = first(&sandbox, &["Which support group did Ingrid go to on 19 August 2023?"]);
    assert_eq!((&found["session_id"], &found["prompt_number"]), (&json!("bbbb-2222"), &json!(1)), "{found}");
    assert_eq!(first(&sandbox, &["what has Ingrid bought"])["prompt_number"], 2);
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
