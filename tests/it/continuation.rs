//! Over the context limit without a person: the real executables, a real pane, and a client that does as it is told.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::poll::{DEADLINE, wait_for, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload};
use crate::standin::{Kind, Options, Reply, StandIn};
use crate::tmux::{Pane, Tmux};

const MODEL: &str = "claude-opus-5-5";
const FULL: u64 = 800_000;
const PROMPT: &str = "Continue from the handoff: do what is left to do.";

/// A client in a pane, with continuation switched on.
struct Stage {
    sandbox: Sandbox,
    tmux: Tmux,
    standin: StandIn,
    pane: Pane,
}

impl Stage {
    fn new(options: Options) -> Self {
        Self::with_config(options, json!({}))
    }

    fn with_config(options: Options, continuation: Value) -> Self {
        let sandbox = Sandbox::new();
        let mut config = json!({ "enabled": true });
        config.as_object_mut().unwrap().extend(continuation.as_object().unwrap().clone());
        sandbox.write_config(&json!({ "continuation": config, "bookmarks": EAGER.clone() }).to_string());
        let tmux = Tmux::start(&sandbox);
        let (standin, pane) = StandIn::in_tmux(&sandbox, &tmux, &options.usage(20_000, MODEL));
        standin.session_start("startup");
        Self { sandbox, tmux, standin, pane }
    }

    /// Types a prompt as a person does.
    fn types(&self, text: &str) {
        self.tmux.type_text(&self.pane, text);
        self.tmux.send_keys(&self.pane, &["Enter"]);
    }

    fn chain(&self) -> Option<Value> {
        let status = self.sandbox.longhaul(&["continuation", "status", "--json"]);
        status.json().as_array().and_then(|chains| chains.first().cloned())
    }

    #[track_caller]
    fn wait_for_state(&self, state: &str) -> Value {
        wait_for(DEADLINE * 2, &format!("the plan to be {state}"), || self.chain().filter(|c| c["state"] == state))
    }

    fn log(&self) -> String {
        self.sandbox.longhaul(&["continuation", "log"]).stdout
    }

    fn prompts(&self) -> Vec<String> {
        self.standin.prompts().into_iter().map(|submission| submission.text).collect()
    }
}

/// Thresholds at which a bookmark would follow every turn.
static EAGER: std::sync::LazyLock<Value> =
    std::sync::LazyLock::new(|| json!({ "thresholds": { "minToolCalls": 1, "cooldownSeconds": 0 }, "midTurn": false }));

fn handoff(remaining: &str) -> Reply {
    let text = format!(
        "---\ncontinue: true\nnonce: {{{{nonce}}}}\n---\n# Task\nCount.\n# Completed\nSome.\n# Remaining\n- {remaining}\n\
         # Key Context\nNone.\n"
    );
    Reply::new(&text).using(FULL)
}

fn full_turn() -> Reply {
    Reply::new("Half of it is done.").after_tools(2).using(FULL)
}

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
    assert!(question.contains("80 % full") && question.contains("nonce: lh-"), "{question}");
    assert_eq!(stage.prompts(), ["count to ten", "/clear", PROMPT], "and no bookmark in between");
    assert_eq!(stage.standin.prompts().last().unwrap().session_id, second);
    let shown = stage.standin.shown_by("SessionStart", Kind::AdditionalContext);
    let shown = shown.last().expect("the new session is shown the handoff");
    assert_eq!(shown.matches("the other half").count(), 1, "{shown}");
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
fn a_client_that_never_clears_is_asked_twice_and_then_given_up() {
    let options = Options::default().swallowing_clears(u32::MAX);
    let stage = Stage::with_config(options, json!({ "step_seconds": 1 }));
    stage.standin.replies([full_turn(), handoff("the rest")]);
    stage.types("count");
    let failed = stage.wait_for_state("failed");
    assert!(failed["reason"].as_str().unwrap().contains("the client did nothing"), "{failed}");
    assert_eq!(stage.prompts(), ["count", "/clear", "/clear"]);
    let status = stage.sandbox.longhaul(&["continuation", "status"]);
    assert_eq!(status.status, Some(1));
    assert!(stage.sandbox.error_log().contains("continuation failed"), "{}", stage.sandbox.error_log());

    // The user hears of it with the next prompt, once.
    wait_until(DEADLINE, "word to be left", || {
        stage.standin.submit("what is the matter?");
        let said = stage.standin.shown_by("UserPromptSubmit", Kind::SystemMessage);
        said.iter().any(|said| said.contains("not continued"))
    });
    stage.standin.submit("and now?");
    let said = stage.standin.shown_by("UserPromptSubmit", Kind::SystemMessage);
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn what_failed_can_be_resumed() {
    let options = Options::default().swallowing_clears(2);
    let stage = Stage::with_config(options, json!({ "step_seconds": 1 }));
    stage.standin.replies([full_turn(), handoff("the rest"), Reply::new("Going on.")]);
    stage.types("count");
    stage.wait_for_state("failed");
    let resumed = stage.resume();
    assert_eq!(resumed.status, Some(0), "{}", resumed.stderr);
    stage.wait_for_state("done");
    assert_eq!(stage.prompts(), ["count", "/clear", "/clear", "/clear", PROMPT]);
    let again = stage.resume();
    assert_eq!(again.status, Some(1));
    assert!(again.stderr.contains("done"), "{}", again.stderr);
}

/// A client that was killed after it had cleared, before it was prompted.
fn killed() -> Stage {
    let stage = Stage::new(Options::default().killed_after_clear());
    let pid = stage.standin.state().pid;
    stage.standin.replies([full_turn(), handoff("the rest")]);
    stage.types("count");
    stage.standin.wait_for_end();
    wait_until(DEADLINE, "the client's end", || !std::path::Path::new(&format!("/proc/{pid}/stat")).exists());
    assert_eq!(stage.chain().unwrap()["state"], "prompting");
    stage
}

impl Stage {
    /// Lets another client start in the pane, `late` from now; returns what it is shown.
    fn start_anew(&self, late: Duration) -> String {
        let start = payload("SessionStart-startup-interactive", json!({ "session_id": "anew" }));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + late;
        let mut hook = self.sandbox.executable("longhaul-session-start");
        hook.envs(self.tmux.variables(&self.pane)).env("CLAUDE_PID", std::process::id().to_string());
        hook.env("LONGHAUL_NOW_MS", now.as_millis().to_string());
        let reply = Outcome::of(&mut hook, start.as_bytes()).json();
        reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }
}

#[test]
fn whoever_comes_after_a_killed_client_goes_on() {
    let stage = killed();
    let shown = stage.start_anew(Duration::ZERO);
    assert!(shown.contains("# Remaining") && shown.contains("the rest"), "{shown}");
    assert!(stage.log().lines().any(|line| line.contains("anew") && line.contains("prompting")), "{}", stage.log());
}

#[test]
fn whoever_comes_too_late_finds_it_expired() {
    let stage = killed();
    stage.start_anew(Duration::from_secs(16 * 60));
    let chain = stage.chain().unwrap();
    assert_eq!(chain["state"], "failed");
    assert!(chain["reason"].as_str().unwrap().contains("15 minutes"), "{chain}");
}

#[test]
fn a_user_who_types_something_else_cancels_it() {
    let stage = Stage::new(Options::default().with_clear_delay(Duration::from_secs(3)));
    stage.standin.replies([full_turn(), handoff("the rest"), Reply::new("As you wish.")]);
    stage.types("count");
    stage.wait_for_state("clearing");
    wait_until(DEADLINE, "the clear to be typed", || stage.prompts().len() == 2);
    stage.types("wait, something else");
    stage.wait_for_state("cancelled");
    stage.standin.wait_for_session_change(DEADLINE);
    stage.standin.wait_for_state("the other turn", |state| state.stops == 3);
    assert!(!stage.prompts().contains(&PROMPT.to_owned()), "{:?}", stage.prompts());
}

#[test]
fn what_is_no_answer_to_this_question_stops_normally() {
    let with = |front: &str| format!("---\n{front}\n---\n# Task\nx\n# Remaining\n- y\n");
    for (name, reply, why) in [
        ("nothing left", with("continue: false\nnonce: {{nonce}}"), "nothing is to go on"),
        ("another nonce", with("continue: true\nnonce: lh-0123456789abcdef"), "nonce is wrong"),
        ("no nonce", with("continue: true"), "no nonce"),
        ("no front matter", "All done.".to_owned(), "no front matter"),
        ("not YAML", with("continue: [true\nnonce: {{nonce}}"), "not YAML"),
        ("yesterday's file", "I wrote .claude/handoff.md.".to_owned(), "no front matter"),
    ] {
        let stage = Stage::new(Options::default());
        if name == "yesterday's file" {
            stage.leave_file("handoff.md", &with("continue: true\nnonce: lh-0123456789abcdef"));
            stage.leave_file("handoff-continue.md", "# Task\nGo on.");
        }
        stage.standin.replies([full_turn(), Reply::new(&reply).using(FULL), Reply::new("Yes?").using(FULL)]);
        stage.types("count");
        let chain = stage.wait_for_state("armed");
        assert!(chain["reason"].as_str().unwrap().contains(why), "{name}: {chain}");
        assert_eq!(stage.sandbox.error_log().matches("not continued").count(), 1, "{name}");
        // The same limit does not ask again in this session.
        wait_until(DEADLINE, "an idle client", || stage.standin.state().status == "idle");
        stage.standin.submit("and now?");
        stage.standin.wait_for_state("a turn more", |state| state.stops == 3);
        assert_eq!(stage.standin.shown_by("Stop", Kind::BlockReason).len(), 1, "{name}");
        assert!(!stage.prompts().contains(&"/clear".to_owned()), "{name}");
    }
}

#[test]
fn a_marker_file_written_since_means_to_go_on() {
    let stage = Stage::new(Options::default());
    let script = stage.sandbox.path("writes-the-marker");
    let dir = stage.sandbox.project().join(".claude");
    let executable = crate::sandbox::bin_dir().join("longhaul-stop");
    // The model writes the file after it was asked, before its turn ends again.
    let body = format!(
        "#!/bin/sh\nmkdir -p {d}\nif [ -e {d}/asked ]; then printf '# Task\\nGo on.\\n# Remaining\\n- z\\n' > \
         {d}/handoff-continue.md; fi\ntouch {d}/asked\nexec {e}\n",
        d = dir.display(),
        e = executable.display()
    );
    fs::write(&script, body).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    stage.standin.use_hook("Stop", &script);
    stage.standin.replies([full_turn(), Reply::new("I wrote it down.").using(FULL), Reply::new("Going on.")]);
    stage.types("count");
    stage.wait_for_state("done");
    assert_eq!(stage.prompts(), ["count", "/clear", PROMPT]);
}

#[test]
fn so_many_rounds_and_no_more() {
    let stage = Stage::with_config(Options::default(), json!({ "max_rounds": 10 }));
    let mut replies = Vec::new();
    for round in 0..10 {
        replies.extend([full_turn(), handoff(&format!("{} left", 10 - round))]);
    }
    replies.push(full_turn());
    stage.standin.replies(replies);
    stage.types("count");
    let failed =
        wait_for(Duration::from_secs(90), "the last round", || stage.chain().filter(|c| c["state"] == "failed"));
    assert_eq!(failed["round"], 10);
    stage.standin.wait_for_state("the last answer", |state| state.stops == 21);
    assert!(failed["reason"].as_str().unwrap().contains("10 rounds"), "{failed}");
    assert_eq!(stage.prompts().iter().filter(|prompt| *prompt == "/clear").count(), 10);
    let said = stage.standin.shown_by("Stop", Kind::SystemMessage);
    assert!(said.last().unwrap().contains("10 rounds"), "{said:?}");
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
    assert_eq!(stage.prompts().iter().filter(|prompt| *prompt == "/clear").count(), 1);
}

#[test]
fn nothing_is_asked_while_others_run_or_when_nobody_knows() {
    let background = json!({ "background_tasks": [{ "id": "b1", "type": "shell", "status": "running" }] });
    for (name, reply) in [
        ("in the background", full_turn().with_stop(background)),
        ("blocked before", full_turn().with_stop(json!({ "stop_hook_active": true }))),
        ("half empty", Reply::new("Done.").using(300_000)),
    ] {
        let stage = Stage::new(Options::default());
        stage.standin.replies([reply]);
        stage.types("count");
        stage.standin.wait_for_state("the stop", |state| state.stops == 1);
        assert_eq!(stage.standin.shown_by("Stop", Kind::BlockReason), [""; 0], "{name}");
        assert!(stage.chain().is_none(), "{name}");
    }
    // Without a transcript and without a status line nobody knows how full it is.
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"continuation":{"enabled":true}}"#);
    assert_eq!(sandbox.hook("longhaul-stop", payload("Stop", json!({}))).stdout.trim(), r#"{"continue":true}"#);
}

#[test]
fn the_status_line_knows_better_than_the_transcript() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"continuation":{"enabled":true}}"#);
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
    assert!(stop["reason"].as_str().unwrap().contains("85 %"), "{stop}");
}

#[test]
fn without_a_terminal_the_user_is_told_to_clear() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"continuation":{"enabled":true,"at":1000}}"#);
    let transcript = sandbox.path("a.jsonl");
    let usage = json!({ "input_tokens": 5_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 });
    let entry = json!({ "type": "assistant", "uuid": "u", "message": { "model": MODEL, "usage": usage } });
    fs::write(&transcript, format!("{entry}\n")).unwrap();
    let cwd = sandbox.project();
    let stop = |changes: Value| {
        let mut all = json!({ "session_id": "a", "transcript_path": transcript, "cwd": cwd });
        all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        sandbox.hook("longhaul-stop", payload("Stop", all)).json()
    };
    let asked = stop(json!({}));
    let reason = asked["reason"].as_str().expect("asks");
    let nonce = reason.split("nonce: ").nth(1).unwrap().lines().next().unwrap();
    let reply = format!("---\ncontinue: true\nnonce: {nonce}\n---\n# Remaining\n- it <private>secret</private>\n");
    let taken = stop(json!({ "stop_hook_active": true, "last_assistant_message": reply }));
    assert!(taken["systemMessage"].as_str().unwrap().contains("type /clear"), "{taken}");
    assert!(taken.get("decision").is_none(), "never twice: {taken}");
    let start = payload("SessionStart-clear", json!({ "session_id": "b", "cwd": cwd }));
    let shown = sandbox.hook("longhaul-session-start", &start).json().to_string();
    assert!(shown.contains("Handoff from session a") && !shown.contains("secret"), "{shown}");
    let status = sandbox.longhaul(&["continuation", "status"]);
    assert!(status.stdout.contains("done"), "{status:?}");
}

#[test]
fn a_project_may_switch_it_on() {
    let stage = Stage::with_config(Options::default(), json!({ "enabled": false }));
    fs::create_dir_all(stage.sandbox.project().join(".claude")).unwrap();
    let file = stage.sandbox.project().join(".claude/longhaul.json");
    fs::write(file, r#"{"continuation":{"enabled":true,"at":0.5,"prompt":"do evil"}}"#).unwrap();
    stage.standin.replies([full_turn(), handoff("the rest"), Reply::new("Going on.")]);
    stage.types("count");
    stage.wait_for_state("done");
    assert_eq!(stage.prompts().last().unwrap(), PROMPT, "what is typed is not for the project to say");
    assert!(stage.sandbox.error_log().contains("continuation.prompt"), "{}", stage.sandbox.error_log());
}

#[test]
fn a_used_up_limit_holds_it_up_until_it_is_resumed() {
    let stage = Stage::new(Options::default());
    stage.standin.replies([full_turn(), Reply::failure("rate_limit")]);
    stage.types("count");
    wait_until(DEADLINE, "the plan to be held up", || stage.chain().is_some_and(|chain| chain["held_up"] == true));
    wait_until(DEADLINE, "an idle client", || stage.standin.state().status == "idle");
    stage.standin.replies([handoff("the rest"), Reply::new("Going on.")]);
    assert_eq!(stage.resume().status, Some(0));
    stage.wait_for_state("done");
    let prompts = stage.prompts();
    assert!(prompts[1].contains("reply with the handoff"), "{prompts:?}");
    assert_eq!(prompts[2..], ["/clear", PROMPT]);
}

#[test]
fn wrong_calls_say_what_is_wrong() {
    let sandbox = Sandbox::new();
    for (args, message) in [
        (&["continuation", "resume"][..], "no session has been continued yet"),
        (
            &["continuation", "cancel", "--session", "zz"],
            "no continuation is known in a session whose id begins with \"zz\"",
        ),
    ] {
        let outcome = sandbox.longhaul(args);
        assert_eq!(outcome.status, Some(1), "{args:?}");
        assert!(outcome.stderr.contains(message), "{args:?}: {}", outcome.stderr);
    }
    assert_eq!(sandbox.longhaul(&["continuation", "status"]).status, Some(0));
}

impl Stage {
    /// Runs `resume` in the stand-in's pane, as a person in another window would.
    fn resume(&self) -> Outcome {
        let mut command = self.sandbox.executable("longhaul");
        Outcome::of(command.args(["continuation", "resume"]), b"")
    }

    /// Leaves a file in the project's `.claude`, written yesterday.
    fn leave_file(&self, name: &str, text: &str) {
        let dir = self.sandbox.project().join(".claude");
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(name);
        fs::write(&path, text).unwrap();
        let yesterday = SystemTime::now() - Duration::from_secs(24 * 3600);
        fs::File::options().write(true).open(path).unwrap().set_modified(yesterday).unwrap();
    }
}
