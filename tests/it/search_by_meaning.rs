//! `memory search` with a model: meaning adds to what words find, and never hides what has every word.

use std::fs;

use serde_json::{Value, json};

use crate::past::Past;
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Sandbox, payload};
use crate::search_process::{Process, ask};

/// Dimensions of the made-up model: enough for a vector's bytes to be recognised in a file.
const DIMS: usize = 48;

/// Tokens, and what they mean: those of the same number mean the same.
const TOKENS: [(&str, u64); 11] = [
    ("##qqq", 2),
    ("authentication", 1),
    ("broken", 2),
    ("cache", 3),
    ("entries", 4),
    ("fails", 2),
    ("login", 1),
    ("outdated", 4),
    ("page", 5),
    ("stale", 4),
    ("zzz", 1),
];

/// Returns the vector of a meaning: the same each time, and unlike the others.
fn row(meaning: u64) -> Vec<u8> {
    let mut state = meaning.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..DIMS).map(|_| next()).collect()
}

/// Writes the model and names it in the configuration.
fn with_model(sandbox: &Sandbox) {
    let text: String = TOKENS.iter().map(|(token, _)| *token).collect();
    let mut bytes = b"LHVEC\0\0\x01".to_vec();
    for number in [DIMS, TOKENS.len(), 4, text.len()] {
        bytes.extend((number as u32).to_le_bytes());
    }
    bytes.extend(b"tiny");
    let mut offset = 0_u32;
    bytes.extend(offset.to_le_bytes());
    for (token, _) in TOKENS {
        offset += token.len() as u32;
        bytes.extend(offset.to_le_bytes());
    }
    bytes.extend(text.as_bytes());
    bytes.extend(TOKENS.iter().flat_map(|_| 0.01_f32.to_le_bytes()));
    bytes.extend(TOKENS.iter().flat_map(|(_, meaning)| row(*meaning)));
    let path = sandbox.path("tiny.lhvec");
    fs::write(&path, bytes).unwrap();
    sandbox.write_config(&json!({ "memory": { "embeddings": path } }).to_string());
}

fn sandbox() -> Sandbox {
    Sandbox::new().at(1_794_707_999_000).with_env("TZ", "UTC")
}

fn import(sandbox: &Sandbox) {
    let imported = sandbox.longhaul(&["memory", "import", "--quiet"]);
    assert_eq!((imported.status, imported.stderr.as_str()), (Some(0), ""), "{imported:?}");
}

fn search(sandbox: &Sandbox, words: &[&str]) -> Vec<Value> {
    let found = sandbox.longhaul(&[&["memory", "search", "--json"], words].concat());
    assert!(matches!(found.status, Some(0 | 1)), "{found:?}");
    found.json().as_array().unwrap().clone()
}

fn titles(found: &[Value]) -> Vec<&str> {
    found.iter().filter(|hit| hit["type"] == "prompt").map(|hit| hit["title"].as_str().unwrap()).collect()
}

/// Some sessions, of which one says in other words what is asked for below.
fn remembering(sandbox: &Sandbox) {
    Past::new(sandbox, "aaaa-1111").prompt("authentication fails").reply("Since the update.");
    Past::new(sandbox, "bbbb-2222").prompt("the page is green").reply("Repainted.");
    Past::new(sandbox, "cccc-3333").prompt("cache entries").reply("Emptied.");
    import(sandbox);
}

#[test]
fn a_record_without_any_of_the_words_is_found_and_marked() {
    let sandbox = sandbox();
    remembering(&sandbox);
    assert_eq!(search(&sandbox, &["login", "broken"]), [Value::Null; 0], "words alone find nothing");
    with_model(&sandbox);
    // The vectors of what was there before the model are computed by the search.
    let found = search(&sandbox, &["login", "broken"]);
    assert_eq!(titles(&found), ["authentication fails"], "{found:#?}");
    assert!(found[0]["similarity"].as_f64().unwrap() > 0.9, "{found:#?}");
    assert_eq!((&found[0]["covered"], &found[0]["weak"]), (&json!(0.0), &json!(true)));
    let explained = sandbox.longhaul(&["memory", "search", "--explain", "login", "broken"]);
    assert!(explained.stdout.contains("found by meaning alone, similarity "), "{explained:?}");
    // A question that its words answer says how similar it is, too.
    let found = search(&sandbox, &["authentication"]);
    assert_eq!(titles(&found)[0], "authentication fails");
    assert!(found[0]["similarity"].as_f64().unwrap() > 0.5, "{found:#?}");
    let explained = sandbox.longhaul(&["memory", "search", "--explain", "authentication"]);
    assert!(
        explained.stdout.contains("% of the query's words by weight") && explained.stdout.contains(", similarity 0.")
    );
}

#[test]
fn filters_and_required_words_hold_for_what_meaning_finds() {
    let sandbox = sandbox();
    with_model(&sandbox);
    remembering(&sandbox);
    assert_eq!(titles(&search(&sandbox, &["login broken"])), ["authentication fails"]);
    for strict in [&["login", "broken", "-fails"][..], &["login", "+green"], &["login", "broken", "since:2027-01-01"]] {
        let found = search(&sandbox, strict);
        assert!(!titles(&found).contains(&"authentication fails"), "{strict:?}: {found:#?}");
    }
    // A query with strict parts only is answered by words only.
    assert_eq!(search(&sandbox, &["+login"]), [Value::Null; 0]);
}

#[test]
fn what_has_every_word_stays_before_what_means_the_same() {
    let sandbox = sandbox();
    with_model(&sandbox);
    // Its vector says cache and page, and not what it is searched by.
    let exact = "page cache page cache: when the login form is broken, page cache page cache entries stay";
    Past::new(&sandbox, "eeee-0000").prompt(exact).reply("Noted.");
    for number in 0..30 {
        let session = format!("ffff-{number:04}");
        Past::new(&sandbox, &session).prompt(&format!("authentication fails {number}")).reply("Looked into it.");
    }
    import(&sandbox);
    let found = search(&sandbox, &["--limit", "40", "login", "broken"]);
    assert_eq!(titles(&found)[0], exact, "{:#?}", titles(&found));
    assert!(titles(&found).len() > 20, "what means the same is found as well: {:#?}", titles(&found));
}

#[test]
fn what_has_a_part_of_a_name_stays_before_what_means_the_same() {
    let sandbox = sandbox();
    with_model(&sandbox);
    Past::new(&sandbox, "aaaa-1111").prompt("authentication fails").reply("Since the update.");
    Past::new(&sandbox, "bbbb-2222").prompt("page cache entries of the login vault").reply("Emptied.");
    import(&sandbox);
    let found = search(&sandbox, &["login_broken"]);
    assert_eq!(titles(&found), ["page cache entries of the login vault", "authentication fails"], "{found:#?}");
}

#[test]
fn meaning_puts_the_right_one_of_equals_first() {
    let sandbox = sandbox();
    // The newer of two equals comes first by words alone.
    Past::new(&sandbox, "aaaa-1111").prompt("report 17 about outdated cache").reply("Emptied.");
    Past::new(&sandbox, "bbbb-2222").prompt("report 17 about printed paper").reply("Refilled.");
    import(&sandbox);
    let newer_first = ["report 17 about printed paper", "report 17 about outdated cache"];
    assert_eq!(titles(&search(&sandbox, &["stale report 17"])), newer_first);
    with_model(&sandbox);
    let found = search(&sandbox, &["stale report 17"]);
    assert_eq!(titles(&found)[0], "report 17 about outdated cache", "{found:#?}");
}

#[test]
fn a_question_in_other_words_is_answered_by_its_meaning() {
    let sandbox = sandbox();
    with_model(&sandbox);
    Past::new(&sandbox, "aaaa-1111").prompt("authentication fails").reply("The clock of the server was wrong.");
    Past::new(&sandbox, "bbbb-2222").prompt("outdated cache entries").reply("Emptied.");
    import(&sandbox);
    let answer = sandbox.longhaul(&["memory", "recall", "login broken"]);
    assert!(answer.stdout.contains("answered: The clock of the server was wrong."), "{answer:?}");
}

#[test]
fn a_word_of_which_the_model_knows_only_pieces_finds_nothing() {
    let sandbox = sandbox();
    with_model(&sandbox);
    remembering(&sandbox);
    // Its pieces mean what `authentication fails` means.
    for command in ["recall", "search"] {
        let outcome = sandbox.longhaul(&["memory", command, "zzzqqq"]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(1), ""), "{outcome:?}");
        assert!(outcome.stderr.starts_with("nothing found: no record has any of zzzqqq"), "{outcome:?}");
    }
    // Beside a word that some record has, it does not keep the model from answering.
    assert!(titles(&search(&sandbox, &["zzzqqq", "green"])).contains(&"authentication fails"));
}

#[test]
fn a_prompt_without_a_common_word_brings_what_means_the_same() {
    let sandbox = sandbox();
    with_model(&sandbox);
    Past::new(&sandbox, "aaaa-1111").prompt("authentication fails").reply("The clock of the server was wrong.");
    Past::new(&sandbox, "bbbb-2222").prompt("outdated cache entries").reply("Emptied.");
    import(&sandbox);
    let brought = |session: &str, prompt: &str| {
        let payload = payload(
            "UserPromptSubmit",
            json!({ "session_id": session, "cwd": sandbox.project(), "prompt": prompt, "prompt_id": "p1",
                    "transcript_path": "/nowhere.jsonl" }),
        );
        let answer = sandbox.hook("longhaul-user-prompt-submit", payload).json();
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    };
    let asked = brought("dddd-4444", "why is the login broken?");
    assert!(asked.contains("The clock of the server was wrong.") && !asked.contains("Emptied"), "{asked:?}");
    assert_eq!(brought("eeee-5555", "repair the broken login"), "", "an order");
    assert_eq!(brought("ffff-6666", "why is the page green?"), "", "nothing means the same");
    // The search process finds the same, with the model that is there.
    let _process = Process::start(&sandbox);
    let request = json!({ "session": "ffff-6666", "text": "why is the login broken?", "utc_offset_seconds": 0 });
    let answered = || {
        let answer = ask(&sandbox, &request.to_string());
        serde_json::from_slice::<Value>(&answer).ok().map(|answer| answer["text"].as_str().unwrap().to_owned())
    };
    wait_until(DEADLINE, "the answer", || answered().as_ref() == Some(&asked));
    fs::write(sandbox.path("tiny.lhvec"), "no model").unwrap();
    assert_eq!(answered(), None);
    with_model(&sandbox);
    wait_until(DEADLINE, "the answer", || answered().as_ref() == Some(&asked));
}
