//! Rounds from end to end.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{Bare, MODEL, PROMPT, Stage, full_turn, handoff};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, bin_dir, part, payload};
use crate::screen_session::ScreenSession;
use crate::standin::{Hooks, Kind, Options, Reply};

#[test]
fn a_full_session_is_cleared_and_goes_on_by_itself() {
    let stage = Stage::new(Options::default());
    let first = stage.standin.session_id();
    stage.standin.replies([full_turn(), handoff("the other half"), Reply::new("Going on.")]);
    stage.types("count to ten");
    let second = stage.standin.wait_for_session_change(DEADLINE);
    stage.standin.wait_for_state("the continued turn", |state| state.stops == 3);
    stage.wait_for_state("done");

    let [question] = &stage.standin.shown_by("Stop", Kind::BlockReason)[..] else { panic!("asked once") };
    assert!(question.starts_with("Longhaul asks for a handoff") && question.contains("nonce: lh-"), "{question}");
    assert_eq!(stage.prompts(), ["count to ten", "/clear", PROMPT], "and no bookmark in between");
    assert_eq!(stage.standin.prompts().last().unwrap().session_id, second);
    let shown = stage.standin.shown_by("SessionStart", Kind::AdditionalContext);
    let shown = shown.last().expect("the new session is shown the handoff");
    assert_eq!(shown.matches("- the other half").count(), 1, "{shown}");
    assert!(shown.find("# Remaining") < shown.find("Last request"), "what was handed over comes first: {shown}");
    assert!(shown.chars().count() <= 9_500);
    let kept = fs::read_to_string(stage.sandbox.data_dir().join(format!("handoffs/{first}.md"))).unwrap();
    assert!(kept.contains("# Remaining"), "{kept}");
    assert!(!stage.sandbox.project().join(".claude").exists(), "nothing is written into the work tree");
    let states: Vec<String> =
        stage.log().lines().map(|line| line.split("  ").nth(4).unwrap().trim().to_owned()).collect();
    assert_eq!(states, ["asked", "clearing", "prompting", "done"]);
    assert_eq!(stage.sandbox.error_log(), "");
}

#[test]
fn a_client_that_needs_twenty_seconds_to_clear_is_waited_for() {
    let stage = Stage::new(Options::default().with_clear_delay(Duration::from_secs(20)));
    stage.standin.replies([full_turn(), handoff("the rest"), Reply::new("Going on.")]);
    stage.types("count");
    stage.standin.wait_for_session_change(Duration::from_secs(45));
    stage.wait_for_state("done");
    assert_eq!(stage.prompts(), ["count", "/clear", PROMPT]);
}

#[test]
fn so_many_rounds_and_no_more() {
    let stage = Stage::with_config(Options::default(), json!({ "max_rounds": 2 }));
    let mut replies = Vec::new();
    for round in 0..2 {
        replies.extend([full_turn(), handoff(&format!("{} left", 2 - round))]);
    }
    replies.push(full_turn());
    stage.standin.replies(replies);
    stage.types("count");
    let failed = stage.wait_for_state("failed");
    assert_eq!(failed["round"], 2);
    stage.standin.wait_for_state("the last answer", |state| state.stops == 5);
    assert!(failed["reason"].as_str().unwrap().contains("2 rounds"), "{failed}");
    assert_eq!(stage.prompts().iter().filter(|prompt| *prompt == "/clear").count(), 2);
    let said = stage.standin.shown_by("Stop", Kind::SystemMessage);
    assert!(said.last().unwrap().contains("2 rounds"), "{said:?}");
}

#[test]
fn two_rounds_with_the_same_left_to_do_are_a_loop() {
    let stage = Stage::new(Options::default());
    stage.standin.replies([full_turn(), handoff("the rest"), full_turn(), handoff("The  rest")]);
    stage.types("count");
    let failed = stage.wait_for_state("failed");
    assert!(failed["reason"].as_str().unwrap().contains("loop"), "{failed}");
    stage.standin.wait_for_state("the last answer", |state| state.stops == 4);
    let said = stage.standin.shown_by("Stop", Kind::SystemMessage);
    assert!(said.last().unwrap().contains("loop"), "{said:?}");
    let resumed = stage.resume();
    assert_eq!(resumed.status, Some(1));
    assert!(
        resumed.stderr.contains("no continuation can be resumed") && resumed.stderr.contains("loop"),
        "{resumed:?}"
    );
    assert_eq!(stage.prompts().iter().filter(|prompt| *prompt == "/clear").count(), 1);
}

#[test]
fn without_a_terminal_the_user_is_told_to_clear() {
    let bare = Bare::new();
    let asked = bare.stop(json!({}));
    let taken = bare.answer(&asked, "# Remaining\n- it <private>secret</private>\n");
    assert!(taken["systemMessage"].as_str().unwrap().contains("type /clear"), "{taken}");
    assert!(taken.get("decision").is_none(), "never twice: {taken}");
    let kept = fs::read_to_string(bare.sandbox.data_dir().join("handoffs/a.md")).unwrap();
    assert!(kept.starts_with("---\ncontinue: true\nnonce: ") && kept.contains("\nmood: good\n---\n"), "{kept}");
    // There is nothing to type into, and a person may well take longer than a program.
    let resumed = bare.sandbox.longhaul(&["continuation", "resume"]);
    assert!(resumed.stderr.contains("type /clear in that session"), "{resumed:?}");
    assert_eq!(bare.status()[0]["state"], "clearing");
    let start = payload("SessionStart-clear", json!({ "session_id": "b", "cwd": bare.sandbox.project() }));
    let late = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + Duration::from_secs(50 * 60);
    let mut hook = bare.sandbox.executable("longhaul-session-start");
    let shown = Outcome::of(hook.env("LONGHAUL_NOW_MS", late.as_millis().to_string()), start.as_bytes()).json();
    let shown = shown.to_string();
    assert!(shown.contains("Handoff from session a") && !shown.contains("secret"), "{shown}");
    assert_eq!(bare.status()[0]["state"], "done");
}

#[test]
fn a_draft_is_put_aside_and_comes_back() {
    let stage = Stage::new(Options::default());
    stage.standin.replies([full_turn(), handoff("the rest"), Reply::new("Going on.")]);
    stage.types("count");
    stage.standin.wait_for_state("the question", |state| state.stops >= 1);
    stage.standin.draft("half a thought");
    stage.wait_for_state("done");
    assert_eq!(stage.prompts(), ["count", "/clear", PROMPT]);
    stage.standin.wait_for_state("the draft", |state| state.draft == "half a thought");
}

#[test]
fn a_start_that_is_told_twice_is_one() {
    let stage = Stage::new(Options::default());
    stage.script("SessionStart", "longhaul-session-start", "cat > $0.in; {hook} < $0.in > $0.out; {hook} < $0.in");
    stage.standin.replies([full_turn(), handoff("the rest"), Reply::new("Going on.")]);
    stage.types("count");
    stage.wait_for_state("done");
    assert_eq!(stage.prompts(), ["count", "/clear", PROMPT]);
    let shown = stage.standin.shown_by("SessionStart", Kind::AdditionalContext);
    assert!(shown.last().unwrap().contains("the rest"), "the second time, too: {shown:?}");
}

/// The bundle of this job alone starts its executables with the job's name, and nobody else writes anything down.
#[test]
fn the_bundle_of_this_job_alone_does_it_all() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"continuation":{"at":"on"}}"#);
    let names = [
        ("SessionStart", "longhaul-session-start"),
        ("UserPromptSubmit", "longhaul-user-prompt-submit"),
        ("Stop", "longhaul-stop"),
        ("SessionEnd", "longhaul-session-end"),
    ];
    let mut hooks = json!({});
    for (event, name) in names {
        let (executable, arguments) = part(name);
        let arguments: Vec<String> = arguments.into_iter().chain(["continuation".to_owned()]).collect();
        let hook = json!({ "type": "command", "command": bin_dir().join(executable), "args": arguments });
        hooks[event] = json!([{ "hooks": [hook] }]);
    }
    let path = sandbox.path("hooks.json");
    fs::write(&path, json!({ "hooks": hooks }).to_string()).unwrap();
    let options = Options { hooks: Hooks::File { path, root: sandbox.path("root") }, ..Options::default() };
    let stage = Stage::in_sandbox(sandbox, options);
    stage.standin.replies([full_turn(), handoff("the rest"), Reply::new("Going on.")]);
    stage.types("count");
    stage.wait_for_state("done");
    assert_eq!(stage.prompts(), ["count", "/clear", PROMPT]);
    assert!(stage.sandbox.data_dir().join(format!("sessions/{}.json", stage.standin.session_id())).exists());
}

#[test]
fn in_screen_it_behaves_as_in_tmux() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"continuation":{"at":"on"},"bookmarks":{"enabled":false}}"#);
    let screen = ScreenSession::start(&sandbox, &Options::default().usage(20_000, MODEL));
    screen.standin.session_start("startup");
    screen.standin.replies([full_turn(), handoff("the rest"), Reply::new("Going on.")]);
    screen.standin.submit("count");
    wait_until(DEADLINE * 2, "the round", || {
        let status = sandbox.longhaul(&["continuation", "status", "--json"]).json();
        status[0]["state"] == "done"
    });
    assert_eq!(screen.standin.state().texts(), ["count", "/clear", PROMPT]);
}
