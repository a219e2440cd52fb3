//! Codex's hooks, with what version 0.166 sends and the rollout that it wrote.

mod handoff;
mod payloads;
mod recall;
mod rewinds;
mod setup;
mod written_rollout;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::{Outcome, Sandbox, bin_dir, with};

/// The session and its two turns, as recorded.
const SESSION: &str = "01a1de69-9a48-7213-b664-b016f981bf57";
const TURNS: [&str; 2] = ["01a1de69-9ac4-7953-9d76-6980e9a319d9", "01a1de69-9f67-72f0-a7f6-7273769de274"];

/// What may be nowhere in what is stored.
const HIDDEN: [&str; 2] = ["quittenmus", "sk-ant-api03-AAAA"];

fn recorded(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/codex").join(name)).unwrap()
}

/// Returns the rollout as it was when its first `turns` turns were over.
fn rollout(turns: usize) -> Vec<u8> {
    let text = String::from_utf8(recorded("rollout.jsonl")).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let ends: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("\"task_complete\"")).collect();
    lines[..=ends[turns - 1]].concat().into_bytes()
}

/// A home in which Codex has run.
struct Codex {
    sandbox: Sandbox,
    rollout: PathBuf,
}

impl Codex {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let dir = sandbox.home().join(".codex/sessions/2026/11/15");
        fs::create_dir_all(&dir).unwrap();
        let rollout = dir.join(format!("rollout-2026-11-15T08-53-45-{SESSION}.jsonl"));
        Self { sandbox, rollout }
    }

    fn at(self, ms: u64) -> Self {
        Self { sandbox: self.sandbox.at(ms), ..self }
    }

    fn hook(&self, event: &str, argument: &str, more: Value) -> Outcome {
        let payload = json!({
            "session_id": SESSION,
            "transcript_path": self.rollout,
            "cwd": self.sandbox.project(),
            "hook_event_name": event,
            "model": "gpt-5-codex",
            "permission_mode": "default",
        });
        let payload = with(payload, &more);
        let mut command = self.sandbox.executable("longhaul");
        let outcome = Outcome::of(command.args(["hook", "--codex", argument]), payload.to_string().as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        assert!(outcome.json()["continue"].is_boolean(), "{outcome:?}");
        outcome
    }

    fn stop(&self, turn: usize) -> Outcome {
        let reply = "The file says hello from the pane.";
        let more = json!({ "turn_id": TURNS[turn], "stop_hook_active": false, "last_assistant_message": reply });
        self.hook("Stop", "stop", more)
    }

    fn prompt(&self, turn: usize, text: &str) -> Outcome {
        self.hook("UserPromptSubmit", "user-prompt-submit", json!({ "turn_id": TURNS[turn], "prompt": text }))
    }

    /// Everything that is kept of what was said and done.
    fn kept(&self) -> Vec<Vec<String>> {
        [
            "SELECT session_id || ' ' || prompt_counter FROM sessions",
            "SELECT number || ' ' || coalesce(prompt, '') || ' → ' || coalesce(reply, '') FROM turns ORDER BY number",
            "SELECT kind || ' ' || tool_name || ' ' || source_id FROM details ORDER BY rowid",
            "SELECT prompt_number || ' ' || prompt FROM prompts ORDER BY id",
            "SELECT kind || ': ' || title FROM observations ORDER BY id",
            "SELECT request FROM session_summaries ORDER BY id",
        ]
        .map(|sql| self.sandbox.rows(sql))
        .into()
    }

    #[track_caller]
    fn nothing_hidden_is_anywhere(&self) {
        let folder = self.sandbox.data_dir();
        let grep = |what: &str| self.sandbox.program("grep").args(["-rlaF", what]).arg(&folder).output().unwrap();
        for hidden in HIDDEN {
            assert_eq!(String::from_utf8_lossy(&grep(hidden).stdout), "", "{hidden}");
        }
        assert_eq!(self.sandbox.error_log(), "");
    }
}

#[test]
fn stop_alone_stores_every_turn_once_however_often_it_comes() {
    let codex = Codex::new();
    fs::write(&codex.rollout, rollout(1)).unwrap();
    codex.stop(0);
    fs::write(&codex.rollout, rollout(2)).unwrap();
    codex.stop(1);
    let kept = codex.kept();
    assert_eq!(kept[0], [format!("codex:{SESSION} 2")]);
    assert_eq!(
        kept[1],
        [
            "1 What does hello.txt say? → The file says hello from the pane.",
            "2 Run the tests with token [redacted] → The file says hello from the pane.",
        ]
    );
    assert_eq!(kept[3], ["1 What does hello.txt say?", "2 Run the tests with token [redacted]"]);
    assert_eq!(kept[4], ["command: Ran `cat hello.txt`", "problem: Failed: `cargo test --locked` (exit status 127)",]);
    assert_eq!(kept[5].len(), 2);
    codex.stop(1);
    assert_eq!(codex.kept(), kept);
    codex.nothing_hidden_is_anywhere();
    let found = codex.sandbox.longhaul(&["memory", "search", "cargo"]);
    assert!(found.stdout.contains("cargo test --locked"), "{found:?}");
}

#[test]
fn a_packed_rollout_is_read_where_the_plain_one_was_left() {
    let codex = Codex::new();
    fs::write(&codex.rollout, rollout(1)).unwrap();
    codex.stop(0);
    fs::remove_file(&codex.rollout).unwrap();
    fs::write(format!("{}.zst", codex.rollout.display()), recorded("rollout.jsonl.zst")).unwrap();
    codex.stop(1);
    let plain = Codex::new();
    fs::write(&plain.rollout, rollout(2)).unwrap();
    plain.stop(1);
    assert_eq!(codex.kept()[..2], plain.kept()[..2]);
    assert_eq!(codex.kept()[3..5], plain.kept()[3..5]);
    codex.nothing_hidden_is_anywhere();
}

#[test]
fn a_rollout_that_is_damaged_or_missing_costs_only_itself() {
    let codex = Codex::new();
    codex.stop(0);
    assert_eq!(
        codex.sandbox.rows("SELECT reply FROM turns WHERE provisional > 0"),
        ["The file says hello from the pane."]
    );
    fs::write(format!("{}.zst", codex.rollout.display()), b"no zstd").unwrap();
    codex.stop(0);
    assert!(codex.sandbox.error_log().contains("cannot read"), "{}", codex.sandbox.error_log());
}

#[test]
fn the_session_is_tracked_and_measured() {
    let codex = Codex::new();
    codex.hook("SessionStart", "session-start", json!({ "source": "startup" }));
    let status =
        |codex: &Codex| codex.sandbox.rows("SELECT agent_client || ' ' || session_id || ' ' || status FROM agents");
    assert_eq!(status(&codex), [format!("codex codex:{SESSION} idle")]);
    codex.prompt(0, "What does hello.txt say? <private>my pin is quittenmus</private>");
    assert_eq!(status(&codex), [format!("codex codex:{SESSION} working")]);
    let call = json!({ "turn_id": TURNS[0], "tool_name": "Bash", "tool_input": { "command": "cat hello.txt" } });
    codex.hook("PermissionRequest", "permission-request", call.clone());
    assert_eq!(status(&codex), [format!("codex codex:{SESSION} blocked")]);
    codex.hook("PostToolUse", "post-tool-use", call);
    assert_eq!(status(&codex), [format!("codex codex:{SESSION} working")]);
    fs::write(&codex.rollout, rollout(1)).unwrap();
    codex.stop(0);
    assert_eq!(status(&codex), [format!("codex codex:{SESSION} completed")]);
    let table = codex.sandbox.longhaul(&["status"]).stdout;
    assert!(table.contains(" (codex) "), "{table}");
    let monitor = codex.sandbox.longhaul(&["monitor", "--once", "--json"]).json();
    assert_eq!(monitor.as_array().unwrap().len(), 1);
    let row = &monitor[0];
    assert_eq!((&row["session"], &row["model"]), (&json!(format!("codex:{SESSION}")), &json!("gpt-5-codex")));
    assert_eq!((&row["used_tokens"], &row["window_tokens"]), (&json!(1450), &json!(258_400)));
    assert_eq!(codex.kept()[3], ["1 What does hello.txt say?"], "told by two hooks, remembered once");
    let names: Vec<_> = fs::read_dir(codex.sandbox.data_dir().join("sessions")).unwrap().flatten().collect();
    assert!(names.iter().all(|entry| entry.file_name().to_str().unwrap().starts_with(&format!("codex_{SESSION}"))));
    codex.hook("SessionEnd", "session-end", json!({ "reason": "other" }));
    assert_eq!(status(&codex), Vec::<String>::new());
    codex.nothing_hidden_is_anywhere();
}

#[test]
fn nothing_of_a_private_turn_is_kept() {
    let codex = Codex::new();
    let text = String::from_utf8(rollout(1)).unwrap();
    let private = "<private>What does hello.txt say? my pin is quittenmus</private>";
    let text = text.replace("What does hello.txt say? <private>my pin is quittenmus</private>", private);
    fs::write(&codex.rollout, text).unwrap();
    codex.prompt(0, private);
    codex.stop(0);
    let kept = codex.kept();
    assert_eq!(kept[1..].concat(), Vec::<String>::new());
    codex.nothing_hidden_is_anywhere();
}

#[test]
fn a_session_of_another_client_does_not_inherit_it() {
    let codex = Codex::new();
    fs::write(&codex.rollout, rollout(2)).unwrap();
    codex.stop(1);
    let start = json!({
        "session_id": "after-clear",
        "cwd": codex.sandbox.project(),
        "hook_event_name": "SessionStart",
        "source": "clear",
    });
    let answer = codex.sandbox.hook("longhaul-session-start", start.to_string()).json();
    let message = answer["systemMessage"].as_str().unwrap_or_default().to_owned();
    assert!(!message.contains("went on from"), "{message}");
}

#[test]
fn past_rollouts_are_imported_plain_and_packed() {
    let codex = Codex::new();
    fs::write(&codex.rollout, recorded("rollout.jsonl")).unwrap();
    let archive = codex.sandbox.home().join(".codex/archived_sessions");
    fs::create_dir_all(&archive).unwrap();
    let other = "01a1de69-9a48-7213-b664-b016f981bf58";
    fs::write(archive.join(format!("rollout-2026-11-14T08-53-45-{other}.jsonl.zst")), recorded("rollout.jsonl.zst"))
        .unwrap();
    let import = || codex.sandbox.longhaul(&["memory", "import", "--json"]).json();
    let first = import();
    assert_eq!((&first["files"], &first["sessions"], &first["failed"]), (&json!(2), &json!(2), &json!([])), "{first}");
    assert_eq!(
        codex.sandbox.rows("SELECT session_id FROM sessions ORDER BY 1"),
        [format!("codex:{SESSION}"), format!("codex:{other}")]
    );
    let before = codex.kept();
    assert_eq!(import()["unchanged"], 2);
    codex.stop(1);
    assert_eq!(codex.kept()[1..5], before[1..5], "what was imported is not told again");
    codex.nothing_hidden_is_anywhere();
}

#[test]
fn install_puts_hooks_and_skill_beside_other_peoples_and_takes_them_away() {
    let codex = Codex::new();
    let (hooks, skill) = (codex.sandbox.home().join(".codex/hooks.json"), codex.sandbox.home().join(".agents"));
    let theirs = concat!(
        "{ \"hooks\" : {\n\t\"Stop\":[ { \"hooks\":[{\"type\":\"command\",  \"command\":\"say done\"}]} ]\n",
        "  } ,\n\n \"n\" :1.50, \"description\":\"mine\" }\n\n"
    );
    fs::write(&hooks, theirs).unwrap();
    let link = codex.sandbox.home().join(".local/bin/longhaul");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(bin_dir().join("longhaul"), &link).unwrap();
    let run = |args: &[&str]| codex.sandbox.longhaul(args);
    assert_eq!(run(&["install", "--codex", "--dry-run"]).status, Some(0));
    assert_eq!(fs::read_to_string(&hooks).unwrap(), theirs);
    let outcome = run(&["install", "--codex"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("/hooks"), "{outcome:?}");
    let text = fs::read_to_string(&hooks).unwrap();
    let command = format!("{} hook --codex stop", link.display());
    assert!(text.contains("say done") && text.contains(&command), "{text}");
    assert!(skill.join("skills/longhaul-memory/SKILL.md").is_file());
    assert_eq!(run(&["install", "--codex"]).stderr, "", "once more changes nothing");
    assert_eq!(fs::read_to_string(&hooks).unwrap(), text);
    assert_eq!(run(&["uninstall", "--codex"]).status, Some(0));
    assert_eq!(fs::read_to_string(&hooks).unwrap(), theirs);
    assert!(!skill.exists());
    run(&["install", "--codex"]);
    assert_eq!(run(&["uninstall", "--yes"]).status, Some(0));
    assert_eq!(fs::read_to_string(&hooks).unwrap(), theirs, "taking everything away takes this, too");
}

#[test]
fn install_says_what_it_cannot_do_and_leaves_the_file() {
    let codex = Codex::new();
    let hooks = codex.sandbox.home().join(".codex/hooks.json");
    fs::write(&hooks, "{ no json").unwrap();
    let outcome = codex.sandbox.longhaul(&["install", "--codex"]);
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.stderr.contains("hooks.json") && outcome.stderr.contains("not JSON"), "{outcome:?}");
    assert_eq!(fs::read_to_string(&hooks).unwrap(), "{ no json");
    let gone = codex.sandbox.longhaul(&["uninstall"]);
    assert_eq!(gone.status, Some(0), "the file has no hook of Longhaul: {gone:?}");
    fs::write(&hooks, "{ no json longhaul hook --codex stop").unwrap();
    let stays = codex.sandbox.longhaul(&["uninstall"]);
    assert!(stays.status == Some(1) && stays.stderr.contains("hooks.json"), "its hooks would fail: {stays:?}");
    fs::write(&hooks, "{}").unwrap();
    let skill = codex.sandbox.home().join(".agents/skills/longhaul-memory/SKILL.md");
    fs::create_dir_all(skill.parent().unwrap()).unwrap();
    fs::write(&skill, "somebody's own").unwrap();
    let outcome = codex.sandbox.longhaul(&["install", "--codex"]);
    assert!(outcome.status == Some(1) && outcome.stderr.contains("SKILL.md"), "{outcome:?}");
    assert_eq!(fs::read_to_string(&skill).unwrap(), "somebody's own");
    fs::remove_file(&skill).unwrap();
    fs::set_permissions(&hooks, fs::Permissions::from_mode(0o444)).unwrap();
    let outcome = codex.sandbox.longhaul(&["install", "--codex"]);
    assert!(outcome.status == Some(1) && outcome.stderr.contains("chmod u+w"), "{outcome:?}");
    let nowhere = Sandbox::new().longhaul(&["install", "--codex"]);
    assert!(nowhere.status == Some(1) && nowhere.stderr.contains("CODEX_HOME"), "{nowhere:?}");
    let both = codex.sandbox.longhaul(&["install", "--codex", "--hooks-only"]);
    assert_eq!(both.status, Some(2), "{both:?}");
}
