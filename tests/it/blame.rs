//! Which prompt wrote a line: through the hooks, real git and the command line.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::memory_mcp;
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload, with};
use crate::worker::served::Served;

mod exported;
mod kept;
mod turns_followed;
mod twenty_lines;

/// A repository in which sessions work.
struct Work {
    sandbox: Sandbox,
}

/// A turn that runs.
struct Turn<'a> {
    work: &'a Work,
    session: &'static str,
    id: String,
    calls: usize,
}

impl Work {
    /// Makes a repository with a committed file.
    fn new(file: &str, text: &str) -> Self {
        let work = Self { sandbox: Sandbox::new() };
        work.git(&["init", "-q", "-b", "main"]);
        work.write(file, text);
        work.commit("first");
        work
    }

    fn path(&self, file: &str) -> PathBuf {
        self.sandbox.project().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        fs::create_dir_all(self.path(file).parent().unwrap()).unwrap();
        fs::write(self.path(file), text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    /// Changes a file as a person or a command does.
    fn change(&self, file: &str, old: &str, new: &str) {
        let text = self.read(file);
        assert!(text.contains(old), "{old:?} is not in {text:?}");
        self.write(file, &text.replacen(old, new, 1));
    }

    fn git(&self, args: &[&str]) -> Outcome {
        let mut git = self.sandbox.program("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(args)
            .env("GIT_EDITOR", "true")
            .env("GIT_SEQUENCE_EDITOR", "true");
        let outcome = Outcome::of(&mut git, b"");
        assert_eq!(outcome.status, Some(0), "git {args:?}: {outcome:?}");
        outcome
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    fn fire(&self, executable: &str, name: &str, changes: &Value) {
        let all = json!({ "cwd": self.sandbox.project(), "transcript_path": self.sandbox.path("transcript.jsonl") });
        let outcome = self.sandbox.hook(executable, payload(name, with(all, changes)));
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
    }

    fn snapshots(&self) -> Vec<Value> {
        self.sandbox.longhaul(&["snapshots", "--json"]).json().as_array().unwrap().clone()
    }

    fn wait_for(&self, session: &str, kind: &str, id: &str) {
        let is_it = |one: &Value| one["session"] == session && one["kind"] == kind && one["prompt_id"] == id;
        wait_until(DEADLINE, &format!("the snapshot {kind} of {id}"), || self.snapshots().iter().any(is_it));
    }

    /// Sends a prompt, and waits for its snapshot.
    fn prompt(&self, session: &'static str, text: &str) -> Turn<'_> {
        let id = format!("{session}-{}", self.snapshots().len());
        let changes = json!({ "session_id": session, "prompt_id": id, "prompt": text });
        self.fire("longhaul-user-prompt-submit", "UserPromptSubmit", &changes);
        self.wait_for(session, "prompt", &id);
        Turn { work: self, session, id, calls: 0 }
    }

    /// Returns where each line comes from: the kind, and the prompt.
    fn blame(&self, file: &str) -> Vec<String> {
        let outcome = self.sandbox.longhaul(&["blame", file, "--json"]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        let found = outcome.json();
        let origin = |line: &Value| {
            let origin = &found["origins"][line["origin"].as_u64().unwrap() as usize];
            let kind = origin["kind"].as_str().unwrap();
            match origin["text"].as_str() {
                Some(text) => format!("{kind}: {text}"),
                None => kind.to_owned(),
            }
        };
        found["lines"].as_array().unwrap().iter().map(origin).collect()
    }

    #[track_caller]
    fn check(&self, file: &str, expected: &[&str]) {
        let found = self.blame(file);
        let lines: Vec<String> = self.read(file).lines().map(str::to_owned).collect();
        let shown: Vec<String> = found.iter().zip(&lines).map(|(origin, line)| format!("{origin:30} {line}")).collect();
        assert_eq!(found, expected, "\n{}", shown.join("\n"));
    }
}

impl Turn<'_> {
    fn call(&mut self, tool: &str, input: &Value, response: &Value, agent: Option<&str>) {
        self.calls += 1;
        let mut changes = json!({
            "session_id": self.session, "prompt_id": self.id, "tool_name": tool, "tool_input": input, "tool_response": response,
            "tool_use_id": format!("toolu_{}_{}", self.id, self.calls),
        });
        if let Some(agent) = agent {
            changes["agent_id"] = json!(agent);
            changes["agent_type"] = json!("general-purpose");
        }
        self.work.fire("longhaul-post-tool-use", "PostToolUse", &changes);
    }

    /// Replaces a text with the edit tool.
    fn edit(&mut self, file: &str, old: &str, new: &str) {
        self.edit_as(file, old, new, None);
    }

    fn edit_as(&mut self, file: &str, old: &str, new: &str, agent: Option<&str>) {
        self.work.change(file, old, new);
        let input = json!({ "file_path": self.work.path(file), "old_string": old, "new_string": new });
        self.call("Edit", &input, &json!({ "filePath": self.work.path(file) }), agent);
    }

    fn write(&mut self, file: &str, text: &str) {
        self.work.write(file, text);
        let input = json!({ "file_path": self.work.path(file), "content": text });
        self.call("Write", &input, &json!({ "type": "create", "filePath": self.work.path(file) }), None);
    }

    /// Changes a file by a shell command.
    fn command(&mut self, command: &str, change: impl FnOnce(&Work)) {
        change(self.work);
        self.call("Bash", &json!({ "command": command }), &json!({ "stdout": "", "stderr": "" }), None);
    }

    /// Ends the turn, and waits for its last snapshot.
    fn end(self) {
        let changes = json!({ "session_id": self.session, "prompt_id": self.id, "last_assistant_message": "Done.", "stop_hook_active": false });
        self.work.fire("longhaul-stop", "Stop", &changes);
        self.work.wait_for(self.session, "end", &self.id);
    }
}

const A: &str = "abcdef01-one";
const B: &str = "abcdef02-two";

#[test]
fn every_way_to_change_a_line_is_told_apart() {
    let work = Work::new("lib.rs", "first committed line\nsecond committed line\nthird committed line\n");
    let mut turn = work.prompt(A, "add a reader");
    turn.edit("lib.rs", "second committed line\n", "second committed line\nfn reader() {\n    read();\n}\n");
    turn.end();
    work.change("lib.rs", "third committed line\n", "third committed line\na person's remark\n");
    let mut turn = work.prompt(A, "rename it");
    turn.command("sed -i s/read/fetch/ lib.rs", |work| work.change("lib.rs", "    read();", "    fetch_everything();"));
    turn.edit_as("lib.rs", "first committed line\n", "first line by a subagent\n", Some("agent-1"));
    turn.end();
    let expected = [
        "prompt: rename it",
        "commit",
        "prompt: add a reader",
        "command: rename it",
        "prompt: add a reader",
        "commit",
        "outside",
    ];
    work.check("lib.rs", &expected);
    // What a formatter does, in a turn or by a person, changes no origin.
    let mut turn = work.prompt(B, "format it");
    turn.command("fmt lib.rs", |work| work.change("lib.rs", "    fetch_everything();", "\tfetch_everything();"));
    turn.end();
    let indented = work.read("lib.rs").lines().map(|line| format!("  {line}\r\n")).collect::<String>();
    work.write("lib.rs", &indented);
    work.check("lib.rs", &expected);
    // Uncommitted, committed, amended: by content.
    work.commit("all of it");
    work.check("lib.rs", &expected);
    work.git(&["commit", "-q", "--amend", "-m", "the same"]);
    work.check("lib.rs", &expected);
    let shown = work.sandbox.longhaul(&["blame", "lib.rs:3-4"]);
    for part in ["add a reader", "rename it", "fetch_everything", "fn reader"] {
        assert!(shown.stdout.contains(part), "{part} in {shown:?}");
    }
    assert!(!shown.stdout.contains("remark"), "{shown:?}");
    let porcelain = work.sandbox.longhaul(&["blame", "lib.rs:1", "--porcelain"]).stdout;
    assert!(
        porcelain.starts_with("1\tprompt\tP") && porcelain.trim_end().ends_with("first line by a subagent"),
        "{porcelain}"
    );
}

#[test]
fn origins_survive_rebase_squash_cherry_pick_and_a_branch_switch() {
    let work = Work::new("a.txt", "base one\nbase two\nbase three\n");
    work.git(&["checkout", "-qb", "side"]);
    let mut turn = work.prompt(A, "on the side");
    turn.edit("a.txt", "base two\n", "base two\nside line\n");
    turn.end();
    work.commit("side");
    let mut turn = work.prompt(A, "more on the side");
    turn.edit("a.txt", "side line\n", "side line\nanother side line\n");
    turn.end();
    work.commit("side two");
    let on_side = ["commit", "commit", "prompt: on the side", "prompt: more on the side", "commit"];
    work.check("a.txt", &on_side);
    work.git(&["checkout", "-q", "main"]);
    let mut turn = work.prompt(B, "on main");
    turn.edit("a.txt", "base three\n", "base three\nmain line\n");
    turn.end();
    work.commit("main");
    work.check("a.txt", &["commit", "commit", "commit", "prompt: on main"]);
    work.git(&["checkout", "-q", "side"]);
    work.prompt(A, "look").end();
    work.check("a.txt", &on_side);
    work.git(&["rebase", "-q", "main"]);
    let all = ["commit", "commit", "prompt: on the side", "prompt: more on the side", "commit", "prompt: on main"];
    work.prompt(A, "look again").end();
    work.check("a.txt", &all);
    work.git(&["reset", "-q", "--soft", "main"]);
    work.commit("squashed");
    work.prompt(A, "and again").end();
    work.check("a.txt", &all);
    let squashed = work.git(&["rev-parse", "HEAD"]).stdout.trim().to_owned();
    work.git(&["checkout", "-q", "main"]);
    work.prompt(A, "on main again").end();
    work.git(&["cherry-pick", &squashed]);
    work.check("a.txt", &all);
}

#[test]
fn two_sessions_at_once_are_told_apart_by_their_calls_or_both_named() {
    let work = Work::new("a.txt", "one line\ntwo line\nthree line\n");
    let mut one = work.prompt(A, "first task");
    let mut two = work.prompt(B, "second task");
    one.edit("a.txt", "one line\n", "one line, changed\n");
    two.edit("a.txt", "three line\n", "three line, changed\n");
    one.command("make", |work| work.change("a.txt", "two line\n", "two line\ngenerated by nobody knows whom\n"));
    two.command("make", |_| ());
    one.end();
    two.end();
    work.check("a.txt", &["prompt: first task", "commit", "unknown", "prompt: second task"]);
    let found = work.sandbox.longhaul(&["why", "a.txt:3"]).stdout;
    assert!(found.contains("first task") && found.contains("second task"), "{found}");
    // What one of them does while the other runs as well has a call that says whose it is.
    let why = work.sandbox.longhaul(&["why", "a.txt:1", "--json"]).json();
    assert_eq!((&why["kind"], &why["text"]), (&json!("prompt"), &json!("first task")), "{why}");
    assert_eq!(why["before"]["line_text"], "one line", "{why}");
    assert_eq!(why["before"]["kind"], "commit", "{why}");
}

#[test]
fn a_private_turn_says_nothing_more() {
    let work = Work::new("a.txt", "one line\n");
    let mut turn = work.prompt(A, "<private>the secret plan</private>");
    turn.edit("a.txt", "one line\n", "one line\nprivately written\n");
    turn.end();
    work.check("a.txt", &["commit", "private"]);
    let shown = work.sandbox.longhaul(&["why", "a.txt:2", "--json"]).json();
    assert_eq!((&shown["session"], &shown["prompt_id"]), (&Value::Null, &Value::Null), "{shown}");
}

#[test]
fn a_private_turn_without_the_id_of_a_prompt_says_nothing_more_either() {
    let work = Work::new("a.txt", "one line\n");
    for (text, line) in [("<private>the secret plan</private>", "secretly"), ("the public plan", "publicly")] {
        let of_turn = |more: Value| with(json!({ "session_id": A, "prompt_id": null }), &more);
        let ended = work.snapshots().iter().filter(|one| one["kind"] == "end").count();
        work.fire("longhaul-user-prompt-submit", "UserPromptSubmit", &of_turn(json!({ "prompt": text })));
        wait_until(DEADLINE, "the snapshot of the prompt", || {
            work.snapshots().iter().filter(|one| one["kind"] == "prompt").count() > ended
        });
        work.change("a.txt", "one line\n", &format!("one line\nwritten {line}\n"));
        let call = json!({ "tool_name": "Bash", "tool_input": { "command": format!("echo {line}") }, "tool_response": {},
            "tool_use_id": format!("toolu_{line}") });
        work.fire("longhaul-post-tool-use", "PostToolUse", &of_turn(call));
        let stop = json!({ "last_assistant_message": "Done.", "stop_hook_active": false });
        work.fire("longhaul-stop", "Stop", &of_turn(stop));
        wait_until(DEADLINE, "the snapshot at the end", || {
            work.snapshots().iter().filter(|one| one["kind"] == "end").count() > ended
        });
    }
    work.check("a.txt", &["commit", "command: the public plan", "private"]);
    // Also when nothing else of the session is left.
    fs::remove_file(work.sandbox.data_dir().join(format!("sessions/{A}.private"))).unwrap();
    work.check("a.txt", &["commit", "command: the public plan", "private"]);
}

#[test]
fn a_renamed_file_and_names_with_newlines_keep_their_lines() {
    let work = Work::new("a.txt", "one line of the old file\ntwo line of the old file\n");
    let mut turn = work.prompt(A, "extend it");
    turn.edit("a.txt", "two line", "new line of a prompt\ntwo line");
    turn.end();
    fs::rename(work.path("a.txt"), work.path("b\nc.txt")).unwrap();
    let mut turn = work.prompt(A, "more of it");
    turn.edit("b\nc.txt", "one line", "the top of it\none line");
    turn.write("new.txt", "made by a prompt\n");
    turn.end();
    let expected = ["prompt: more of it", "commit", "prompt: extend it", "commit"];
    assert_eq!(work.blame("b\nc.txt")[..3], expected[..3]);
    assert_eq!(work.blame("new.txt"), ["prompt: more of it"]);
}

#[test]
fn what_has_no_lines_or_is_no_file_is_named_with_the_reason() {
    let work = Work::new("a.txt", "one line\n");
    work.prompt(A, "look").end();
    fs::write(work.path("data.bin"), [0, 1, 2, 0]).unwrap();
    // It may lead to a file that snapshots leave out.
    std::os::unix::fs::symlink("a.txt", work.path("link.txt")).unwrap();
    for (args, message) in [
        (&["blame", "data.bin"][..], "is not text"),
        (&["blame", "gone.txt"], "gone.txt"),
        (&["blame", "link.txt"], "link.txt"),
        (&["blame", "a.txt:7"], "has only 1 line"),
        (&["why", "a.txt"], "name one line, such as a.txt:12"),
        (&["blame", "../outside"], "is not in this work tree"),
        (&["blame", ".git/HEAD"], ".git/HEAD"),
        (&["blame", "--export", "notes", "--commit=--help"], "names no commit"),
    ] {
        let outcome = work.sandbox.longhaul(args);
        assert!(outcome.status == Some(1) && outcome.stderr.contains(message), "{args:?}: {outcome:?}");
    }
}

#[test]
fn a_hostile_repository_runs_nothing() {
    let work = Work::new("a.txt", "one line\n");
    let mut turn = work.prompt(A, "change it");
    turn.edit("a.txt", "one line\n", "one line\ntwo line\n");
    turn.end();
    work.commit("second");
    let mark = work.sandbox.path("was-run");
    let run = format!("!touch {}", mark.display());
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "diff.external",
        "alias.blame",
        "alias.notes",
        "core.sshCommand",
        "gpg.program",
        "diff.x.textconv",
        "filter.x.clean",
    ] {
        work.git(&["config", key, &run]);
    }
    work.git(&["config", "commit.gpgSign", "true"]);
    work.write(".gitattributes", "* diff=x filter=x\n");
    for hook in ["post-commit", "reference-transaction", "post-rewrite", "pre-commit", "prepare-commit-msg"] {
        let path = work.path(".git/hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let _ = fs::remove_file(&mark);
    for args in [
        &["blame", "a.txt"][..],
        &["why", "a.txt:2"],
        &["blame", "--export", "notes"],
        &["blame", "--export", "agent-trace"],
    ] {
        let outcome = work.sandbox.longhaul(args);
        assert_eq!(outcome.status, Some(0), "{args:?}: {outcome:?}");
        assert!(!mark.exists(), "{args:?} has run a program of the repository");
    }
}

#[test]
fn the_viewer_and_the_model_are_told_of_files_in_snapshots_and_of_no_others() {
    let work = Work::new("lib.rs", "the first committed line\n");
    work.write(".gitignore", ".env\n");
    work.write(".env", "a line that nobody may see\n");
    std::os::unix::fs::symlink(".env", work.path("link.txt")).unwrap();
    let mut turn = work.prompt(A, "add a reader");
    turn.edit("lib.rs", "the first committed line\n", "the first committed line\nfn reader() {}\n");
    turn.end();
    let served = Served::new(&work.sandbox);
    let why = |path: &str, more: &str| served.get(&format!("/api/why?session={A}&path={path}{more}"));
    let found = why("lib.rs", "&line=2");
    assert!(found.status == 200 && found.body.contains("add a reader"), "{found:?}");
    let found = why(work.path("lib.rs").to_str().unwrap(), "");
    assert!(found.status == 200 && found.body.contains("add a reader"), "{found:?}");
    let mut model = memory_mcp::Client::connected(&work.sandbox);
    let told = model.ok("why", json!({ "file": work.path("lib.rs"), "line": 2 }));
    assert!(told.contains("add a reader"), "{told}");
    for file in [".env", "link.txt", "../x", "/etc/passwd", ""] {
        let found = why(file, "&line=1");
        assert!(found.status >= 400 && !found.body.contains("nobody may see"), "{file}: {found:?}");
        let told = model.error("why", json!({ "file": work.path(file), "line": 1 }));
        assert!(!told.contains("nobody may see"), "{told}");
    }
    let stranger = [("Host".to_owned(), format!("127.0.0.1:{}", served.port))];
    assert_eq!(served.ask("GET", &format!("/api/why?session={A}&path=lib.rs"), &stranger, b"").status, 401);
}

#[test]
fn the_client_says_which_of_two_commands_changed_a_file() {
    let work = Work::new("lib.rs", "the first committed line\n");
    let mut turn = work.prompt(A, "rename it");
    turn.command("make check", |_| {});
    work.change("lib.rs", "first", "renamed");
    let diff = json!({ "files": [], "moreFiles": 0, "changedFiles": [work.path("lib.rs")] });
    let response = json!({ "stdout": "", "stderr": "", "bashEditDiff": diff });
    turn.call("Bash", &json!({ "command": "sed -i s/first/renamed/ lib.rs" }), &response, None);
    turn.end();
    let told = work.sandbox.longhaul(&["why", "lib.rs:1"]).stdout;
    assert!(told.contains("sed -i s/first/renamed/") && !told.contains("make check"), "{told}");
}
