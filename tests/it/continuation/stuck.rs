//! Steps that do not happen, clients and injectors that are gone, limits that are used up.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{Doomed, MODEL, PROMPT, Stage, full_turn, handoff};
use crate::poll::{DEADLINE, wait_for, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload};
use crate::standin::{Kind, Launch, Options, Reply, StandIn};

#[test]
fn a_client_that_never_clears_is_asked_twice_and_then_given_up() {
    let options = Options::default().swallowing_clears(u32::MAX);
    let stage = Stage::with_step(options, 1.0);
    stage.standin.replies([full_turn(), handoff("the rest")]);
    stage.types("count");
    let failed = stage.wait_for_state("failed");
    assert!(failed["reason"].as_str().unwrap().contains("Claude Code did not react"), "{failed}");
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
    let stage = Stage::with_step(options, 1.0);
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
    stage.tmux.run(&["set-option", "-g", "remain-on-exit", "on"]);
    let client = Doomed::new(stage.standin.state().pid);
    stage.standin.replies([full_turn(), handoff("the rest")]);
    stage.types("count");
    stage.standin.wait_for_end();
    client.wait_for_end();
    assert_eq!(stage.chain().unwrap()["state"], "prompting");
    stage
}

impl Stage {
    /// Lets another client start in the pane, `late` from now, in that project; returns what it is shown.
    fn start_anew(&self, late: Duration, project: &Path) -> String {
        let start = payload("SessionStart-startup-interactive", json!({ "session_id": "anew" }));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + late;
        let mut hook = self.sandbox.executable("longhaul-session-start");
        hook.envs(self.tmux.variables(&self.pane)).env("CLAUDE_PID", std::process::id().to_string());
        hook.env("CLAUDE_PROJECT_DIR", project).env("LONGHAUL_NOW_MS", now.as_millis().to_string());
        let reply = Outcome::of(&mut hook, start.as_bytes()).json();
        reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }
}

#[test]
fn whoever_comes_after_a_killed_client_goes_on() {
    let stage = killed();
    let launch = Launch::new(&stage.sandbox, &Options::default().usage(20_000, MODEL));
    let variables: Vec<String> = launch.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut args = vec!["respawn-pane", "-k", "-t", &stage.pane.0];
    variables.iter().for_each(|variable| args.extend(["-e", variable]));
    args.push("env");
    args.extend(launch.program.iter().map(String::as_str));
    stage.tmux.run(&args);
    let standin = StandIn::connect(&launch);
    standin.replies([Reply::new("Going on.")]);
    standin.session_start("startup");
    let shown = standin.shown_by("SessionStart", Kind::AdditionalContext);
    assert!(shown[0].contains("# Remaining") && shown[0].contains("the rest"), "{shown:?}");
    stage.wait_for_state("done");
    assert_eq!(standin.state().texts(), [PROMPT]);
}

#[test]
fn another_project_in_the_same_pane_gets_nothing() {
    let stage = killed();
    let shown = stage.start_anew(Duration::ZERO, &stage.sandbox.home());
    assert!(!shown.contains("the rest"), "{shown}");
    assert_eq!(stage.chain().unwrap()["state"], "prompting");
    let shown = stage.start_anew(Duration::ZERO, &stage.sandbox.project());
    assert!(shown.contains("the rest"), "{shown}");
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
            "no continuation was found for a session whose id begins with \"zz\"",
        ),
    ] {
        let outcome = sandbox.longhaul(args);
        assert_eq!(outcome.status, Some(1), "{args:?}");
        assert!(outcome.stderr.contains(message), "{args:?}: {}", outcome.stderr);
    }
    assert_eq!(sandbox.longhaul(&["continuation", "status"]).status, Some(0));
    assert_eq!(sandbox.longhaul(&["continuation", "cancel", "--session", ""]).status, Some(2), "every id begins so");
}

#[test]
fn a_killed_injector_is_replaced_by_the_next_hook() {
    let stage = Stage::new(Options::default().swallowing_clears(1));
    let first = stage.standin.session_id();
    stage.standin.replies([full_turn(), handoff("the rest"), Reply::new("Going on.")]);
    stage.types("count");
    wait_until(DEADLINE, "the clear that is swallowed", || stage.prompts().len() == 2);
    let injector = Doomed::new(injector_of(&first));
    Outcome::of(stage.sandbox.program("kill").args(["-9", &injector.pid.to_string()]), b"");
    injector.wait_for_end();
    stage.standin.hook("Notification", json!({ "notification_type": "idle_prompt", "message": "waiting" }));
    stage.wait_for_state("done");
    assert_eq!(stage.prompts(), ["count", "/clear", "/clear", PROMPT]);
}

/// Returns the process that types for a session.
fn injector_of(session: &str) -> u32 {
    wait_for(DEADLINE, "the injector", || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(|pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains("run-injector") && line.contains(session)
        })
    })
}

#[test]
fn a_lifted_limit_lets_it_go_on_and_an_old_one_does_not() {
    for (name, seconds, goes_on) in [("to come", 4_i64, true), ("long past", -600, false)] {
        let stage = Stage::with_config(Options::default(), json!({ "after_rate_limit": true }));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64;
        let limit = json!({ "used_percentage": 100, "resets_at": now + seconds });
        let report = json!({
            "session_id": stage.standin.session_id(), "model": { "id": MODEL },
            "context_window": { "context_window_size": 1_000_000 }, "rate_limits": { "five_hour": limit },
        });
        Outcome::of(stage.sandbox.executable("longhaul").arg("statusline"), report.to_string().as_bytes());
        stage.standin.replies([
            full_turn(),
            Reply::failure("rate_limit"),
            handoff("the rest"),
            Reply::new("Going on."),
        ]);
        stage.types("count");
        if goes_on {
            stage.wait_for_state("done");
            assert_eq!(stage.prompts().len(), 4, "{name}: {:?}", stage.prompts());
        } else {
            wait_until(DEADLINE, "the plan to be held up", || stage.chain().is_some_and(|c| c["held_up"] == true));
            // Whoever would wait for it has nothing to wait for.
            let session = stage.standin.session_id();
            stage.standin.wait_for_answers("StopFailure", 1);
            wait_until(DEADLINE, "nobody to wait", || !runs(&session));
            assert_eq!(stage.prompts(), ["count"], "{name}");
            assert_eq!(stage.chain().unwrap()["held_up"], true, "{name}");
        }
    }
}

/// Returns whether anybody types for a session.
fn runs(session: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.map(|entry| fs::read(entry.path().join("cmdline")).unwrap_or_default()).any(|line| {
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("run-injector") && line.contains(session)
    })
}
