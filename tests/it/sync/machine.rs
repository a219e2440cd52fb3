//! A machine of a circle: a home of its own, with a clone of the project.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::postgres_server::PostgresServer;
use crate::sandbox::{Outcome, Sandbox, part_of_payload, payload, with};

/// The remote that all clones have. No machine connects to it.
const REMOTE: &str = "https://git.example/team/app.git";

/// Exchanges on one machine after the other.
#[track_caller]
pub(super) fn exchange(machines: &[&Machine]) {
    for machine in machines {
        machine.done(&["now"]);
    }
}

/// Makes a circle of two machines in a new database.
#[track_caller]
pub(super) fn circle() -> Option<(PostgresServer, Machine, Machine)> {
    let server = PostgresServer::start()?;
    let (a, b) = (Machine::new("a"), Machine::new("b"));
    a.init(&server.new_database("team"));
    b.join(&a);
    Some((server, a, b))
}

/// A home with a clone of the project.
pub(super) struct Machine {
    pub(super) sandbox: Sandbox,
    pub(super) name: &'static str,
    sessions: AtomicUsize,
}

impl Machine {
    /// Makes a machine that exchanges only when it is asked to.
    pub(super) fn new(name: &'static str) -> Self {
        Self::with_config(name, &json!({ "sync": { "enabled": false } }))
    }

    pub(super) fn with_config(name: &'static str, config: &Value) -> Self {
        let machine =
            Self { sandbox: Sandbox::new().with_env("LONGHAUL_HOST", name), name, sessions: AtomicUsize::new(0) };
        machine.sandbox.write_config(&config.to_string());
        machine.git(&["init", "-q", "-b", "main"]);
        machine.git(&["remote", "add", "origin", REMOTE]);
        // The same first commit everywhere: author, time and content are the same.
        machine.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        machine
    }

    pub(super) fn git(&self, arguments: &[&str]) {
        let mut git = self.sandbox.program("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
        git.envs([("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"), ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")]);
        let outcome = Outcome::of(&mut git, b"");
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
    }

    /// Runs `longhaul sync`.
    pub(super) fn sync(&self, arguments: &[&str]) -> Outcome {
        self.sandbox.longhaul(&[&["sync"], arguments].concat())
    }

    /// Runs `longhaul sync`, which must succeed. Returns what it prints.
    #[track_caller]
    pub(super) fn done(&self, arguments: &[&str]) -> String {
        let outcome = self.sync(arguments);
        assert_eq!(outcome.status, Some(0), "{} sync {arguments:?}: {outcome:?}", self.name);
        outcome.stdout
    }

    /// Runs `longhaul sync`, which must fail. Returns the message.
    #[track_caller]
    pub(super) fn refused(&self, arguments: &[&str]) -> String {
        let outcome = self.sync(arguments);
        assert_eq!(outcome.status, Some(1), "{} sync {arguments:?}: {outcome:?}", self.name);
        outcome.stderr
    }

    /// Makes a circle, and shares the project.
    #[track_caller]
    pub(super) fn init(&self, address: &str) {
        self.done(&["init", address]);
        self.done(&["share"]);
    }

    /// Joins the circle of another machine, and shares the project.
    #[track_caller]
    pub(super) fn join(&self, other: &Self) {
        self.done(&["join", &other.code()]);
        self.done(&["share"]);
    }

    /// Returns the code with which other machines join.
    #[track_caller]
    pub(super) fn code(&self) -> String {
        self.done(&["code"]).trim().to_owned()
    }

    /// A session of one prompt with a command and a reply, from its start to its end.
    pub(super) fn work(&self, prompt: &str, reply: &str) {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let session = format!("{}-{number}", self.name);
        self.fire(&session, "SessionStart", json!({ "source": "startup" }));
        self.fire(&session, "UserPromptSubmit", json!({ "prompt": prompt }));
        let call = json!({
            "tool_name": "Bash", "tool_use_id": format!("{session}-t"),
            "tool_input": { "command": format!("check {session}") }, "tool_response": { "stdout": "fine", "stderr": "" },
        });
        self.fire(&session, "PostToolUse", call);
        self.fire(&session, "Stop", json!({ "last_assistant_message": reply }));
        self.fire(&session, "SessionEnd-prompt_input_exit", json!({}));
    }

    /// A session with a bookmark only.
    pub(super) fn bookmark(&self, note: &str) {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let session = format!("{}-{number}", self.name);
        self.fire(&session, "SessionStart", json!({ "source": "startup" }));
        self.fire(&session, "UserPromptSubmit", json!({ "prompt": format!("· {note}") }));
        self.fire(&session, "SessionEnd-prompt_input_exit", json!({}));
    }

    /// Makes the last exchange that a hook has started this old.
    pub(super) fn make_exchange_old(&self, seconds: u64) {
        let path = self.sandbox.data_dir().join("sync/started");
        let file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(seconds)).unwrap();
    }

    /// Forgets the session of a prompt.
    #[track_caller]
    pub(super) fn forget(&self, prompt: &str) {
        let sql = format!(
            "SELECT s.session_id FROM prompts u JOIN sessions s ON s.id = u.session_id WHERE u.prompt = '{prompt}'"
        );
        let session = self.sandbox.rows(&sql).remove(0);
        let outcome = self.sandbox.longhaul(&["memory", "forget", "--session", &session, "--yes"]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
    }

    /// Runs a hook. Returns its answer.
    pub(super) fn fire(&self, session: &str, name: &str, changes: Value) -> Value {
        let executable = part_of_payload(name);
        let project = self.sandbox.project();
        let all = json!({
            "session_id": session, "cwd": project, "prompt_id": format!("{session}-p"), "transcript_path": "/nowhere.jsonl",
        });
        let mut command = self.sandbox.executable(&executable);
        command.env("CLAUDE_PROJECT_DIR", &project);
        let outcome = Outcome::of(&mut command, payload(name, with(all, &changes)).as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        outcome.json()
    }

    /// Returns everything that is remembered of the project, without what differs between machines: ids and paths.
    pub(super) fn memory(&self) -> Vec<String> {
        let mut rows = self.sandbox.rows(
            "SELECT 'prompt ' || s.session_id || ' ' || u.prompt FROM prompts u JOIN sessions s ON s.id = u.session_id
             UNION ALL
             SELECT 'observation ' || coalesce(s.session_id, '-') || ' ' || o.kind || ' ' || o.title || ' ' || o.narrative
             FROM observations o LEFT JOIN sessions s ON s.id = o.session_id
             UNION ALL
             SELECT 'summary ' || s.session_id || ' ' || m.request || ' ' || m.completed
             FROM session_summaries m JOIN sessions s ON s.id = m.session_id
             UNION ALL
             SELECT 'bookmark ' || b.session_id || ' ' || coalesce(b.note, '') FROM bookmarks b
             UNION ALL
             SELECT 'reply ' || s.session_id || ' ' || group_concat(t.reply)
             FROM prompts u JOIN sessions s ON s.id = u.session_id JOIN turns t ON t.passage = u.id
             GROUP BY u.id",
        );
        rows.sort();
        rows
    }

    /// Returns whether something with this word is remembered here.
    pub(super) fn remembers(&self, word: &str) -> bool {
        self.memory().iter().any(|row| row.contains(word))
    }

    /// Returns a command that exchanges records.
    pub(super) fn exchange(&self) -> Command {
        let mut command = self.sandbox.executable("longhaul-sync");
        command.arg("now");
        command
    }
}
