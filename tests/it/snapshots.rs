//! Snapshots of the files, through the hooks and the command line.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::poll::{DEADLINE, wait_for, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload, with};

mod folder_permissions;
mod full_disk;
mod interrupted;
mod many_sessions;
mod refused;
mod rewound;

/// A session in a repository.
struct Session {
    sandbox: Sandbox,
    id: &'static str,
}

impl Session {
    fn new() -> Self {
        let session = Self { sandbox: Sandbox::new(), id: "abcdef01-one" };
        session.git(&["init", "-q", "-b", "main"]);
        session.write("tracked.txt", "one\n");
        session.git(&["add", "."]);
        session.git(&["commit", "-qm", "one"]);
        session
    }

    fn git(&self, args: &[&str]) -> Outcome {
        self.git_in(&self.sandbox.project(), args)
    }

    fn git_in(&self, dir: &Path, args: &[&str]) -> Outcome {
        let mut git = self.sandbox.program("git");
        git.current_dir(dir).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        let outcome = Outcome::of(&mut git, b"");
        assert_eq!(outcome.status, Some(0), "git {args:?}: {outcome:?}");
        outcome
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.sandbox.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.sandbox.project().join(path)).unwrap_or_default()
    }

    /// Sends a prompt, and waits for its snapshot or for the reason why there is none.
    fn prompt(&self, text: &str) -> Value {
        let before = self.snapshots().len();
        self.send(text);
        wait_for(DEADLINE, "a snapshot", || {
            let all = self.snapshots();
            (all.len() > before).then(|| all.last().unwrap().clone())
        })
    }

    fn send(&self, text: &str) -> Outcome {
        self.fire("longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": text }))
    }

    /// Fires the hook of a recorded payload.
    fn fire(&self, executable: &str, name: &str, changes: Value) -> Outcome {
        let all = json!({
            "session_id": self.id, "cwd": self.sandbox.project(), "transcript_path": self.sandbox.path("transcript.jsonl"),
        });
        self.sandbox.hook(executable, payload(name, with(all, &changes)))
    }

    fn snapshots(&self) -> Vec<Value> {
        self.sandbox.longhaul(&["snapshots", "--json"]).json().as_array().unwrap().clone()
    }

    fn run(&self, args: &[&str]) -> Outcome {
        let outcome = self.sandbox.longhaul(args);
        assert_eq!(outcome.status, Some(0), "{args:?}: {outcome:?}");
        outcome
    }

    /// Returns every file of the work tree, `.git` apart.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = files_below(&self.sandbox.project());
        files.retain(|path, _| !path.components().any(|part| part.as_os_str() == ".git"));
        files
    }
}

fn files_below(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

fn number(snapshot: &Value) -> String {
    snapshot["id"].to_string()
}

/// Returns a session that has changed a file since its first snapshot, and the number of that.
fn changed() -> (Session, String) {
    let session = Session::new();
    let snapshot = number(&session.prompt("one"));
    session.write("tracked.txt", "two\n");
    (session, snapshot)
}

#[test]
fn a_prompt_takes_a_snapshot_and_one_command_brings_the_files_back() {
    let session = Session::new();
    session.write("new.txt", "untracked\n");
    let repository = files_below(&session.sandbox.project().join(".git"));
    let snapshot = session.prompt("do it");
    assert_eq!((&snapshot["kind"], &snapshot["skipped"]), (&json!("prompt"), &Value::Null), "{snapshot}");
    assert_eq!(snapshot["branch"], "main");
    let before = session.files();
    // What a shell command does, too.
    session.write("tracked.txt", "changed\n");
    fs::remove_file(session.sandbox.project().join("new.txt")).unwrap();
    session.write("extra/file", "x\n");
    let after = session.files();
    let shown = session.run(&["restore", &number(&snapshot), "--dry-run"]);
    for line in ["3 files to change: 1 written, 1 created, 1 deleted", "  write  tracked.txt", "  delete extra/file"] {
        assert!(shown.stdout.contains(line), "{line:?} in {shown:?}");
    }
    assert_eq!(session.files(), after, "a dry run changes nothing");
    let refused = session.sandbox.longhaul(&["restore", &number(&snapshot)]);
    assert!(refused.status == Some(1) && refused.stderr.contains("--yes"), "{refused:?}");
    session.run(&["restore", &number(&snapshot), "--yes"]);
    assert_eq!(session.files(), before);
    session.run(&["restore", "--undo", "--yes"]);
    assert_eq!(session.files(), after);
    assert_eq!(files_below(&session.sandbox.project().join(".git")), repository, "the repository is not changed");
    assert_eq!(session.sandbox.error_log(), "");
}

#[test]
fn a_bookmark_says_what_changed_since_the_one_before() {
    let session = Session::new();
    session.prompt("begin with the lamp");
    session.prompt("\u{b7}");
    session.write("tracked.txt", "one\ntwo\nthree\n");
    session.write("more.txt", "x\n");
    let call = json!({ "tool_name": "Bash", "tool_input": { "command": "make lamp" }, "tool_use_id": "toolu_lamp" });
    session.fire("longhaul-post-tool-use", "PostToolUse", call);
    session.prompt("\u{b7} before the rewrite");
    let listed = session.run(&["bookmarks"]).stdout;
    assert!(listed.contains("2 files +3 -0") && listed.contains("before the rewrite"), "{listed}");
    let json = session.run(&["bookmarks", "--json"]).json();
    assert_eq!(json[1]["changed"], json!({ "files": 2, "added": 3, "removed": 0 }));
    assert!(json[1]["snapshot"].is_i64());
    // The slash command is answered by the hook, without a request, and is no prompt.
    let before = session.snapshots().len();
    let lines = session.sandbox.log_lines(session.id).len();
    let answer = session.send("/longhaul:bookmarks").json();
    assert_eq!(answer["continue"], false, "{answer}");
    assert_eq!(answer["stopReason"], listed.trim(), "{answer}");
    assert_eq!((session.snapshots().len(), session.sandbox.log_lines(session.id).len()), (before, lines));
    // The hook of another job's bundle leaves the command to that of the bookmarks.
    let mut other = session.sandbox.executable("longhaul-user-prompt-submit");
    let asked = payload("UserPromptSubmit", json!({ "session_id": session.id, "prompt": "/longhaul:bookmarks" }));
    assert_eq!(Outcome::of(other.arg("tracker"), asked.as_bytes()).json()["continue"], true);
    let all = session.run(&["snapshots"]).stdout;
    assert!(all.contains("bookmark") && all.contains("before the rewrite"), "{all}");
    assert!(all.contains("nothing before it"), "{all}");
    // The one says what it was set in, the other what was done last.
    assert_eq!(json[0]["doing"], "begin with the lamp");
    assert!(json[1]["doing"].as_str().unwrap().contains("make lamp"), "{json}");
    assert!(listed.contains("begin with the lamp") && all.contains("make lamp"), "{listed}{all}");
}

/// Outside of a terminal that can be typed into: no bookmark, and one word about it; the snapshot is taken all the same.
#[test]
fn where_nothing_can_be_typed_the_work_has_snapshots_without_bookmarks() {
    let session = Session::new();
    session.sandbox.write_config(
        r#"{"bookmarks":{"thresholds":{"min_tool_calls":3,"cooldown_seconds":0}},"memory":{"enabled":false}}"#,
    );
    session.fire("longhaul-session-start", "SessionStart", json!({}));
    session.prompt("work");
    let taken = || session.snapshots().iter().filter(|one| one["kind"] == "bookmark").count();
    let (number, told) = (Cell::new(0), RefCell::new(Vec::new()));
    // A hook that has too little time left leaves the snapshot to the next call, so that their number is not known.
    let works_until = |what: &str, wanted: &dyn Fn() -> bool| {
        wait_until(DEADLINE, what, || {
            number.set(number.get() + 1);
            session.write("tracked.txt", &format!("{}\n", number.get()));
            let call = json!({ "tool_use_id": format!("t{}", number.get()) });
            let answer = session.fire("longhaul-post-tool-use", "PostToolUse", call).json();
            told.borrow_mut().extend(answer["systemMessage"].as_str().map(str::to_owned));
            wanted()
        });
    };
    works_until("a message", &|| !told.borrow().is_empty());
    works_until("a snapshot within the turn", &|| taken() >= 1);
    works_until("the next one", &|| taken() >= 2);
    let told = told.into_inner();
    let [message] = &told[..] else { panic!("told {told:?}") };
    assert!(
        message.starts_with("longhaul: no bookmarks in this session: no terminal that can be typed into"),
        "{message}"
    );
    assert_eq!(session.sandbox.longhaul(&["bookmarks", "--json"]).json(), json!([]));
}

#[test]
fn the_difference_is_shown_between_two_snapshots_and_now() {
    let session = Session::new();
    let first = number(&session.prompt("one"));
    session.write("tracked.txt", "two\n");
    let second = number(&session.prompt("two"));
    session.write("sub/late.txt", "late\n");
    let diff = session.run(&["diff", &first, &second]).stdout;
    assert!(diff.contains("-one\n+two\n") && !diff.contains("late"), "{diff}");
    let diff = session.run(&["diff", &first]).stdout;
    assert!(diff.contains("+two") && diff.contains("+late"), "{diff}");
    let diff = session.run(&["diff", &first, "--", "sub"]).stdout;
    assert!(!diff.contains("+two") && diff.contains("+late"), "{diff}");
    let stat = session.run(&["diff", &first, &second, "--stat"]).stdout;
    assert!(stat.contains("1 file changed"), "{stat}");
    let files = session.run(&["diff", &first, "--json"]).json();
    assert_eq!(files[0], json!({ "path": "sub/late.txt", "status": "A", "added": 1, "removed": 0 }));
}

#[test]
fn a_snapshot_is_named_by_time_and_by_last_and_another_sessions_only_with_its_session() {
    let session = Session::new();
    let first = session.prompt("one");
    session.write("tracked.txt", "two\n");
    session.prompt("two");
    session.write("tracked.txt", "three\n");
    session.run(&["restore", "last", "--yes"]);
    assert_eq!(session.read("tracked.txt"), "two\n");
    let at = jiff_local(&first);
    let shown = session.run(&["restore", &at, "--dry-run"]).stdout;
    assert!(shown.contains("Snapshot"), "{shown}");
    let early = session.sandbox.longhaul(&["restore", "2001-01-01 10:00", "--dry-run"]);
    assert!(early.stderr.contains("is as old as"), "{early:?}");
    // Another session in the same folder.
    let other = Session { sandbox: session.sandbox, id: "99999999-two" };
    let own = number(&other.prompt("other"));
    let mut command = other.sandbox.executable("longhaul");
    command.env("CLAUDE_CODE_SESSION_ID", other.id).args(["restore", &number(&first), "--dry-run"]);
    let refused = Outcome::of(&mut command, b"");
    assert!(refused.stderr.contains("add --session abcdef01"), "{refused:?}");
    other.run(&["restore", &number(&first), "--dry-run", "--session", "abcdef01"]);
    other.run(&["restore", &own, "--dry-run"]);
    let unknown = other.sandbox.longhaul(&["restore", "777", "--dry-run"]);
    assert!(unknown.status == Some(1) && unknown.stderr.contains("there is no snapshot 777"), "{unknown:?}");
}

/// Returns the minute of a snapshot with its date, as `detail` takes it. Tests run in UTC.
fn jiff_local(snapshot: &Value) -> String {
    snapshot["created_at"].as_str().unwrap()[..16].replace('T', " ")
}

#[test]
fn the_slash_command_shows_first_and_then_does_it_without_a_request() {
    let (session, snapshot) = changed();
    let shown = session.send(&format!("/longhaul:restore {snapshot}")).json();
    assert_eq!(shown["continue"], false);
    let text = shown["stopReason"].as_str().unwrap();
    assert!(text.contains("write  tracked.txt") && text.contains("add the word now"), "{text}");
    assert_eq!(session.read("tracked.txt"), "two\n");
    let done = session.send(&format!("/longhaul:restore {snapshot} now")).json();
    let text = done["stopReason"].as_str().unwrap();
    assert!(text.contains("Restored 1 file. `/longhaul:restore undo now` undoes it."), "{text}");
    let again = session.send(&format!("/longhaul:restore {snapshot}")).json();
    let text = again["stopReason"].as_str().unwrap();
    assert!(text.contains("No file differs.") && !text.contains("the word now"), "{text}");
    for (wrong, expected) in [("", "Which one?"), (" now", "Which one?"), (" 999", "there is no snapshot 999")] {
        let answer = session.send(&format!("/longhaul:restore{wrong}")).json();
        let text = answer["stopReason"].as_str().unwrap();
        assert!(text.contains(expected) && !text.contains("changed yet"), "{wrong}: {text}");
    }
    assert_eq!(session.read("tracked.txt"), "one\n");
    session.send("/longhaul:restore undo now");
    assert_eq!(session.read("tracked.txt"), "two\n");
    assert!(session.snapshots().iter().all(|one| one["kind"] != "prompt" || number(one) == snapshot));
}

#[test]
fn a_command_of_the_users_own_that_is_called_restore_is_a_prompt() {
    let (session, snapshot) = changed();
    let before = session.snapshots().len();
    let answer = session.send(&format!("/restore {snapshot} now")).json();
    assert_ne!(answer["continue"], false, "{answer}");
    wait_until(DEADLINE, "the snapshot of the prompt", || session.snapshots().len() > before);
    assert_eq!(session.snapshots().last().unwrap()["kind"], "prompt");
    assert_eq!(session.read("tracked.txt"), "two\n");
}

#[test]
fn the_slash_command_restores_nothing_if_snapshots_are_disabled() {
    let (session, snapshot) = changed();
    session.sandbox.write_config(r#"{"snapshots": {"enabled": false}}"#);
    let answer = session.send(&format!("/longhaul:restore {snapshot} now")).json();
    assert_eq!(answer["continue"], false, "it costs no request");
    assert!(answer["stopReason"].as_str().unwrap().contains("snapshots.enabled is false"), "{answer}");
    assert_eq!(session.read("tracked.txt"), "two\n");
    session.run(&["restore", &snapshot, "--yes"]);
    assert_eq!(session.read("tracked.txt"), "one\n", "the command line still can");
}

#[test]
fn only_a_persons_prompts_have_snapshots_and_none_if_they_are_disabled() {
    let session = Session::new();
    session.send("<task-notification>done</task-notification>");
    let start = json!({ "session_id": session.id, "cwd": session.sandbox.project() });
    session.sandbox.hook("longhaul-session-start", payload("SessionStart", start));
    wait_until(DEADLINE, "the first snapshot", || session.snapshots().len() == 1);
    assert_eq!(session.snapshots()[0]["kind"], "start");
    session.sandbox.write_config(r#"{"snapshots": {"enabled": false}}"#);
    session.send("a prompt");
    session.sandbox.write_config("{}");
    session.prompt("another");
    let kinds: Vec<Value> = session.snapshots().iter().map(|one| one["kind"].clone()).collect();
    assert_eq!(kinds, ["start", "prompt"]);
}

#[test]
fn outside_of_a_repository_the_list_says_why_there_is_no_snapshot() {
    let session = Session { sandbox: Sandbox::new(), id: "abcdef01-one" };
    // Only the start of a session and a bookmark start a process that says so.
    session.send("a prompt");
    let snapshot = session.prompt("\u{b7}");
    assert_eq!(snapshot["skipped"], "not in a git repository");
    assert_eq!(snapshot["kind"], "bookmark");
    assert_eq!(session.snapshots().len(), 1);
    assert!(session.run(&["bookmarks"]).stdout.contains("not in a git repository"));
    assert!(session.run(&["snapshots"]).stdout.contains("no snapshot: not in a git repository"));
    let failed = session.sandbox.longhaul(&["diff", "last"]);
    assert!(failed.stderr.contains("there are no snapshots here: not in a git repository"), "{failed:?}");
}

#[test]
fn what_was_left_out_is_said_in_the_list_and_before_a_restore() {
    let session = Session::new();
    session.write(".env", "TOKEN=1\n");
    let snapshot = session.prompt("one");
    assert_eq!(snapshot["left_out"], 1);
    assert!(session.run(&["snapshots"]).stdout.contains("not in it: .env (looks like a secret)"));
    session.write("tracked.txt", "two\n");
    let shown = session.run(&["restore", "last", "--yes"]).stdout;
    assert!(shown.contains("not in the snapshot: .env (looks like a secret)"), "{shown}");
    assert_eq!(session.read(".env"), "TOKEN=1\n");
}

#[test]
fn a_forgotten_session_takes_its_snapshots_along() {
    let session = Session::new();
    session.write("secret-plan.txt", "only in the snapshot\n");
    session.prompt("one");
    session.run(&["memory", "forget", "--session", session.id, "--yes"]);
    assert_eq!(session.snapshots(), Vec::<Value>::new());
    let store = session.sandbox.data_dir().join("snapshots");
    let left = fs::read_dir(store).map_or(0, Iterator::count);
    assert_eq!(left, 0, "nothing of the files is left");
}

#[test]
fn everything_that_is_stored_can_be_read_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    fn check(path: &Path) {
        let mode = path.symlink_metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
        for entry in fs::read_dir(path).into_iter().flatten() {
            check(&entry.unwrap().path());
        }
    }
    let session = Session::new();
    session.write("new.txt", "x\n");
    session.prompt("\u{b7} note");
    session.write("tracked.txt", "two\n");
    session.run(&["restore", "last", "--yes"]);
    session.run(&["memory", "upkeep"]);
    check(&session.sandbox.data_dir().join("snapshots"));
    assert_eq!(session.sandbox.error_log(), "");
}
