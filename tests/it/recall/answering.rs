//! `longhaul memory recall`: the passages that answer a question.

use longhaul_core::record::OPEN;
use serde_json::json;

use super::{memory, remembering};
use crate::sandbox::{Outcome, payload};

#[test]
fn a_question_is_answered_with_the_passage_itself() {
    let sandbox = remembering();
    let answer = memory(&sandbox, &["recall", "why", "did", "importers", "stall"]);
    assert_eq!((answer.status, answer.stderr.as_str()), (Some(0), ""), "{answer:?}");
    let expected = "2026-11-01, session aaaa-111:\nP1  00:00  asked: why does the importer stall?\n  answered: The exchange \
                    rates hold the lock while they wait for an answer; chunks of 500 rows cured it.\n";
    let answered = answer.stdout.strip_prefix(OPEN).unwrap_or_default();
    assert!(answered.starts_with(expected), "{}", answer.stdout);
}

#[test]
fn programs_get_the_passages_with_the_places_of_the_words() {
    let sandbox = remembering();
    let answer = memory(&sandbox, &["recall", "importers stalled", "--json"]).json();
    let passage = &answer["sessions"][0]["passages"][0];
    assert_eq!((&passage["id"], &passage["kind"], &answer["weak"]), (&json!("P1"), &json!("exchange"), &json!(false)));
    assert_eq!(passage["asked"], json!({ "text": "why does the importer stall?", "marks": [[13, 21], [22, 27]] }));
    assert_eq!(answer["sessions"][0]["session_id"], "aaaa-1111");
}

#[test]
fn what_cannot_be_asked_is_refused_with_what_to_do() {
    let sandbox = remembering();
    for (arguments, status, said) in [
        (vec!["recall"], 2, "<QUESTION>"),
        (vec!["recall", ""], 1, "the question has no words"),
        (vec!["recall", "?!"], 1, "the question has no words"),
        (vec!["recall", "x", "--tokens", "0"], 2, "use 100 to 20000 tokens"),
        (vec!["recall", "x", "--tokens", "many"], 2, "\"many\" is not a number"),
        (vec!["recall", "x", "--project", "nowhere"], 1, "no project \"nowhere\" is remembered"),
        (vec!["recall", "x", "--since", "monday"], 1, "2026-01-31"),
        (vec!["recall", "x", "since:monday"], 1, "2026-01-31"),
        (vec!["recall", "zeppelin"], 1, "nothing found: no record has any of zeppelin"),
    ] {
        let outcome = memory(&sandbox, &arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(status), ""), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(said), "{arguments:?}: {}", outcome.stderr);
    }
    let empty = super::sandbox();
    let outcome = memory(&empty, &["recall", "importer"]);
    assert!(outcome.stderr.contains("longhaul memory import"), "{outcome:?}");
    assert!(!empty.data_dir().exists(), "asking makes no database");
}

#[test]
fn a_weak_answer_is_said_to_be_weak() {
    let sandbox = remembering();
    let weak = memory(&sandbox, &["recall", "zeppelin importer"]);
    assert_eq!(weak.status, Some(0));
    let search = memory(&sandbox, &["search", "zeppelin captain uniform importer colours"]);
    assert!(search.status == Some(0) && search.stderr.contains("weak"), "{search:?}");
    assert!(weak.stdout.contains("No passage has most of these words."), "{}", weak.stdout);
    assert_eq!(memory(&sandbox, &["recall", "zeppelin importer", "--json"]).json()["weak"], true);
    // A question that shares one word with something has no answer.
    let none = memory(&sandbox, &["recall", "which colours has the uniform of the captain of the zeppelin importer"]);
    assert_eq!((none.status, none.stdout.as_str()), (Some(1), ""), "{none:?}");
    assert!(none.stderr.contains("nothing found: no record has enough of "), "{none:?}");
}

#[test]
fn filters_and_signs_do_what_they_do_in_a_search() {
    let sandbox = remembering();
    let recall = |arguments: &[&str]| memory(&sandbox, &[&["recall"], arguments].concat()).stdout;
    assert!(!recall(&["importer", "-stall"]).contains("P1 "), "{}", recall(&["importer", "-stall"]));
    assert!(recall(&["importer", "exchange rates"]).contains("P1 "));
    assert!(!recall(&["importer", "exchange rates"]).contains("it dies at night"));
    assert_eq!(recall(&["importer", "--since", "2026-11-02"]), "");
    assert!(recall(&["importer", "--before", "2026-11-02"]).contains("P1 "));
    let elsewhere = Outcome::of(
        sandbox.executable("longhaul").args(["memory", "recall", "importer stall"]).current_dir(sandbox.home()),
        b"",
    );
    assert_eq!((elsewhere.status, elsewhere.stdout.as_str()), (Some(1), ""), "{elsewhere:?}");
    let all = Outcome::of(
        sandbox
            .executable("longhaul")
            .args(["memory", "recall", "importer stall", "--all"])
            .current_dir(sandbox.home()),
        b"",
    );
    assert!(all.stdout.contains("P1 "), "{all:?}");
}

/// The prompt that asks is in the memory before it is answered.
#[test]
fn a_session_is_not_answered_with_its_own_question() {
    let sandbox = remembering();
    let prompt = json!({
        "session_id": "eeee-5555", "cwd": sandbox.project(), "prompt_id": "p1", "transcript_path": "/nowhere.jsonl",
        "prompt": "why did the importer stall, and what cured it?",
    });
    let outcome = sandbox.hook("longhaul-user-prompt-submit", payload("UserPromptSubmit", prompt));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let question = ["recall", "why did the importer stall, and what cured it?"];
    assert!(memory(&sandbox, &question).stdout.contains("what cured it?"), "another session may see it");
    let sandbox = sandbox.with_env("CLAUDE_CODE_SESSION_ID", "eeee-5555");
    let answer = memory(&sandbox, &question).stdout;
    assert!(answer.contains("chunks of 500 rows") && !answer.contains("what cured it?"), "{answer}");
}
