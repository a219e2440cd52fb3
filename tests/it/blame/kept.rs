//! What stays when snapshots go, and what goes with a prompt.

use std::process::Stdio;
use std::time::Duration;

use super::*;
use crate::dice::Dice;
use crate::past::Past;

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
    work.change("a.txt", "by a person\n", "by a person\nnot committed yet\n");
    work.prompt(A, "look at it").end();
    work.check("a.txt", &[&expected[..], &["commit"]].concat());
    // A call that repeats what the first snapshot shows has not written it.
    let mut turn = work.prompt(A, "rewrite it");
    turn.write("a.txt", &format!("{}the last line\n", work.read("a.txt")));
    turn.end();
    work.check("a.txt", &[&expected[..], &["commit", "prompt: rewrite it"]].concat());
}

#[test]
fn line_maps_take_a_hundredth_of_the_store_and_go_with_the_raw_text() {
    let lines = |name: &str| (0..300).map(|line| format!("line {line} of {name}\n")).collect::<String>();
    let mut work = Work::new("a.txt", &lines("a"));
    work.write("b.txt", &lines("b"));
    work.commit("both");
    let mut turn = work.prompt(A, "change both");
    for file in ["a.txt", "b.txt"] {
        turn.edit(file, "line 7 ", "the seventh line ");
    }
    turn.end();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let upkeep = |work: &mut Work, day: u64| {
        work.sandbox = std::mem::replace(&mut work.sandbox, Sandbox::new()).at(now + day * DAY_MS);
        let outcome = work.sandbox.longhaul(&["memory", "upkeep"]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        let counted = work.sandbox.longhaul(&["memory", "stats", "--json"]).json();
        counted["line_maps"]["files"].as_u64().unwrap()
    };
    // Upkeep goes by the newest record, not by the clock alone.
    work.sandbox = work.sandbox.at(now + 44 * DAY_MS);
    work.prompt(B, "a later look").end();
    assert_eq!(upkeep(&mut work, 45), 2);
    // A map has about two kilobytes.
    work.sandbox.write_config(r#"{"snapshots":{"max_store":300000},"memory":{"retention_days":60}}"#);
    assert_eq!(upkeep(&mut work, 46), 1);
    assert_eq!(work.blame("a.txt")[6..9], ["commit", "prompt: change both", "commit"]);
    assert_eq!(upkeep(&mut work, 75), 1);
    assert_eq!(upkeep(&mut work, 104), 1, "it was made on the 45th day");
    // Also without any snapshot.
    work.sandbox.longhaul(&["memory", "forget", "--session", B, "--yes"]);
    assert_eq!(work.snapshots(), [Value::Null; 0]);
    assert_eq!(work.blame("a.txt")[6..9], ["commit", "prompt: change both", "commit"]);
    assert_eq!(upkeep(&mut work, 106), 0);
    assert_eq!(work.blame("a.txt").len(), 300);
}

#[test]
fn past_transcripts_tell_where_lines_come_from_without_any_snapshot() {
    let work = Work::new("src/main.rs", "fn main() {\n}\n");
    let mut past = Past::new(&work.sandbox, "aaaa-past");
    past.prompt("greet the user").edit("src/main.rs", "}\n", "    println!(\"a greeting\");\n}\n").reply("Done.");
    past.prompt("add a helper");
    let path = work.path("src/helper.rs");
    let content = "pub fn helper_of_main() {}\n";
    let result = json!({ "type": "create", "filePath": path });
    past.call("Write", json!({ "file_path": path, "content": content }), "File created", result).reply("Done.");
    work.change("src/main.rs", "}\n", "    println!(\"a greeting\");\n    let by_a_person = 1;\n}\n");
    work.write("src/helper.rs", &format!("{content}// a line of a person\n"));
    // A few days after the transcript, whose times are of November 2026.
    work.git(&["add", "-A"]);
    let mut commit = work.sandbox.program("git");
    commit.args(["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]);
    commit.env("GIT_COMMITTER_DATE", "2026-11-03T00:00:00Z");
    assert_eq!(Outcome::of(&mut commit, b"").status, Some(0));
    let outcome = work.sandbox.longhaul(&["blame", "src/main.rs"]);
    assert!(outcome.status == Some(1) && outcome.stderr.contains("longhaul memory import"), "{outcome:?}");
    let outcome = work.sandbox.longhaul(&["memory", "import"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    work.check("src/main.rs", &["commit", "prompt: greet the user", "commit", "commit"]);
    work.check("src/helper.rs", &["prompt: add a helper", "commit"]);
    let why = work.sandbox.longhaul(&["why", "src/helper.rs:1", "--json"]).json();
    assert_eq!((&why["certainty"], &why["session"]), (&json!("text"), &json!("aaaa-past")), "{why}");
    assert_eq!(work.snapshots(), [Value::Null; 0]);
}

#[test]
fn two_questions_at_once_and_a_killed_one_do_not_change_the_answer() {
    let work = Work::new("a.txt", "the first line\n");
    let mut expected = vec!["commit".to_owned()];
    // Enough versions for a line map to be stored.
    for number in 0..6 {
        let text = format!("task {number}");
        let mut turn = work.prompt(A, &text);
        turn.edit("a.txt", "the first line\n", &format!("the first line\nthe line of task {number}\n"));
        turn.end();
        work.change("a.txt", "the first line\n", &format!("the first line\na person after task {number}\n"));
        expected.splice(1..1, ["outside".to_owned(), format!("prompt: {text}")]);
    }
    let ask = |work: &Work| {
        let mut command = work.sandbox.executable("longhaul");
        command.args(["blame", "a.txt", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let forget_map = |work: &Work| {
        let database = work.sandbox.database();
        database.execute("DELETE FROM blame", ()).unwrap()
    };
    let mut dice = Dice(12);
    for round in 0..6 {
        // With its line map, and without.
        if round % 2 == 0 {
            forget_map(&work);
        }
        let mut killed = ask(&work);
        std::thread::sleep(Duration::from_micros(dice.roll(80_000)));
        killed.kill().unwrap();
        killed.wait().unwrap();
        for asked in [ask(&work), ask(&work)] {
            let outcome = asked.wait_with_output().unwrap();
            assert!(outcome.status.success(), "{outcome:?}");
        }
        assert_eq!(work.blame("a.txt"), expected, "round {round}");
    }
    assert_eq!(forget_map(&work), 1);
    assert_eq!(work.sandbox.error_log(), "");
}
