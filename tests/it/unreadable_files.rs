//! Files of a project or a client that block on opening, or have no end: every hook still answers.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::poll::becomes_true;
use crate::sandbox::{Sandbox, payload, with};

/// How long an executable may take: far below the client's limit on an idle machine, and still enough on a busy one.
const PROMPTLY: Duration = Duration::from_secs(10);

/// What stands in place of a file.
#[derive(Debug, Clone, Copy)]
enum Trap {
    /// A pipe that nobody writes to: opening it blocks.
    Fifo,
    /// A link to a file without an end.
    Endless,
    /// A file that is larger than any memory.
    Huge,
}

const TRAPS: [Trap; 3] = [Trap::Fifo, Trap::Endless, Trap::Huge];

impl Trap {
    fn set(self, path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(path);
        match self {
            Self::Fifo => mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
            Self::Endless => symlink("/dev/zero", path).unwrap(),
            Self::Huge => File::create(path).unwrap().set_len(1 << 41).unwrap(),
        }
    }
}

/// Runs a command to its end; fails where it does not end promptly.
#[track_caller]
fn promptly(command: &mut Command, stdin: &str, about: &str) -> String {
    let input = tempfile::NamedTempFile::new().unwrap();
    fs::write(input.path(), stdin).unwrap();
    let output = tempfile::NamedTempFile::new().unwrap();
    command.stdin(File::open(input.path()).unwrap()).stdout(output.reopen().unwrap()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut status = None;
    becomes_true(PROMPTLY, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    if status.is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("{about} did not end within {PROMPTLY:?}");
    }
    assert!(status.unwrap().success(), "{about}: {status:?}");
    fs::read_to_string(output.path()).unwrap()
}

/// Fires the hooks that read most, and renders the status line.
#[track_caller]
fn everything_answers(sandbox: &Sandbox, transcript: &Path, about: &str) {
    let project = sandbox.project();
    let own = std::process::id().to_string();
    let events = [
        ("longhaul-session-start", "SessionStart", json!({})),
        ("longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": "work" })),
        ("longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": "·" })),
        ("longhaul-post-tool-use", "PostToolUse", json!({})),
        ("longhaul-stop", "Stop", json!({})),
    ];
    for (executable, name, changes) in events {
        let all = with(json!({ "session_id": "trapped", "cwd": project, "transcript_path": transcript }), &changes);
        let mut command = sandbox.executable(executable);
        command.env("CLAUDE_PROJECT_DIR", &project).env("CLAUDE_PID", &own);
        let answer = promptly(&mut command, &payload(name, all), &format!("{name} with {about}"));
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert!(answer.is_object(), "{name} with {about}: {answer}");
    }
    let input =
        json!({ "workspace": { "current_dir": project }, "session_id": "trapped", "transcript_path": transcript });
    let shown = promptly(sandbox.executable("longhaul").arg("statusline"), &input.to_string(), about);
    assert!(shown.contains("project"), "{about}: {shown}");
}

fn repository(sandbox: &Sandbox) -> PathBuf {
    let git = sandbox.project().join(".git");
    fs::create_dir_all(git.join("refs/heads")).unwrap();
    fs::create_dir_all(git.join("objects")).unwrap();
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    git
}

#[track_caller]
fn check(file: impl Fn(&Sandbox) -> PathBuf) {
    for trap in TRAPS {
        let sandbox = Sandbox::new().impatient();
        sandbox.write_config(r#"{"continuation":{"at":"on"},"guard":{"compact_percent":0.76,"deny_percent":0.85}}"#);
        let git = repository(&sandbox);
        let path = file(&sandbox);
        if path == git {
            fs::remove_dir_all(&git).unwrap();
        }
        trap.set(&path);
        let transcript = sandbox.path("transcript.jsonl");
        let name = path.strip_prefix(sandbox.path("")).unwrap().display().to_string();
        everything_answers(&sandbox, &transcript, &format!("{trap:?} {name}"));
    }
}

#[test]
fn head_of_a_repository() {
    check(|sandbox| sandbox.project().join(".git/HEAD"));
}

#[test]
fn git_file_of_a_worktree() {
    check(|sandbox| sandbox.project().join(".git"));
}

#[test]
fn folder_that_worktrees_share() {
    check(|sandbox| sandbox.project().join(".git/commondir"));
}

#[test]
fn loose_and_packed_references() {
    check(|sandbox| sandbox.project().join(".git/refs/heads/main"));
    check(|sandbox| sandbox.project().join(".git/packed-refs"));
}

#[test]
fn index_of_a_repository() {
    check(|sandbox| {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        fs::write(sandbox.project().join(".git/refs/heads/main"), hash).unwrap();
        sandbox.project().join(".git/index")
    });
}

#[test]
fn config_of_a_project() {
    check(|sandbox| sandbox.project().join(".claude/longhaul.json"));
}

#[test]
fn transcript_of_a_session() {
    check(|sandbox| sandbox.path("transcript.jsonl"));
}

#[test]
fn record_and_settings_of_the_client() {
    check(|sandbox| sandbox.home().join(format!(".claude/sessions/{}.json", std::process::id())));
    check(|sandbox| sandbox.home().join(".claude/settings.json"));
    check(|sandbox| sandbox.home().join(".claude.json"));
}

#[test]
fn handoff_of_a_project() {
    check(|sandbox| sandbox.project().join(".claude/handoff.md"));
}
