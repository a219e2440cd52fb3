//! Long replies: every word of every reply is found, and shown where it stands.

use std::fs;

use serde_json::{Value, json};

use super::{first, import, memory, sandbox};
use crate::past::Past;
use crate::sandbox::{Sandbox, payload, with};

/// One word of each of the replies of a turn.
const WORDS: [&str; 8] =
    ["archipelago", "bergamot", "cardamom", "dulcimer", "ephemeris", "filigree", "gossamer", "hyperbola"];

/// A reply of 7 KB with the word in its middle.
fn long_reply(word: &str) -> String {
    let filler = "It reads another file and says so at length. ".repeat(80);
    format!("{filler}The {word} is what it was about. {filler}")
}

/// A turn with eight long replies, between tool calls.
fn long_turn(sandbox: &Sandbox) -> Past {
    let mut past = Past::new(sandbox, "aaaa-1111");
    past.prompt("look at everything, please");
    for (number, word) in WORDS.iter().enumerate() {
        past.bash(&format!("cat part{number}"), "ok").reply(&long_reply(word));
    }
    past
}

#[track_caller]
fn check_found(sandbox: &Sandbox, word: &str) {
    let found = first(sandbox, &["--type", "prompts", word]);
    assert_eq!((&found["type"], &found["title"]), (&json!("prompt"), &json!("look at everything, please")), "{found}");
    assert!(found["snippet"].as_str().unwrap().contains(word), "{word}: {found}");
    let answer = memory(sandbox, &["recall", "what", "about", "the", word]).stdout;
    assert!(answer.contains(word), "{word}: {answer}");
    assert_eq!(memory(sandbox, &["search", &format!("+{word}")]).status, Some(0), "{word}");
}

#[test]
fn every_reply_of_a_long_turn_is_found_in_an_imported_session() {
    let sandbox = sandbox();
    long_turn(&sandbox);
    import(&sandbox);
    [WORDS[0], WORDS[4], WORDS[7]].iter().for_each(|word| check_found(&sandbox, word));
}

#[test]
fn every_reply_of_a_long_turn_is_found_in_a_live_session() {
    // When the prompt was sent, according to the transcript.
    let sandbox = Sandbox::new().at(1_793_491_200_000).with_env("TZ", "UTC");
    let past = long_turn(&sandbox);
    let entry = fs::read_to_string(&past.path).unwrap().lines().nth(1).unwrap().to_owned();
    let prompt_id = serde_json::from_str::<Value>(&entry).unwrap()["promptId"].clone();
    let fire = |executable: &str, name: &str, more: Value| {
        let all = json!({ "session_id": "aaaa-1111", "cwd": sandbox.project(), "transcript_path": past.path,
                              "prompt_id": prompt_id });
        assert_eq!(sandbox.hook(executable, payload(name, with(all, &more))).status, Some(0));
    };
    fire("longhaul-session-start", "SessionStart", json!({}));
    fire("longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": "look at everything, please" }));
    fire("longhaul-stop", "Stop", json!({ "last_assistant_message": long_reply(WORDS[7]) }));
    [WORDS[0], WORDS[4], WORDS[7]].iter().for_each(|word| check_found(&sandbox, word));
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    check_found(&sandbox, WORDS[3]);
}

/// The end of such a text is far behind the part that is always read.
#[test]
fn a_word_at_the_end_of_a_long_text_is_found() {
    let sandbox = sandbox();
    let chinese = "三号样地的坐标抄错了一位，已经改正。".repeat(700);
    Past::new(&sandbox, "aaaa-1111").prompt("坐标").reply(&format!("{chinese}最后一句提到望远镜。"));
    let english = "It reads another file and says so at length. ".repeat(4_000);
    Past::new(&sandbox, "bbbb-2222").prompt("read all of it").reply(&format!("{english}The zeppelin is grounded."));
    import(&sandbox);
    for (typed, shown) in [("望远镜", "望远镜"), ("grounded zeppelins", "zeppelin is grounded")] {
        let found = first(&sandbox, &["--type", "prompts", typed]);
        assert!(found["snippet"].as_str().unwrap().contains(shown), "{typed}: {found}");
        let answer = memory(&sandbox, &["recall", typed]).stdout;
        assert!(answer.contains(shown), "{typed}: {answer}");
    }
    let explained = memory(&sandbox, &["search", "zeppelin", "--explain"]).stdout;
    assert!(explained.contains("words: zeppelin\n"), "the word counts as found: {explained}");
}

/// So many long texts are not all read to the end.
#[test]
fn what_the_index_has_found_is_a_result_even_if_it_was_not_read_to_the_end() {
    let sandbox = sandbox();
    let filler = "It reads another file and says so at length. ".repeat(4_400);
    for number in 0..14 {
        Past::new(&sandbox, &format!("aaaa-{number}"))
            .prompt(&format!("read part {number}"))
            .reply(&format!("Part {number}. {filler}The zeppelin is grounded."));
    }
    import(&sandbox);
    let found = memory(&sandbox, &["search", "--json", "--type", "prompts", "zeppelin"]).json();
    assert_eq!(found.as_array().unwrap().len(), 14, "{found}");
    let snippets = || found.as_array().unwrap().iter().map(|one| one["snippet"].as_str().unwrap().contains("zeppelin"));
    assert!(snippets().filter(|has_word| *has_word).count() >= 8, "{found}");
    assert!(!snippets().all(|has_word| has_word), "the cost of a search has a limit: {found}");
}
