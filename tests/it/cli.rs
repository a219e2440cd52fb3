//! The command line: its answers, and its errors.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::{Sandbox, payload};

fn show(sandbox: &Sandbox, args: &[&str]) -> String {
    let outcome = sandbox.longhaul(args);
    let root = sandbox.path("").display().to_string();
    format!("exit {:?}\n{}--\n{}", outcome.status.unwrap_or(-1), outcome.stdout, outcome.stderr).replace(&root, "~/")
}

#[test]
fn bookmarks_are_listed_with_commit_context_and_note() {
    let sandbox = Sandbox::new().at(1_794_707_999_000).with_env("TZ", "UTC");
    sandbox.write_config(r#"{"snapshots": {"enabled": false}}"#);
    let git = |args: &[&str]| {
        let status = sandbox.program("git").args(args).output().unwrap().status;
        assert!(status.success(), "git {args:?}");
    };
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    git(&["init", "-q"]);
    fs::write(sandbox.project().join("f"), "1").unwrap();
    git(&["add", "f"]);
    git(&[&identity[..], &["commit", "-qm", "one"]].concat());
    fs::write(sandbox.project().join("f"), "2").unwrap();
    let transcript = sandbox.path("t.jsonl");
    fs::write(&transcript, "{\"message\":{\"usage\":{\"input_tokens\":41500}}}\n").unwrap();
    let mark = |prompt: &str| {
        let input = json!({ "prompt": prompt, "cwd": sandbox.project(), "transcript_path": transcript });
        sandbox.hook("longhaul-user-prompt-submit", payload("UserPromptSubmit", input));
    };
    mark("·");
    mark("· a \u{1b}[31mred\u{1b}[0m note");
    let head = sandbox.program("git").args(["rev-parse", "--short=8", "HEAD"]).output();
    let head = String::from_utf8(head.unwrap().stdout).unwrap();
    assert_snapshot!(show(&sandbox, &["bookmarks"]).replace(head.trim(), "[commit]"), @r"
    exit 0
    TIME                 SESSION   COMMIT     CONTEXT  SNAPSHOT  CHANGED  PROMPT OR LAST ACTION  NOTE
    2026-11-15 01:59:59  890a2a53  [commit]+      42k         -  -
    2026-11-15 01:59:59  890a2a53  [commit]+      42k         -  -                               a [31mred[0m note
    --
    ");
    let listed = sandbox.longhaul(&["bookmarks", "--json"]).json();
    assert_eq!(listed[0]["git_dirty"], true);
    assert_eq!(listed[0]["created_at"], "2026-11-15T01:59:59Z");
    assert_eq!(listed[0]["context_tokens"], 41500);
}

#[test]
fn without_bookmarks_it_says_how_they_are_set() {
    let sandbox = Sandbox::new();
    assert_snapshot!(show(&sandbox, &["bookmarks"]), @r"
    exit 0
    --
    No bookmarks yet. They are set automatically in long turns; `longhaul bookmark NOTE` sets one now.
    ");
    assert_eq!(sandbox.longhaul(&["bookmarks", "--json"]).stdout, "[]\n");
    assert!(!sandbox.data_dir().exists());
}

#[test]
fn errors_name_the_thing_and_the_fix() {
    let sandbox = Sandbox::new();
    assert_snapshot!(show(&sandbox, &["bookmark", "x"]), @r"
    exit 1
    --
    longhaul: no Claude Code session was found in this pane, and not exactly one runs: run this in the pane of a session, or name one with --session ID (`longhaul status --json` lists them)
    ");
    assert_snapshot!(show(&sandbox, &["bookmark", "--session", "abc", "x"]), @r#"
    exit 1
    --
    longhaul: no session has an id that begins with "abc"
    "#);
    assert_snapshot!(show(&sandbox, &["reopen", "--since", "nonsense"]), @r#"
    exit 1
    --
    longhaul: "nonsense" is not a time: write it as 90m, 12h, 3d or 2026-01-31
    "#);
    assert_eq!(sandbox.longhaul(&["bookmark"]).status, Some(2));
    assert_eq!(sandbox.longhaul(&["frobnicate"]).status, Some(2));
    fs::create_dir_all(sandbox.data_dir()).unwrap();
    fs::write(sandbox.data_dir().join("longhaul.db"), "x".repeat(4096)).unwrap();
    assert_snapshot!(show(&sandbox, &["bookmarks"]), @r"
    exit 1
    --
    longhaul: the database was damaged; it was renamed to ~/data/longhaul.db.damaged-1, a new one is created, and what can be read is salvaged in the background: cannot open the database ~/data/longhaul.db: file is not a database
    ");
}

#[test]
fn a_session_without_a_terminal_says_why_it_cannot_be_bookmarked() {
    let sandbox = Sandbox::new();
    sandbox.hook("longhaul-session-start", payload("SessionStart", json!({ "session_id": "bare" })));
    assert_snapshot!(show(&sandbox, &["bookmark", "--session", "bare", "x"]), @r"
    exit 1
    --
    longhaul: cannot type into session bare: no terminal that can be typed into: run Claude Code in tmux, GNU screen, zellij, WezTerm or kitty
    ");
}

#[test]
fn the_config_is_shown_found_and_checked() {
    let sandbox = Sandbox::new();
    assert_snapshot!(show(&sandbox, &["config", "path"]), @r"
    exit 0
    ~/data/config.json
    --
    ");
    assert_snapshot!(show(&sandbox, &["config", "check"]), @r"
    exit 0
    --
    ~/data/config.json: does not exist, every default is in force
    ");
    sandbox.write_config(r#"{"bookmarks":{"thresholds":{"min_tokens":null}},"typo":1}"#);
    assert_snapshot!(show(&sandbox, &["config", "check"]), @r"
    exit 1
    typo: no such key: ignored
    bookmarks.thresholds.min_tokens: null is not a whole number from 0 to 1000000000000: the default 6000 is in force
    --
    ~/data/config.json: 2 problems
    ");
    let shown = sandbox.longhaul(&["config", "show", "--json"]);
    assert_eq!(shown.json()["config"]["bookmarks"]["thresholds"]["min_tokens"], 6000);
    assert!(shown.stderr.contains("min_tokens"), "{}", shown.stderr);
    let schema = sandbox.longhaul(&["config", "schema"]).json();
    assert_eq!(schema["properties"]["bookmarks"]["properties"]["marker"]["type"], "string");
}

#[test]
fn a_value_is_set_and_unset_and_the_rest_of_the_file_stays() {
    let sandbox = Sandbox::new();
    assert_eq!(
        show(&sandbox, &["config", "set", "bookmarks.enabled", "false"]),
        "exit 0\nbookmarks.enabled = false\n--\n"
    );
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = sandbox.data_dir().join("config.json");
    assert_eq!((mode(&file), mode(&sandbox.data_dir())), (0o600, 0o700));
    let text = "{\"worker\" : {\"port\":37777},\n   \"bookmarks\":{ \"enabled\":false }}";
    sandbox.write_config(text);
    show(&sandbox, &["config", "set", "worker.port", "4000"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), text.replace("37777", "4000"));
    let refused = sandbox.longhaul(&["config", "set", "worker.port", "many"]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("config.json was not changed: worker.port: \"many\" is not"), "{refused:?}");
    let unset = |key: &str| sandbox.longhaul(&["config", "unset", key]).status;
    assert_eq!((unset("worker.port"), unset("worker.port"), unset("worker.prot")), (Some(0), Some(1), Some(1)));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n   \"bookmarks\":{ \"enabled\":false }}");
}

#[test]
fn a_bad_value_is_named_with_its_range_and_a_mistyped_key_with_the_right_one() {
    let sandbox = Sandbox::new();
    sandbox.write_config("\u{feff}{\"continuation\":{\"at\":75,\"max_round\":3},\"worker\":{\"port\":80000}}");
    assert_snapshot!(show(&sandbox, &["config", "check"]), @r#"
    exit 1
    continuation.max_round: no such key (did you mean continuation.max_rounds?): `continuation.at` is off until it is corrected
    continuation.at: 75 is not on, off, a share from 0.01 to 1, a number from 1000 to 1000000000, or a list of such (did you mean 0.75?): the default "off" is in force
    worker.port: 80000 is not a whole number from 0 to 65535: the default 37777 is in force
    --
    ~/data/config.json: 3 problems
    "#);
    // The mark alone is no problem.
    sandbox.write_config("\u{feff}{\"memory\":{\"enabled\":false}}");
    assert_eq!(sandbox.longhaul(&["config", "check"]).status, Some(0));
    let shown = sandbox.longhaul(&["config", "show"]).stdout;
    let row =
        |key: &str| shown.lines().find(|line| line.starts_with(key)).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(row("memory.enabled"), ["memory.enabled", "user", "false"]);
    assert_eq!(row("worker.port"), ["worker.port", "default", "37777"]);
    fs::create_dir_all(sandbox.project().join(".claude")).unwrap();
    fs::write(sandbox.project().join(".claude/longhaul.json"), r#"{"continuation":{"at":75}}"#).unwrap();
    let checked = sandbox.longhaul(&["config", "check"]);
    assert_eq!(checked.status, Some(1));
    assert!(checked.stdout.starts_with(".claude/longhaul.json: continuation.at: 75 is not"), "{checked:?}");
    let disabled = sandbox.with_env("LONGHAUL_DISABLE", "1").longhaul(&["config", "show"]).stdout;
    assert!(disabled.contains("the hooks do nothing"), "{disabled}");
}

#[test]
fn completions_and_man_pages_have_every_command() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.longhaul(&["completions", shell]);
        assert_eq!((script.status, script.stderr.as_str()), (Some(0), ""));
        assert!(script.stdout.contains("import") && script.stdout.contains("dry-run"), "{shell}");
    }
    assert_eq!(sandbox.longhaul(&["completions", "nonsense"]).status, Some(2));
    let folder = sandbox.path("man");
    assert_eq!(sandbox.longhaul(&["man", folder.to_str().unwrap()]).status, Some(0));
    let page = std::fs::read_to_string(folder.join("longhaul.1")).unwrap();
    assert!(page.contains("longhaul\\-import(1)"), "{page}");
    assert!(folder.join("longhaul-memory-search.1").exists());
}
