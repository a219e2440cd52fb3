//! What stays when snapshots go, and what goes with a prompt.

use super::*;

const DAY_MS: u64 = 86_400_000;

/// Makes a repository whose first two prompts have written a line each; a person has written one between.
fn worked() -> Work {
    let work = Work::new("a.txt", "one line\n");
    let mut turn = work.prompt(A, "the first change");
    turn.edit("a.txt", "one line\n", "one line\nby the first prompt\n");
    turn.end();
    work.change("a.txt", "one line\n", "one line\nby a person\n");
    let mut turn = work.prompt(B, "the second change");
    turn.edit("a.txt", "by a person\n", "by a person\nby the second prompt\n");
    turn.end();
    work
}

const EXPECTED: [&str; 4] = ["commit", "outside", "prompt: the second change", "prompt: the first change"];

#[test]
fn the_line_map_outlives_the_snapshots_and_goes_with_the_prompt() {
    let mut work = worked();
    work.check("a.txt", &EXPECTED);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    work.sandbox = work.sandbox.at(now + 25 * DAY_MS);
    work.prompt(A, "a later look").end();
    work.sandbox = work.sandbox.at(now + 45 * DAY_MS);
    work.prompt(A, "a still later look").end();
    let outcome = work.sandbox.longhaul(&["memory", "upkeep"]);
    assert!(outcome.stderr.contains("Dropped 4 snapshots"), "{outcome:?}");
    work.check("a.txt", &EXPECTED);
    let stats = work.sandbox.longhaul(&["memory", "stats"]).stdout;
    assert!(stats.lines().any(|line| line.starts_with("line maps") && line.ends_with("of 1 file")), "{stats}");
    let json = work.sandbox.longhaul(&["memory", "stats", "--json"]).json();
    assert_eq!(json["line_maps"]["files"], 1);
    let why = work.sandbox.longhaul(&["why", "a.txt:4", "--json"]).json();
    let prompt = why["prompt"].as_str().unwrap();
    let outcome = work.sandbox.longhaul(&["memory", "forget", prompt, "--yes"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    work.check("a.txt", &["commit", "outside", "prompt: the second change", "unknown"]);
    work.sandbox.longhaul(&["memory", "forget", "--session", B, "--yes"]);
    assert_eq!(work.blame("a.txt")[2], "unknown");
}

#[test]
fn a_forgotten_prompt_is_not_named_while_its_snapshots_are_there() {
    let work = worked();
    let why = work.sandbox.longhaul(&["why", "a.txt:4", "--json"]).json();
    work.sandbox.longhaul(&["memory", "forget", why["prompt"].as_str().unwrap(), "--yes"]);
    work.check("a.txt", &["commit", "outside", "prompt: the second change", "unknown"]);
}

#[test]
fn a_line_from_before_the_snapshots_has_the_prompt_whose_call_has_its_text() {
    let work = Work::new("a.txt", "one line\n");
    work.sandbox.write_config(r#"{ "snapshots": { "enabled": false } }"#);
    let id = "an-old-prompt";
    let prompt = json!({ "session_id": A, "prompt_id": id, "prompt": "a past change" });
    work.fire("longhaul-user-prompt-submit", "UserPromptSubmit", &prompt);
    let mut turn = Turn { work: &work, session: A, id: id.to_owned(), calls: 0 };
    turn.edit("a.txt", "one line\n", "one line\nwritten by a past call\n}\n");
    let stop =
        json!({ "session_id": A, "prompt_id": id, "last_assistant_message": "Done.", "stop_hook_active": false });
    work.fire("longhaul-stop", "Stop", &stop);
    work.change("a.txt", "}\n", "}\nwritten by a person\n");
    work.commit("both");
    let expected = ["commit", "prompt: a past change", "commit", "commit"];
    work.check("a.txt", &expected);
    let why = work.sandbox.longhaul(&["why", "a.txt:2", "--json"]).json();
    assert_eq!(why["certainty"], "text", "{why}");
    fs::remove_file(work.sandbox.data_dir().join("config.json")).unwrap();
    work.prompt(A, "look at it").end();
    work.check("a.txt", &expected);
}
