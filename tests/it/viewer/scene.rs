//! An afternoon of four sessions, made by their hooks.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::sandbox::{Outcome, Sandbox, payload, with};

/// Plays the afternoon, of which the last moment is now.
pub(super) fn play(sandbox: &Sandbox) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let session = |id, project, branch, minutes_ago: u64| {
        Session::begin(sandbox, id, project, branch, now - minutes_ago * 60_000)
    };

    let mut notes = session("9d40c1e7-field-notes", "field-notes", "main", 58);
    notes.prompt("Sort the notes of the autumn survey by station");
    notes.read("survey/autumn.md").read("survey/stations.csv").make("survey/by-station.md", "# Station 1\n");
    notes
        .reply("The notes are in `survey/by-station.md`, one section for each of the nine stations.")
        .context(12, 24_000);

    let mut lantern = session("c77a02bd-paper-lantern", "paper-lantern", "main", 34);
    lantern.prompt("Make the chart readable on a phone");
    lantern.read("web/chart.css").edit("web/chart.css", "width: 960px", "width: 100%");
    lantern.edit("web/chart.js", "ticks: 24", "ticks: width < 480 ? 6 : 24");
    lantern.bash("npm run build", "dist/chart.js  41.2 kB\nbuilt in 1.9s", true);
    lantern
        .reply("The chart takes the width that there is and shows every fourth hour on a phone.")
        .context(93, 186_000);

    let mut harbor = session("5e1b7a90-harbor-api", "harbor-api", "berth-index", 69);
    harbor.prompt("Searching berths takes 900 ms in the large harbours. Find out why, and make it fast.");
    harbor.grep("fn nearest", "src/berths/search.rs").read("src/berths/search.rs");
    harbor.bash("cargo bench berths", "berths/nearest  time: [912.44 ms 918.02 ms 924.11 ms]", true);
    harbor.read("src/berths/index.rs").bookmark("· before the rewrite");
    harbor.edit("src/berths/index.rs", "Vec<Berth>", "RTree<Berth>").edit(
        "src/berths/search.rs",
        ".iter()",
        ".nearest(at)",
    );
    harbor.bash("cargo test berths", "test berths::nearest_is_nearest ... FAILED\n\n13 passed; 1 failed", false);
    harbor.read("src/berths/distance.rs").edit("src/berths/distance.rs", "lat - other.lat", "(lat - other.lat).abs()");
    harbor.bash("cargo test berths", "14 passed; 0 failed; finished in 0.41s", true);
    harbor.reply(
        "Every search looked at every berth. They are in an R-tree now, built when a harbour is imported: 6 ms.",
    );
    harbor.wait(22).prompt("Do the ferries use the same search?");
    harbor.grep("nearest(", "src/ferries/plan.rs").read("src/ferries/plan.rs");
    harbor.reply("No: the planner has a loop of its own, over the same berths.");
    harbor.wait(14).prompt("Move it over, and keep its order for ferries that tie");
    harbor.edit("src/ferries/plan.rs", "for berth in berths", "for berth in index.nearest(at)");
    harbor.bash("cargo test ferries", "test ferries::ties_keep_their_order ... FAILED\n\n8 passed; 1 failed", false);
    harbor.edit("src/ferries/plan.rs", "sort_unstable_by", "sort_by").bash(
        "cargo test ferries",
        "9 passed; 0 failed",
        true,
    );
    harbor.bookmark("· ferries green").bash(
        "git commit -am 'ferries: ask the index for berths'",
        "[berth-index 4f2c1aa]",
        true,
    );
    harbor.reply("The planner asks the index, and a stable sort keeps the order of those that tie.");
    harbor.wait(19).prompt("Now the tide importer, the same way");
    harbor.read("src/import/tides.rs").edit("src/import/tides.rs", "retry(3)", "retry(Backoff::tidal())");
    harbor.bash("cargo test import", "test import::retries_end ... FAILED\n\n13 passed; 1 failed", false);
    harbor.edit("src/import/retry.rs", "loop {", "for attempt in 0..self.most {");
    harbor.bash(
        "cargo test import",
        "running 14 tests\n..............\ntest result: ok. 14 passed; 0 failed; finished in 1.32s",
        true,
    );
    harbor.context(76, 152_000);

    let mut tides = session("21f8d3b6-tidewatch", "tidewatch", "main", 9);
    tides.prompt("Prepare release 2.4: changelog, version, tag");
    tides.bash("git log --oneline v2.3..", "a41 gauge: read the new stations\n9c0 alarm: wait for two readings", true);
    tides.edit("CHANGELOG.md", "## Unreleased", "## 2.4.0").bash("cargo package", "Packaged 41 files, 212.3KiB", true);
    tides.asks("cargo publish").context(41, 82_000);
}

/// A session, its project, its transcript and its clock.
struct Session<'a> {
    sandbox: &'a Sandbox,
    id: String,
    project: PathBuf,
    transcript: PathBuf,
    at: u64,
    entries: usize,
    prompts: usize,
}

impl<'a> Session<'a> {
    fn begin(sandbox: &'a Sandbox, id: &str, project: &str, branch: &str, at: u64) -> Self {
        let project = sandbox.path("work").join(project);
        for folder in ["objects", "refs"] {
            fs::create_dir_all(project.join(".git").join(folder)).unwrap();
        }
        fs::write(project.join(".git/HEAD"), format!("ref: refs/heads/{branch}\n")).unwrap();
        let transcript = sandbox.home().join(".claude/projects").join(id).with_extension("jsonl");
        fs::create_dir_all(transcript.parent().unwrap()).unwrap();
        let mut session = Self { sandbox, id: id.to_owned(), project, transcript, at, entries: 0, prompts: 0 };
        session.fire("longhaul-session-start", "SessionStart", json!({}));
        session
    }

    /// Lets time pass.
    fn wait(&mut self, minutes: u64) -> &mut Self {
        self.at += minutes * 60_000;
        self
    }

    fn prompt(&mut self, text: &str) -> &mut Self {
        self.prompts += 1;
        self.fire("longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": text }));
        // The client writes its transcript when the hooks have answered.
        self.at += 40;
        self.write("user", json!(text), json!({ "origin": { "kind": "human" } }));
        self.pass(11)
    }

    fn bookmark(&mut self, text: &str) -> &mut Self {
        self.fire("longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": text }));
        self.pass(9)
    }

    fn read(&mut self, file: &str) -> &mut Self {
        let path = self.project.join(file);
        let lines = "use crate::berths::Berth;\n".repeat(60);
        self.call("Read", json!({ "file_path": path }), json!({ "file": { "filePath": path, "content": lines } }), 14)
    }

    fn grep(&mut self, pattern: &str, file: &str) -> &mut Self {
        let response = json!({ "mode": "files_with_matches", "filenames": [file], "numFiles": 1 });
        self.call("Grep", json!({ "pattern": pattern, "path": self.project.join("src") }), response, 9)
    }

    fn edit(&mut self, file: &str, old: &str, new: &str) -> &mut Self {
        let path = self.project.join(file);
        let input = json!({ "file_path": path, "old_string": old, "new_string": new });
        self.call("Edit", input, json!({ "filePath": path, "oldString": old, "newString": new }), 31)
    }

    fn make(&mut self, file: &str, content: &str) -> &mut Self {
        let path = self.project.join(file);
        let input = json!({ "file_path": path, "content": content });
        self.call("Write", input, json!({ "type": "create", "filePath": path, "content": content }), 26)
    }

    fn bash(&mut self, command: &str, output: &str, succeeds: bool) -> &mut Self {
        let input = json!({ "command": command });
        if succeeds {
            return self.call("Bash", input, json!({ "stdout": output, "stderr": "", "interrupted": false }), 37);
        }
        let id = self.tool_id();
        let error = format!("Exit code 101\n{output}");
        let failed = json!({ "tool_name": "Bash", "tool_use_id": id, "tool_input": input, "error": error });
        self.fire("longhaul-post-tool-use-failure", "PostToolUseFailure-Bash", failed);
        self.result(&id, "Bash", &input, json!(format!("Error: {error}")));
        self.pass(37)
    }

    /// The client asks the user whether a command may run.
    fn asks(&mut self, command: &str) -> &mut Self {
        let asked = json!({ "tool_name": "Bash", "tool_input": { "command": command } });
        self.fire("longhaul-permission-request", "PermissionRequest", asked);
        self
    }

    fn reply(&mut self, text: &str) -> &mut Self {
        self.write("assistant", json!([{ "type": "text", "text": text }]), json!({}));
        self.fire("longhaul-stop", "Stop", json!({ "last_assistant_message": text }));
        self
    }

    /// The client draws its status line, which tells how full the context is.
    fn context(&mut self, percent: u64, tokens: u64) -> &mut Self {
        let window = json!({ "context_window_size": 200_000, "used_percentage": percent, "current_usage": { "input_tokens": tokens } });
        let told = json!({ "session_id": self.id, "cwd": self.project, "context_window": window });
        let mut command = self.sandbox.executable("longhaul");
        let outcome = Outcome::of(
            command.arg("statusline").env("LONGHAUL_NOW_MS", self.at.to_string()),
            told.to_string().as_bytes(),
        );
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        self
    }

    fn call(&mut self, tool: &str, input: Value, response: Value, seconds: u64) -> &mut Self {
        let id = self.tool_id();
        let called = json!({ "tool_name": tool, "tool_use_id": id, "tool_input": input, "tool_response": response });
        self.fire("longhaul-post-tool-use", "PostToolUse", called);
        self.result(&id, tool, &input, response);
        self.pass(seconds)
    }

    fn result(&mut self, id: &str, tool: &str, input: &Value, response: Value) {
        self.write("assistant", json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]), json!({}));
        let content = response.as_str().map_or_else(|| response.to_string(), str::to_owned);
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": content }]);
        self.write("user", result, json!({ "toolUseResult": response }));
    }

    fn tool_id(&self) -> String {
        format!("toolu_{}_{}", self.id, self.entries)
    }

    fn prompt_id(&self) -> String {
        format!("{}-prompt-{}", self.id, self.prompts)
    }

    fn pass(&mut self, seconds: u64) -> &mut Self {
        self.at += seconds * 1000;
        self
    }

    #[track_caller]
    fn fire(&mut self, executable: &str, name: &str, changes: Value) {
        let all = json!({
            "session_id": self.id, "cwd": self.project, "transcript_path": self.transcript, "prompt_id": self.prompt_id(),
        });
        let mut command = self.sandbox.executable(executable);
        command.env("CLAUDE_PROJECT_DIR", &self.project).env("LONGHAUL_NOW_MS", self.at.to_string());
        let outcome = Outcome::of(&mut command, payload(name, with(all, &changes)).as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    }

    fn write(&mut self, kind: &str, content: Value, more: Value) {
        let uuid = |number: usize| format!("{}-{number:04}", self.id);
        let time = jiff::Timestamp::from_millisecond(self.at as i64).unwrap().to_string();
        let entry = json!({
            "type": kind, "uuid": uuid(self.entries), "parentUuid": self.entries.checked_sub(1).map(uuid),
            "isSidechain": false, "sessionId": self.id, "cwd": self.project, "timestamp": time,
            "promptId": self.prompt_id(), "message": { "role": kind, "content": content, "model": "claude-opus-5-5" },
        });
        let entry = with(entry, &more);
        self.entries += 1;
        let mut file = OpenOptions::new().create(true).append(true).open(&self.transcript).unwrap();
        writeln!(file, "{entry}").unwrap();
    }
}
