use serde_json::{Value, json};

use crate::{Call, Kind, Observation, RawCall, command_key, fix_of, observe};

fn bash(command: &str, response: &Value, is_error: bool) -> Call {
    let (input, response) = (json!({ "command": command }).to_string(), response.to_string());
    let raw =
        RawCall { tool_use_id: "t", tool: "Bash", input: &input, response: &response, is_error, ..RawCall::default() };
    Call::new(&raw)
}

fn seen(command: &str, response: &Value, is_error: bool) -> Observation {
    observe(&bash(command, response, is_error), None).unwrap()
}

fn printed(stdout: &str) -> Value {
    json!({ "stdout": stdout, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false })
}

#[track_caller]
fn check(command: &str, response: &Value, is_error: bool, kind: Kind, title: &str) {
    let observation = seen(command, response, is_error);
    assert_eq!((observation.kind, observation.title.as_str()), (kind, title));
}

#[test]
fn a_command_is_told_with_its_outcome() {
    check("echo hi", &printed("hi"), false, Kind::Command, "Ran `echo hi`");
    check("exit 3", &json!("Exit code 3\nout\nerr"), true, Kind::Command, "Ran `exit 3` (exit status 3)");
    check(
        "sleep 9",
        &json!({ "stdout": "", "interrupted": true }),
        false,
        Kind::Command,
        "Ran `sleep 9` (interrupted)",
    );
    let background = json!({ "stdout": "", "backgroundTaskId": "b1" });
    check("npm run dev", &background, false, Kind::Command, "Started `npm run dev` in the background");
}

#[test]
fn the_files_that_the_client_says_a_command_changed_are_kept() {
    let mut response = printed("ok");
    response["bashEditDiff"] = json!({ "files": [], "moreFiles": 0, "changedFiles": ["/p/src/a.rs", "/q/b.rs"] });
    let changed = |response: &Value| observe(&bash("fmt", response, false), Some("/p")).unwrap().files_modified;
    assert_eq!(changed(&response), ["src/a.rs", "/q/b.rs"]);
    response["bashEditDiff"]["shared"] = json!(true);
    assert_eq!(changed(&response), [""; 0], "another command ran at the same time");
}

#[test]
fn the_narrative_has_command_and_output() {
    let observation = seen("echo hi", &json!({ "stdout": "\u{1b}[31mhi\u{1b}[0m", "stderr": "warned" }), false);
    assert_eq!(observation.narrative, "$ echo hi\nhi\nwarned");
    assert_eq!(seen("true", &printed(""), false).narrative, "$ true");
}

#[test]
fn a_test_or_build_that_fails_is_a_problem() {
    let failed = json!("Exit code 101\nerror[E0308]: mismatched types\n");
    check("cargo test -p x", &failed, true, Kind::Problem, "Failed: `cargo test -p x` (exit status 101)");
    assert_eq!(seen("cargo test", &failed, true).facts, ["exit status 101", "error[E0308]: mismatched types"],);
    let piped = printed("running 1 test\ntest result: FAILED. 0 passed; 1 failed\n");
    check("cargo test 2>&1 | tail -5", &piped, false, Kind::Problem, "Failed: `cargo test 2>&1 | tail -5`");
    check("cat log", &piped, false, Kind::Command, "Ran `cat log`");
    for key in ["exitCode", "exit_code", "returnCode"] {
        let ended = |status: u8| json!({ "stdout": "", key: status });
        check("cargo test", &ended(101), false, Kind::Problem, "Failed: `cargo test` (exit status 101)");
        check("cargo test", &ended(0), false, Kind::Command, "Ran `cargo test`");
    }
}

#[test]
fn tests_and_builds_are_known() {
    let failed = json!("Exit code 1");
    for command in [
        "cargo test",
        "cd a && cargo +nightly clippy --all",
        "RUST_LOG=1 cargo nextest run",
        "npm test",
        "npm run build:web",
        "pnpm lint",
        "npx tsc --noEmit",
        "pytest -x",
        "python -m pytest",
        "python3 -m unittest",
        "uv run pytest",
        "go test ./...",
        "make",
        "make -j4 all",
        "./gradlew build",
        "./run-tests.sh",
        "bash scripts/test.sh",
        "timeout 60 cargo check",
        "cmake --build build",
        "yarn test",
        "sudo -E make",
        "env -i timeout 5m npm test",
    ] {
        assert_eq!(seen(command, &failed, true).kind, Kind::Problem, "{command}");
    }
    for command in [
        "ls",
        "cargo run",
        "npm install",
        "git commit -m test",
        "cat test.sh",
        "grep -r make .",
        "python app.py",
        "go run .",
        "/bin/ls",
        "test -f x",
    ] {
        assert_eq!(seen(command, &failed, true).kind, Kind::Command, "{command}");
    }
}

#[test]
fn the_same_command_has_the_same_key() {
    let key = |command: &str| command_key(&bash(command, &printed(""), false));
    for same in [
        "cargo  test",
        "cd /a/b && cargo test",
        "cargo test 2>&1 | tail -20",
        "cargo test | grep x | head",
        "cargo test;",
    ] {
        assert_eq!(key(same).as_deref(), Some("cargo test"), "{same}");
    }
    assert_ne!(key("cargo test -p a"), key("cargo test -p b"));
    assert_eq!(key(""), None);
    assert_eq!(command_key(&bash("make", &json!({ "interrupted": true }), false)), None);
    assert_eq!(command_key(&bash("make", &json!({ "backgroundTaskId": "b" }), false)), None);
    assert_eq!(command_key(&bash("make", &json!("User rejected tool use"), true)), None);
    assert!(command_key(&bash("make", &json!("Exit code 2"), true)).is_some());
    let raw = RawCall { tool_use_id: "t", tool: "Read", input: "{\"command\":\"x\"}", ..RawCall::default() };
    assert_eq!(command_key(&Call::new(&raw)), None);
}

#[test]
fn a_success_after_a_problem_is_a_fix() {
    let fix = |response: &Value, is_error| {
        let call = bash("cargo test", response, is_error);
        fix_of(&call, command_key(&call).as_deref(), &observe(&call, None).unwrap())
    };
    let fixed = fix(&printed("ok"), false).unwrap();
    assert_eq!((fixed.kind, fixed.title.as_str()), (Kind::Fix, "Fixed: `cargo test` passes again"));
    assert_eq!(fix(&json!("Exit code 2"), true), None);
    let call = bash("cargo test", &printed("ok"), false);
    assert_eq!(fix_of(&call, None, &observe(&call, None).unwrap()), None);
}

#[test]
fn the_output_of_a_check_says_that_it_failed() {
    for line in [
        "=== 1 failed, 2 passed in 3s ===",
        "Tests:       1 failed, 4 passed",
        "make[1]: *** [all] Error 2",
        "src/a.ts(3,4): error TS2304: Cannot find name",
    ] {
        assert_eq!(seen("make", &printed(line), false).kind, Kind::Problem, "{line}");
    }
    for line in ["=== 3 passed ===", "Tests: 4 passed", "none failed", "make: Nothing to be done", "a: *** b"] {
        assert_eq!(seen("make", &printed(line), false).kind, Kind::Command, "{line}");
    }
}

#[test]
fn a_failure_is_described_by_its_status_and_its_errors() {
    check("frobnicate", &json!("it broke"), true, Kind::Command, "Ran `frobnicate` (failed)");
    let panicked = json!("Exit code 101\nthread 'main' panicked at src/a.rs:1\nnote: more");
    assert_eq!(seen("x", &panicked, true).facts, ["exit status 101", "thread 'main' panicked at src/a.rs:1"]);
}
