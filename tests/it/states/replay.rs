//! Plays a recording.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::INTERVAL;
use crate::sandbox::{Outcome, Sandbox, part_of_payload};

/// For how long after a hook the client's record may still say what was before it.
const LAG: u64 = 3_000;

/// When every recording begins.
const START: u64 = 1_800_000_000_000;

/// The executables that hooks.json registers, by event.
const REGISTERED: [&str; 15] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TeammateIdle",
    "TaskCompleted",
    "PreCompact",
    "SessionEnd",
];

/// A client of which only the hooks and the record are there.
pub(super) struct Client {
    pub(super) sandbox: Sandbox,
    process: Child,
    /// The last record, and since when its status holds.
    record: Option<(Value, u64)>,
    /// When the last hook ran.
    hooked: Cell<u64>,
    /// `TMUX` and `TMUX_PANE`, if it runs in tmux.
    tmux: Vec<(&'static str, String)>,
}

impl Client {
    pub(super) fn new() -> Self {
        let sandbox = Sandbox::new();
        let process = sandbox.program("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        Self { sandbox, process, record: None, hooked: Cell::new(0), tmux: Vec::new() }
    }

    /// Puts the client into a pane.
    pub(super) fn in_tmux(&mut self, server: &str, pane: &str) {
        self.tmux = vec![("TMUX", server.to_owned()), ("TMUX_PANE", pane.to_owned())];
    }

    /// Returns the id of the process.
    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Runs the hook of an event at `ms`, if there is one.
    pub(super) fn hook(&self, ms: u64, event: &str, payload: &Value) {
        if !REGISTERED.contains(&event) {
            return;
        }
        self.hooked.set(ms);
        let name = part_of_payload(event);
        let mut hook = self.sandbox.executable(&name);
        hook.env("LONGHAUL_NOW_MS", (START + ms).to_string()).env("CLAUDE_PID", self.pid().to_string());
        hook.envs(self.tmux.iter().cloned());
        let outcome = Outcome::of(&mut hook, payload.to_string().as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{event}: {outcome:?}");
    }

    /// Writes the record as the client did at `ms`.
    pub(super) fn write_record(&mut self, ms: u64, recorded: &Value) {
        let pid = self.pid();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let ticks = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
        let mut record = recorded.clone();
        record["pid"] = json!(pid);
        record["procStart"] = json!(ticks);
        record["statusUpdatedAt"] = json!(START + ms);
        let folder = self.sandbox.home().join(".claude/sessions");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{pid}.json")), record.to_string()).unwrap();
        self.record = Some((record, ms));
    }

    /// Ends the client, as the system or a signal does.
    pub(super) fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        self.record = None;
    }

    /// Refreshes the status as tmux does, and returns the state of every session at `ms`.
    pub(super) fn refresh(&self, ms: u64) -> Vec<(String, String)> {
        // Dead sessions are searched every ten seconds of the system's time, which does not pass here.
        for file in fs::read_dir(self.sandbox.data_dir().join("tmux")).into_iter().flatten().flatten() {
            if file.file_name().to_string_lossy().starts_with("reaped-") {
                fs::remove_file(file.path()).unwrap();
            }
        }
        let mut status = self.sandbox.executable("longhaul");
        status.args(["status", "--json"]).env("LONGHAUL_NOW_MS", (START + ms).to_string());
        status.envs(self.tmux.iter().cloned());
        let rows = Outcome::of(&mut status, b"").json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        rows.as_array().unwrap().iter().map(|row| (text(&row["session"]), text(&row["status"]))).collect()
    }

    /// Refreshes, and checks the state against what the client's record has said for a whole interval.
    #[track_caller]
    pub(super) fn check(&self, case: &str, ms: u64) -> Vec<(String, String)> {
        let states = self.refresh(ms);
        let is_settled = |since: u64| since + INTERVAL <= ms && ms.abs_diff(self.hooked.get()) >= LAG;
        let Some((record, since)) = self.record.as_ref().filter(|(_, since)| is_settled(*since)) else {
            return states;
        };
        let session = record["sessionId"].as_str().unwrap_or_default();
        let state = states.iter().find(|(id, _)| id == session).map(|(_, state)| state.as_str());
        let waits_for = record["waitingFor"].as_str();
        let is_right = match (record["status"].as_str(), state) {
            (Some("waiting"), _) if waits_for == Some("dialog open") => state.is_some(),
            (Some("waiting"), state) => state == Some("blocked"),
            (Some("busy"), state) => state == Some("working"),
            (Some("idle" | "shell"), state) => matches!(state, Some("idle" | "completed")),
            _ => true,
        };
        assert!(is_right, "{case}: at {ms} ms, the client's record has said {record} since {since} ms, but {states:?}");
        states
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
    }
}

/// Plays `tests/states/CASE.jsonl`, with a refresh at every interval. `expected` are the states of the newest session after
/// the refresh at or before a time; `gone` if there is none.
#[track_caller]
pub(super) fn replay(case: &str, expected: &[(u64, &str)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/states/{case}.jsonl"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let at = |line: &Value| line["ms"].as_u64().unwrap();
    let end = at(lines.last().unwrap()) + 2 * INTERVAL;
    let mut client = Client::new();
    let (mut lines, mut tick) = (lines.iter().peekable(), INTERVAL);
    let mut seen: Vec<(u64, String)> = Vec::new();
    let mut session = String::new();
    while tick <= end {
        while let Some(line) = lines.next_if(|line| at(line) <= tick) {
            play(&mut client, line, &mut session);
        }
        let states = client.check(case, tick);
        let state = states.into_iter().find(|(id, _)| *id == session).map(|(_, state)| state);
        seen.push((tick, state.unwrap_or_else(|| "gone".to_owned())));
        tick += INTERVAL;
    }
    for (ms, state) in expected {
        let shown = seen.iter().rfind(|(at, _)| at <= ms).map(|(_, state)| state.as_str());
        assert_eq!(shown, Some(*state), "{case}: at {ms} ms; {seen:?}");
    }
}

fn play(client: &mut Client, line: &Value, session: &mut String) {
    let ms = line["ms"].as_u64().unwrap();
    if let Some(event) = line["hook"].as_str() {
        client.hook(ms, event, &line["payload"]);
        if event == "SessionStart" {
            *session = line["payload"]["session_id"].as_str().unwrap().to_owned();
        }
    } else if line["record"].is_object() {
        client.write_record(ms, &line["record"]);
    } else if line["ended"] == true {
        client.end();
    }
}
