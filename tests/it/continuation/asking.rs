//! When a handoff is asked for, and what counts as one.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Bare, FULL, MODEL, PROMPT, Stage, full_turn, nonce};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload};
use crate::standin::{Kind, Options, Reply};

#[test]
fn what_is_no_answer_to_this_question_stops_normally() {
    let with = |front: &str| format!("---\n{front}\n---\n# Task\nx\n# Remaining\n- y\n");
    for (name, reply, why) in [
        ("nothing left", with("continue: false\nnonce: {{nonce}}"), "says not to continue"),
        ("yesterday's file", "I wrote .claude/handoff.md.".to_owned(), "no front matter"),
    ] {
        let stage = Stage::new(Options::default());
        if name == "yesterday's file" {
            stage.leave_file("handoff.md", &with("continue: true\nnonce: lh-0123456789abcdef"));
            stage.leave_file("handoff-continue.md", "# Task\nGo on.");
        }
        // What is no handoff is asked for once more.
        let answers = if name == "nothing left" { 1 } else { 2 };
        let replies = std::iter::repeat_n(Reply::new(&reply).using(FULL), answers);
        stage.standin.replies([full_turn()].into_iter().chain(replies).chain([Reply::new("Yes?").using(FULL)]));
        stage.types("count");
        let chain = stage.wait_for_state("armed");
        assert!(chain["reason"].as_str().unwrap().contains(why), "{name}: {chain}");
        // The same limit does not ask again in this session.
        wait_until(DEADLINE, "an idle client", || stage.standin.state().status == "idle");
        stage.standin.submit("and now?");
        stage.standin.wait_for_state("a turn more", |state| state.stops as usize == answers + 2);
        let asked = stage.standin.shown_by("Stop", Kind::BlockReason);
        assert_eq!(asked.len(), answers, "{name}");
        assert!(answers == 1 || asked[1].contains("once more") && asked[1].contains(why), "{name}: {asked:?}");
        assert!(!stage.prompts().contains(&"/clear".to_owned()), "{name}");
        assert_eq!(stage.sandbox.error_log().matches("not continued").count(), 1, "{name}");
    }
}

/// With the plugin installed twice, two hooks report each end of a turn.
#[test]
fn a_second_question_is_not_given_up_by_a_second_hook_for_the_same_stop() {
    let bare = Bare::new();
    bare.stop(json!({}));
    let reply = json!({ "stop_hook_active": true, "last_assistant_message": "Done." });
    let asked = bare.stop(reply.clone());
    assert!(asked["reason"].to_string().contains("once more"), "{asked}");
    let began = bare.status()[0]["since_ms"].to_string();
    let mut second = bare.sandbox.executable("longhaul-stop");
    let payload = bare.stop_payload(reply.clone());
    let answer = Outcome::of(second.env("LONGHAUL_NOW_MS", began), payload.as_bytes()).json();
    assert_eq!((&answer["systemMessage"], &answer["decision"]), (&Value::Null, &Value::Null), "{answer}");
    assert_eq!(bare.status()[0]["state"], "asked");
    let told = bare.stop(reply);
    assert!(told["systemMessage"].to_string().contains("not continued"), "{told}");
}

#[test]
fn a_marker_file_written_since_means_to_go_on() {
    let stage = Stage::new(Options::default());
    // The model writes the file after it was asked, before its turn ends again.
    let dir = stage.sandbox.project().join(".claude").display().to_string();
    let body = "mkdir -p {d}\nif [ -e {d}/asked ]; then printf '# Task\\nGo on.\\n# Remaining\\n- z\\n' > \
                {d}/handoff-continue.md; fi\ntouch {d}/asked\nexec {hook}";
    stage.script("Stop", "longhaul-stop", &body.replace("{d}", &dir));
    stage.standin.replies([full_turn(), Reply::new("I wrote it down.").using(FULL), Reply::new("Going on.")]);
    stage.types("count");
    stage.wait_for_state("done");
    assert_eq!(stage.prompts(), ["count", "/clear", PROMPT]);
}

#[test]
fn nothing_is_asked_while_others_run_or_when_nobody_knows() {
    let background = json!({ "background_tasks": [{ "id": "b1", "type": "subagent", "status": "running" }] });
    let stage = Stage::new(Options::default());
    stage.standin.replies([full_turn().with_stop(background)]);
    stage.types("count");
    stage.standin.wait_for_state("the stop", |state| state.stops == 1);
    assert_eq!(stage.standin.shown_by("Stop", Kind::BlockReason), [""; 0]);
    let chain = stage.chain().unwrap();
    assert!(chain["reason"].to_string().contains("subagents still run"), "{chain}");
    // The same session is asked as soon as nothing is in the way.
    stage.standin.replies([full_turn(), Reply::new("No."), Reply::new("No.")]);
    stage.types("go on");
    stage.standin.wait_for_state("both questions", |state| state.stops == 4);
    assert_eq!(stage.standin.shown_by("Stop", Kind::BlockReason).len(), 2);
    // Without a transcript and without a status line nobody knows how full it is.
    let bare = Bare::new();
    let unknown = bare.stop(json!({ "transcript_path": bare.sandbox.path("none.jsonl") }));
    assert_eq!(unknown, json!({ "continue": true }));
    assert_eq!(bare.stop(json!({}))["decision"], "block");
}

#[test]
fn the_status_line_knows_better_than_the_transcript() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"continuation":{"at":"on"}}"#);
    let session = "5f0c7b5e-0000-4000-8000-000000000001";
    let report = json!({
        "session_id": session,
        "model": { "id": MODEL },
        "context_window": { "context_window_size": 200_000, "total_input_tokens": 170_000, "used_percentage": 85,
            "current_usage": { "input_tokens": 170_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 } },
    });
    let mut statusline = sandbox.executable("longhaul");
    Outcome::of(statusline.arg("statusline"), report.to_string().as_bytes());
    let stop = sandbox.hook("longhaul-stop", payload("Stop", json!({ "session_id": session }))).json();
    assert_eq!(stop["decision"], "block", "{stop}");
    assert!(stop["systemMessage"].as_str().unwrap().contains("85 %"), "{stop}");
}

/// Whoever runs `claude -p` wants its answer, not a handoff.
#[test]
fn a_client_that_answers_a_program_is_not_asked() {
    let bare = Bare::new();
    let stop = |pid: u32| {
        let mut hook = bare.sandbox.executable("longhaul-stop");
        hook.env("CLAUDE_PID", pid.to_string());
        Outcome::of(&mut hook, bare.stop_payload(json!({})).as_bytes()).json()
    };
    let mut headless = bare
        .sandbox
        .program("/bin/sh")
        .args(["-c", "read line", "claude", "-p"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(stop(headless.id()), json!({ "continue": true }), "by its arguments");
    headless.kill().unwrap();
    headless.wait().unwrap();

    // It calls its kind interactive, too.
    let mut client =
        bare.sandbox.program("/bin/sh").args(["-c", "read line", "claude"]).stdin(Stdio::piped()).spawn().unwrap();
    let sessions = bare.sandbox.home().join(".claude/sessions");
    fs::create_dir_all(&sessions).unwrap();
    let write = |entrypoint: &str| {
        let record = json!({ "pid": client.id(), "sessionId": "a", "kind": "interactive", "entrypoint": entrypoint });
        fs::write(sessions.join(format!("{}.json", client.id())), record.to_string()).unwrap();
    };
    write("sdk-cli");
    assert_eq!(stop(client.id()), json!({ "continue": true }), "by its record");
    write("cli");
    assert_eq!(stop(client.id())["decision"], "block", "a person is asked");
    client.kill().unwrap();
    client.wait().unwrap();
}

#[test]
fn a_projects_files_can_be_anything() {
    let bare = Bare::new();
    let dir = bare.sandbox.project().join(".claude");
    fs::create_dir_all(&dir).unwrap();
    let fifo = |name: &str| {
        let made = Outcome::of(bare.sandbox.program("mkfifo").arg(dir.join(name)), b"");
        assert_eq!(made.status, Some(0), "{made:?}");
    };
    let stop = |changes: Value| {
        let mut hook = bare.sandbox.wrapped("timeout", &["10"], &bare.sandbox.executable("longhaul-stop"));
        Outcome::of(&mut hook, bare.stop_payload(changes).as_bytes())
    };
    fifo("longhaul.json");
    fifo("handoff.md");
    let asked = stop(json!({})).json();
    // What a link leads to was not written for us.
    fs::write(bare.sandbox.path("elsewhere"), "# Task\nSecret.").unwrap();
    symlink(bare.sandbox.path("elsewhere"), dir.join("handoff-continue.md")).unwrap();
    for _ in 0..2 {
        let taken = stop(json!({ "stop_hook_active": true, "last_assistant_message": "I wrote it down." }));
        assert_eq!(taken.status, Some(0), "{taken:?}");
    }
    assert!(!nonce(&asked).is_empty());
    assert_eq!(bare.status()[0]["state"], "armed");

    bare.sandbox.write_config("{}");
    fs::remove_file(dir.join("longhaul.json")).unwrap();
    symlink("/dev/zero", dir.join("longhaul.json")).unwrap();
    assert_eq!(stop(json!({})).status, Some(0), "switched off, it looks at no more than that file");
}

#[test]
fn what_is_private_hands_nothing_over() {
    let bare = Bare::new();
    let asked = bare.stop(json!({}));
    let taken = bare.answer(&asked, "<private># Task\nSecret.\n# Remaining\n- more</private>\n");
    assert!(taken["reason"].as_str().unwrap().contains("nothing below"), "{taken}");
    let status = bare.status();
    assert_eq!(status[0]["state"], "asked");
    assert!(status[0]["reason"].as_str().unwrap().contains("nothing below"), "{status}");
}
