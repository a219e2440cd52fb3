//! The worker, as the real executable: started, asked over HTTP, and ended.

mod asking;
pub(crate) mod client;
mod late;
mod lying_endpoint;
mod opening;
mod refused_texts;
mod security;
pub(crate) mod served;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::client::Events;
use self::served::Served;
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Sandbox, payload};

fn call(sandbox: &Sandbox, session: &str, id: &str, command: &str) {
    let call = json!({
        "session_id": session, "cwd": sandbox.project(), "tool_name": "Bash", "tool_use_id": id,
        "tool_input": { "command": command }, "tool_response": { "stdout": "ok", "stderr": "" },
    });
    assert_eq!(sandbox.hook("longhaul-post-tool-use", payload("PostToolUse", call)).status, Some(0));
}

#[test]
fn it_is_started_found_and_ended() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.longhaul(&["worker", "status"]).status, Some(1));
    let started = sandbox.longhaul(&["worker", "start"]);
    assert_eq!(started.status, Some(0), "{started:?}");
    assert!(started.stdout.starts_with("http://127.0.0.1:"), "{started:?}");
    assert_eq!(sandbox.longhaul(&["worker", "start"]).stdout, started.stdout);
    let mode = fs::metadata(sandbox.data_dir().join("worker.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let second = sandbox.longhaul(&["worker", "run"]);
    assert_eq!(second.status, Some(1));
    assert!(second.stderr.contains(started.stdout.trim()), "{second:?}");

    let status = sandbox.longhaul(&["worker", "status", "--json"]);
    assert_eq!(status.status, Some(0));
    assert_eq!(status.json()["url"], started.stdout.trim());
    assert_eq!(sandbox.longhaul(&["worker", "stop"]).status, Some(0));
    assert_eq!(sandbox.longhaul(&["worker", "status", "--json"]).json()["running"], false);
    assert!(!sandbox.data_dir().join("worker.json").exists());
    assert_eq!(sandbox.longhaul(&["worker", "stop"]).status, Some(0));
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_port_that_is_taken_is_left_alone() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    sandbox.write_config(&json!({ "worker": { "port": port } }).to_string());
    let served = Served::new(&sandbox);
    assert!(served.port > port, "{} {port}", served.port);
    assert_eq!(served.get("/api/health").status, 200);
}

#[test]
fn one_that_was_killed_leaves_nothing_in_the_way() {
    let sandbox = Sandbox::new();
    let mut first = Served::new(&sandbox);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert!(sandbox.data_dir().join("worker.json").exists());
    assert_eq!(sandbox.longhaul(&["worker", "status"]).status, Some(1));
    let second = Served::new(&sandbox);
    assert_ne!(first.token, second.token);
    assert_eq!(second.get("/api/health").json()["status"], "ok");
}

#[test]
fn it_ends_when_nobody_has_needed_it_for_long() {
    // On a busy machine it may take some seconds to open the page.
    let sandbox = Sandbox::new().with_env("LONGHAUL_IDLE_MS", "6000");
    let mut served = Served::new(&sandbox);
    let open = Events::open(&served);
    std::thread::sleep(Duration::from_millis(7500));
    assert!(served.child.try_wait().unwrap().is_none(), "it ended with a page open");
    drop(open);
    wait_until(DEADLINE, "the worker to end", || served.child.try_wait().unwrap().is_some());
    assert!(!sandbox.data_dir().join("worker.json").exists());
}

#[test]
fn whoever_is_refused_does_not_keep_it_running() {
    let sandbox = Sandbox::new().with_env("LONGHAUL_IDLE_MS", "900");
    let mut served = Served::new(&sandbox);
    wait_until(DEADLINE, "the worker to end", || {
        served.knock("/");
        served.knock("/api/stats");
        served.child.try_wait().unwrap().is_some()
    });
}

#[test]
fn it_answers_before_there_is_a_database_and_makes_one() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    assert_eq!(served.get("/api/health").status, 200);
    // Whoever comes first waits for it.
    assert_eq!(served.get("/api/stats").json()["sessions"], 0);
    let mode = fs::metadata(sandbox.data_dir().join("longhaul.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_database_of_a_later_version_is_told_at_once() {
    let sandbox = Sandbox::new();
    drop(Served::new(&sandbox));
    wait_until(DEADLINE, "the database", || sandbox.longhaul(&["memory", "stats"]).status == Some(0));
    let database = sandbox.database();
    database.pragma_update(None, "user_version", 999).unwrap();
    let outcome = sandbox.longhaul(&["worker", "run"]);
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.stderr.contains("999"), "{outcome:?}");
    let begun = Instant::now();
    let outcome = sandbox.longhaul(&["worker", "start"]);
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.stderr.contains("`longhaul worker run` shows the reason"), "{outcome:?}");
    assert!(begun.elapsed() < Duration::from_secs(9), "whoever waits is told at once");
}

#[test]
fn an_open_page_goes_over_to_a_database_that_takes_the_place_of_the_old_one() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let init = |prompt: &str| {
        let body = json!({ "session_id": "h", "cwd": "/tmp", "prompt": prompt, "prompt_id": prompt });
        assert_eq!(served.post("/api/sessions/init", &body).status, 200);
    };
    let mut events = Events::open(&served);
    events.next_named("hello");
    init("before");
    assert_eq!(events.next_named("rows")["prompts"][0]["prompt"], "before");
    for end in ["", "-wal", "-shm"] {
        let path = sandbox.data_dir().join(format!("longhaul.db{end}"));
        fs::rename(&path, path.with_extension(format!("old{end}"))).unwrap();
    }
    // Its numbers begin anew.
    init("after");
    assert_eq!(events.next_named("rows")["prompts"][0]["prompt"], "after");
}

#[test]
fn a_row_is_shown_within_a_second_although_no_turn_has_ended() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let mut events = Events::open(&served);
    assert_eq!(events.next().0, "hello");
    assert_eq!(events.next().0, "agents");
    let prompt = json!({ "session_id": "s1", "cwd": sandbox.project(), "prompt": "mend the lamp", "prompt_id": "p1" });
    sandbox.hook("longhaul-user-prompt-submit", payload("UserPromptSubmit", prompt));
    assert_eq!(events.next_named("agents")[0]["status"], "working");
    let mut times = Vec::new();
    // The quickest counts: on a machine that does something else at the same time, any one may be late.
    for number in 1..=30 {
        let command = format!("cargo run --bin lamp-{number}");
        call(&sandbox, "s1", &format!("t{number}"), &command);
        let fired = Instant::now();
        let is_it = |rows: &Value| rows["observations"][0]["title"].as_str().is_some_and(|row| row.contains(&command));
        while !is_it(&events.next_named("rows")) {}
        times.push(fired.elapsed());
        if number >= 3 && times.iter().any(|time| *time < Duration::from_secs(1)) {
            break;
        }
    }
    assert!(times.iter().min().unwrap() < &Duration::from_secs(1), "{times:?}");

    let agents = served.get("/api/agents").json();
    assert_eq!((&agents[0]["session"], &agents[0]["status"]), (&json!("s1"), &json!("working")));
    let timeline = served.get("/api/sessions/s1/timeline").json();
    let types: Vec<&Value> = timeline["items"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
    assert_eq!(types, ["prompt", "observation", "observation", "observation"]);
}

#[test]
fn what_could_not_be_told_is_told_as_soon_as_it_can_be() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let mut events = Events::open(&served);
    events.next_named("hello");
    // Neither a file nor missing: nobody can be told who runs.
    let config = sandbox.data_dir().join("config.json");
    call(&sandbox, "s1", "t1", "make untold");
    fs::create_dir(&config).unwrap();
    let database = sandbox.database();
    wait_until(DEADLINE, "the call to be taken in", || {
        let stored = database.query_row("SELECT count(*) FROM observations", (), |row| row.get::<_, i64>(0));
        stored.is_ok_and(|count| count == 1)
    });
    let failures = || sandbox.error_log().matches(" worker: ").count();
    let before = failures();
    wait_until(DEADLINE, "a look that fails", || failures() > before);
    fs::remove_dir(&config).unwrap();
    let rows = events.next_named("rows");
    assert!(rows["observations"][0]["title"].as_str().unwrap().contains("make untold"), "{rows}");
}

#[test]
fn who_comes_back_gets_what_was_missed() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let mut events = Events::open(&served);
    events.next();
    let id = events.last_id.clone();
    drop(events);
    served.post("/api/sessions/init", &json!({ "session_id": "h", "cwd": "/tmp", "prompt": "one", "prompt_id": "1" }));
    let mut again = Events::open_after(&served, &id);
    let rows = again.next_named("rows");
    assert_eq!(rows["prompts"][0]["prompt"], "one");
}

#[test]
fn whoever_misses_more_than_is_told_hears_that_there_is_more() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    for number in 0..120 {
        let prompt = format!("number {number}");
        let body = json!({ "session_id": "h", "cwd": "/tmp", "prompt": prompt, "prompt_id": prompt });
        assert_eq!(served.post("/api/sessions/init", &body).status, 200);
    }
    for (id, count, more) in [("0.0.0.0", 100, true), ("110.0.0.0", 10, false)] {
        let mut again = Events::open_after(&served, id);
        let rows = again.next_named("rows");
        assert_eq!((rows["prompts"].as_array().unwrap().len(), &rows["more"]), (count, &json!(more)));
        assert_eq!(rows["prompts"][count - 1]["prompt"], "number 119", "the newest are told");
    }
}

#[test]
fn a_host_may_say_everything_twice() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let says = [
        ("init", json!({ "session_id": "h", "cwd": "/tmp", "prompt": "mend it", "prompt_id": "1" })),
        (
            "observations",
            json!({ "session_id": "h", "prompt_id": "1", "tool_use_id": "t1", "tool_name": "Bash",
                    "tool_input": { "command": "make" }, "tool_response": { "stdout": "made" } }),
        ),
        ("summarize", json!({ "session_id": "h", "prompt_id": "1", "last_assistant_message": "It is mended." })),
        ("complete", json!({ "session_id": "h", "reason": "closed" })),
    ];
    let mut events = Events::open(&served);
    events.next_named("hello");
    for _ in 0..2 {
        for (what, body) in &says {
            let answer = served.post(&format!("/api/sessions/{what}"), body);
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        assert_eq!(events.next_named("session"), json!({ "session_id": "h", "status": "completed" }));
    }
    let session = &served.get("/api/sessions").json()["items"][0];
    assert_eq!(
        session["counts"],
        json!({ "prompts": 1, "observations": 1, "summaries": 1, "turns": 1, "bookmarks": 0 })
    );
    assert_eq!((&session["status"], &session["end_reason"]), (&json!("completed"), &json!("closed")));
    let unknown = served.post("/api/sessions/complete", &json!({ "session_id": "nobody" }));
    assert_eq!(unknown.status, 404);
}

#[test]
fn what_is_private_leaves_no_byte() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let init = |prompt: &str, id: &str| {
        let body = json!({ "session_id": "h", "cwd": "/tmp", "prompt": prompt, "prompt_id": id });
        served.post("/api/sessions/init", &body).json()
    };
    let tool = |id: &str, output: &str| {
        let body = json!({ "session_id": "h", "tool_use_id": id, "tool_name": "Bash",
                           "tool_input": { "command": "cat" }, "tool_response": { "stdout": output } });
        served.post("/api/sessions/observations", &body).json()["outcome"].clone()
    };
    assert_eq!(init("mend <private>sesame-1</private> it", "1")["kept"], true);
    assert_eq!(tool("t1", "<private>sesame-2</private> said"), "stored");
    assert_eq!(init("<private>sesame-3</private>", "2")["kept"], false);
    assert_eq!(init("<private>sesame-3</private>", "2")["kept"], false);
    assert_eq!(tool("t2", "sesame-4"), "private");
    let end = json!({ "session_id": "h", "prompt_id": "2", "last_assistant_message": "sesame-5" });
    served.post("/api/sessions/summarize", &end);
    drop(served);
    for file in files(&sandbox.data_dir()) {
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"sesame"), "{}", file.display());
    }
}

fn files(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn what_is_forgotten_is_gone() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let init = json!({ "session_id": "h", "cwd": "/tmp", "prompt": "remember melon", "prompt_id": "1" });
    served.post("/api/sessions/init", &init);
    assert_eq!(served.get("/api/search?q=melon").json()[0]["id"], "P1");
    assert_eq!(served.ask("DELETE", "/api/prompts/1", &served.trusted(), b"").json()["forgotten"], "P1");
    assert_eq!(served.get("/api/search?q=melon").json(), json!([]));
    assert_eq!(served.ask("DELETE", "/api/prompts/1", &served.trusted(), b"").status, 404);
}
