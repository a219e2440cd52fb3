//! Handoff: what a session leaves, and which session gets it.

mod baton;
mod commands;
mod compaction;
mod damage;
mod framed;
mod private;
mod shown;
mod take_in;
mod unprompted;

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::sandbox::{Outcome, Sandbox, part_of_payload, payload, with};

/// A session with a transcript that grows.
struct Session<'a> {
    sandbox: &'a Sandbox,
    id: String,
    pid: u32,
    written: Cell<usize>,
    last: RefCell<Option<String>>,
}

impl<'a> Session<'a> {
    /// A session of that name and client, without memory: what that shows is not for these tests to say.
    fn new(sandbox: &'a Sandbox, id: &str, pid: u32) -> Self {
        if !sandbox.data_dir().join("config.json").exists() {
            sandbox.write_config(r#"{"memory":{"enabled":false}}"#);
        }
        Self { sandbox, id: id.to_owned(), pid, written: Cell::default(), last: None.into() }
    }

    /// A session that has begun.
    fn started(sandbox: &'a Sandbox, id: &str, pid: u32) -> Self {
        let session = Self::new(sandbox, id, pid);
        session.start("startup");
        session
    }

    fn transcript(&self) -> PathBuf {
        self.sandbox.path(&format!("{}.jsonl", self.id))
    }

    /// Fires the hook of a recorded payload, as this session's client would.
    fn fire(&self, name: &str, changes: Value) -> Value {
        let executable = part_of_payload(name);
        let all = json!({
            "session_id": self.id, "cwd": self.sandbox.project(), "transcript_path": self.transcript(),
        });
        let mut command = self.sandbox.executable(&executable);
        command.env("CLAUDE_PID", self.pid.to_string()).env("CLAUDE_PROJECT_DIR", self.sandbox.project());
        let outcome = Outcome::of(&mut command, payload(name, with(all, &changes)).as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        outcome.json()
    }

    fn start(&self, source: &str) -> String {
        context(&self.fire("SessionStart", json!({ "source": source })))
    }

    fn prompt(&self, text: &str) -> Value {
        self.fire("UserPromptSubmit", json!({ "prompt": text }))
    }

    fn stop(&self, reply: &str) -> Value {
        self.fire("Stop", json!({ "last_assistant_message": reply }))
    }

    fn clear(&self) {
        self.fire("SessionEnd-clear", json!({}));
    }

    /// Appends an entry to the transcript and returns its uuid.
    fn write(&self, kind: &str, content: Value) -> String {
        let parent = self.last.borrow().clone();
        self.write_after(parent.as_deref(), kind, content)
    }

    fn write_after(&self, parent: Option<&str>, kind: &str, content: Value) -> String {
        let count = self.written.get();
        self.written.set(count + 1);
        let uuid = format!("{}-{count:04}", self.id);
        let entry = json!({
            "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": false, "sessionId": self.id,
            "timestamp": format!("2026-11-14T{:02}:{:02}:00.000Z", 8 + count / 60, count % 60),
            "message": { "role": kind, "content": content, "model": "claude-opus-5-5" },
        });
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.transcript()).unwrap();
        writeln!(file, "{entry}").unwrap();
        *self.last.borrow_mut() = Some(uuid.clone());
        uuid
    }

    /// Writes a whole turn: prompt, a tool call with its output, reply.
    fn write_turn(&self, asked: &str, output: &str, replied: &str) -> String {
        let prompt = self.write("user", json!(asked));
        let id = format!("toolu_{prompt}");
        let input = json!({ "command": "make check" });
        self.write("assistant", json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": input }]));
        self.write("user", json!([{ "type": "tool_result", "tool_use_id": id, "content": output }]));
        self.write("assistant", json!([{ "type": "text", "text": replied }]));
        prompt
    }

    /// Goes through a whole turn, transcript and hooks.
    fn turn(&self, asked: &str, output: &str, replied: &str) {
        self.prompt(asked);
        self.write_turn(asked, output, replied);
        self.stop(replied);
    }

    fn whole_log(&self) -> Vec<Value> {
        self.longhaul(&["handoff", "log", "--json"]).json().as_array().unwrap().clone()
    }

    /// Returns the handoff log without the batons that were written: what happened, to whom, why.
    fn log(&self) -> Vec<(String, String, String)> {
        let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let lines = self.whole_log().into_iter().filter(|line| line["event"] != "written");
        lines.map(|line| (text(&line, "event"), text(&line, "predecessor"), text(&line, "reason"))).collect()
    }

    fn longhaul(&self, args: &[&str]) -> Outcome {
        let mut command = self.sandbox.executable("longhaul");
        command.env("CLAUDE_PROJECT_DIR", self.sandbox.project()).args(args);
        Outcome::of(&mut command, b"")
    }

    /// Returns what is kept of the turns of its transcript.
    fn stored_turns(&self) -> Vec<Value> {
        let outcome = self.longhaul(&["detail", "2026-11-14", "--session", &self.id, "--json"]);
        if outcome.stdout.is_empty() { Vec::new() } else { outcome.json().as_array().unwrap().clone() }
    }
}

/// Returns whether anything that is stored, in whichever file, has `text` in it.
fn is_stored(sandbox: &Sandbox, text: &str) -> bool {
    let mut folders = vec![sandbox.data_dir()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::read(&path).unwrap().windows(text.len()).any(|window| window == text.as_bytes()) {
                return true;
            }
        }
    }
    false
}

fn context(reply: &Value) -> String {
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// A process that stands for a client that lives.
struct Client(Child);

impl Client {
    fn new(sandbox: &Sandbox) -> Self {
        Self(sandbox.program("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
