//! Continuation beyond the context limit without a person: the real executables, a real pane, and the scripted stand-in.

mod asking;
mod bridge;
mod others;
mod project_trust;
mod rounds;
mod stepping_in;
mod stuck;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::poll::{DEADLINE, wait_for, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload, shell_line, with};
use crate::standin::{Options, Reply, StandIn};
use crate::tmux::{Pane, Tmux};

const MODEL: &str = "claude-opus-5-5";
const FULL: u64 = 800_000;
const PROMPT: &str = "Continue from the handoff: do what is left to do.";

/// A client in a pane, with continuation switched on.
struct Stage {
    standin: StandIn,
    pane: Pane,
    tmux: Tmux,
    sandbox: Sandbox,
}

impl Stage {
    fn new(options: Options) -> Self {
        Self::with_config(options, json!({}))
    }

    fn with_config(options: Options, continuation: Value) -> Self {
        let config = with(json!({ "at": "on" }), &continuation);
        Self::with_settings(options, &json!({ "continuation": config, "bookmarks": EAGER.clone() }))
    }

    /// A client whose steps may take this long.
    fn with_step(options: Options, seconds: f64) -> Self {
        let (on, inject) = (json!({ "at": "on" }), json!({ "patience_seconds": seconds / 2.0 }));
        Self::with_settings(options, &json!({ "continuation": on, "bookmarks": EAGER.clone(), "inject": inject }))
    }

    fn with_settings(options: Options, config: &Value) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write_config(&config.to_string());
        Self::in_sandbox(sandbox, options)
    }

    fn in_sandbox(sandbox: Sandbox, options: Options) -> Self {
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
static EAGER: std::sync::LazyLock<Value> = std::sync::LazyLock::new(
    || json!({ "thresholds": { "min_tool_calls": 1, "cooldown_seconds": 0 }, "enabled": "turn_end" }),
);

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

impl Stage {
    /// Runs `resume` as a person in another window would, even inside another client.
    fn resume(&self) -> Outcome {
        let mut command = self.sandbox.executable("longhaul");
        command.env("CLAUDE_PID", std::process::id().to_string());
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

    /// Has a script run in place of an event's hooks; `{hook}` in it is our executable for the event.
    fn script(&self, event: &str, executable: &str, body: &str) -> PathBuf {
        let script = self.sandbox.path(&format!("{event}-script"));
        fs::write(&script, format!("#!/bin/sh\n{}\n", body.replace("{hook}", &shell_line(executable)))).unwrap();
        fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        self.standin.use_hook(event, &script);
        script
    }
}

/// A session without a terminal, whose hooks are called one by one.
struct Bare {
    sandbox: Sandbox,
    transcript: PathBuf,
}

impl Bare {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write_config(r#"{"continuation":{"at":1000}}"#);
        let transcript = sandbox.path("a.jsonl");
        let usage = json!({ "input_tokens": 5_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 });
        let entry = json!({ "type": "assistant", "uuid": "u", "message": { "model": MODEL, "usage": usage } });
        fs::write(&transcript, format!("{entry}\n")).unwrap();
        Self { sandbox, transcript }
    }

    /// Returns the payload of a Stop in session `a`.
    fn stop_payload(&self, changes: Value) -> String {
        let all = json!({ "session_id": "a", "transcript_path": self.transcript, "cwd": self.sandbox.project() });
        payload("Stop", with(all, &changes))
    }

    fn stop(&self, changes: Value) -> Value {
        self.sandbox.hook("longhaul-stop", self.stop_payload(changes)).json()
    }

    /// Ends the turn that answers what was `asked`, with `body` below the front matter.
    fn answer(&self, asked: &Value, body: &str) -> Value {
        let reply = format!("---\ncontinue: true\nnonce: {}\nmood: good\n---\n{body}", nonce(asked));
        self.stop(json!({ "stop_hook_active": true, "last_assistant_message": reply }))
    }

    fn status(&self) -> Value {
        self.sandbox.longhaul(&["continuation", "status", "--json"]).json()
    }
}

/// Returns the nonce in what a Stop hook answered.
fn nonce(asked: &Value) -> String {
    let reason = asked["reason"].as_str().unwrap_or_else(|| panic!("does not ask: {asked}"));
    reason.split("nonce: ").nth(1).unwrap().lines().next().unwrap().to_owned()
}

/// A process that is about to end; its number may belong to another soon.
struct Doomed {
    pid: u32,
    began: Option<String>,
}

impl Doomed {
    fn new(pid: u32) -> Self {
        Self { pid, began: began(pid) }
    }

    fn wait_for_end(&self) {
        wait_until(DEADLINE, "a process's end", || self.began.is_none() || began(self.pid) != self.began);
    }
}

/// Returns when a process began, in the kernel's own ticks; `None` where it has ended, noticed or not.
fn began(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    (fields.first() != Some(&"Z")).then(|| fields.get(19).map(|ticks| (*ticks).to_owned()))?
}
