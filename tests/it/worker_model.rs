//! Summaries by a model: within the budget, asked once, and never in a hook.

mod by_itself;
mod child;
mod codex_lines;
mod fake;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::{Mutex, mpsc};

use longhaul_runtime::worker::WorkerFile;
use serde_json::{Value, json};

use self::fake::{Api, Said, good};
use crate::poll::{DEADLINE, becomes_true, wait_for, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload, with};

/// When everything has happened that a model is asked about, and when it is asked.
const THEN: u64 = 1_794_700_000_000;
const NOW: u64 = THEN + 10 * 60_000;
const DAY: u64 = 24 * 3_600_000;

/// How long nothing happens where nothing may: a few looks of the worker.
const A_WHILE: std::time::Duration = std::time::Duration::from_secs(5);

/// A worker in a sandbox, killed when dropped.
struct Worker(Child);

impl Worker {
    fn start(sandbox: &Sandbox, now: u64) -> Self {
        let mut command = sandbox.executable("longhaul-worker");
        command.env("LONGHAUL_NOW_MS", now.to_string()).stdin(Stdio::null());
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Ends it as no program can prevent.
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes a sandbox in which a model may be asked, with these settings.
fn sandbox(settings: Value) -> Sandbox {
    let model = with(json!({ "via": "api" }), &settings);
    let sandbox = Sandbox::new().at(THEN).with_env("ANTHROPIC_API_KEY", "key-of-a-test").with_env("TZ", "UTC");
    sandbox.write_config(&json!({ "worker": { "port": 0 }, "memory": { "model": model } }).to_string());
    sandbox
}

/// A sandbox whose model is `api`.
fn with_api(api: &Api, settings: Value) -> Sandbox {
    sandbox(settings).with_env("ANTHROPIC_BASE_URL", api.url())
}

/// Lets a session fire a hook, with a configuration in which there is no model: these tests start the worker themselves.
fn fire(sandbox: &Sandbox, id: &str, event: &str, changes: Value) {
    let executable = match event {
        "UserPromptSubmit" => "longhaul-user-prompt-submit",
        "PostToolUse" => "longhaul-post-tool-use",
        _ => "longhaul-stop",
    };
    let all = json!({
        "session_id": id, "cwd": sandbox.project(), "prompt_id": format!("{id}-1"), "transcript_path": "/nowhere",
    });
    let config = sandbox.path("without-a-model.json");
    std::fs::write(&config, "{}").unwrap();
    let outcome = Outcome::of(
        sandbox.executable(executable).env("LONGHAUL_CONFIG", config),
        payload(event, with(all, &changes)).as_bytes(),
    );
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
}

/// A session with one prompt, one tool call and one reply.
fn session(sandbox: &Sandbox, id: &str) {
    fire(sandbox, id, "UserPromptSubmit", json!({ "prompt": format!("make {id} faster") }));
    let (input, response) = (json!({ "command": format!("make {id}") }), json!({ "stdout": "made", "stderr": "" }));
    let call = json!({
        "tool_name": "Bash", "tool_use_id": format!("{id}-t"), "tool_input": input, "tool_response": response,
    });
    fire(sandbox, id, "PostToolUse", call);
    fire(sandbox, id, "Stop", json!({ "last_assistant_message": format!("{id} is twice as fast.") }));
}

const MAKERS: &str = "SELECT made_by FROM session_summaries UNION ALL SELECT made_by FROM observations";
const SPENT: &str =
    "SELECT concat_ws(' ', day, requests, tokens_in, tokens_out, tokens_unreported > 0) FROM model_spending
                     WHERE requests > 0 ORDER BY day";
const RESERVED: &str = "SELECT 'one' FROM model_spending WHERE prompt_id IS NOT NULL";
const FAILED: &str = "SELECT concat_ws(' ', attempts, next_at) FROM turns WHERE attempts > 0";
const TROUBLE: &str = "SELECT error FROM model_spending WHERE error IS NOT NULL";

fn count(sandbox: &Sandbox, maker: &str) -> usize {
    sandbox.rows(MAKERS).iter().filter(|made_by| *made_by == maker).count()
}

/// Asks the worker how much there is.
fn stats(sandbox: &Sandbox) -> Value {
    let file = std::fs::read(sandbox.data_dir().join("worker.json")).unwrap();
    let file: WorkerFile = serde_json::from_slice(&file).unwrap();
    serde_json::from_str(&file.ask("/api/stats", DEADLINE).unwrap()).unwrap()
}

#[test]
fn summaries_and_observations_get_better_words_once() {
    let api = Api::start(|_, body| good(body));
    let sandbox = with_api(&api, json!({}));
    session(&sandbox, "one");
    session(&sandbox, "two");
    let worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "better words", || count(&sandbox, "model") == 4);
    let titles = sandbox.rows("SELECT title || '|' || narrative || '|' || kind FROM observations ORDER BY id");
    assert_eq!(titles, ["Better title 1|Better narrative 1|command", "Better title 2|Better narrative 2|command"]);
    let summaries = sandbox.rows("SELECT request || '|' || learned || '|' || created_at FROM session_summaries");
    assert_eq!(summaries, vec![format!("Better request|Better lesson|{THEN}"); 2], "its time stays");
    let body = &api.requests()[0];
    assert_eq!(body["tool_choice"]["type"], "tool");
    let told: Value = serde_json::from_str(body["messages"][0]["content"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&told["prompts"][0], &told["turns"][0]["replied"]),
        (&json!("make two faster"), &json!("two is twice as fast."))
    );
    drop(worker);
    // A turn that goes on, and a worker that starts anew: of records, what a model has said stays said. The turn's line was
    // made of another turn, and is made again.
    fire(&sandbox, "one", "Stop", json!({ "last_assistant_message": "Three times as fast." }));
    let _worker = Worker::start(&sandbox, NOW + DAY);
    wait_until(DEADLINE, "another line", || api.requests().len() == 3);
    assert!(!becomes_true(A_WHILE, || api.requests().len() > 3));
    let told: Value = serde_json::from_str(api.requests()[2]["messages"][0]["content"].as_str().unwrap()).unwrap();
    assert_eq!((&told["observations"], &told["summary"]), (&json!([]), &Value::Null));
    let line = "SELECT t.model_line FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.session_id = 'one'";
    assert_eq!(sandbox.rows(line), ["Line for: Three times as fast."]);
    assert_eq!(count(&sandbox, "rule"), 0);
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn sessions_at_work_and_projects_that_are_excluded_are_left_alone() {
    let api = Api::start(|_, body| good(body));
    let sandbox = with_api(&api, json!({}));
    session(&sandbox, "one");
    let worker = Worker::start(&sandbox, THEN + 119_000);
    assert!(!becomes_true(A_WHILE, || !api.requests().is_empty()), "two minutes have not passed");
    drop(worker);
    let config = std::fs::read_to_string(sandbox.data_dir().join("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["memory"]["exclude"] = json!(["*/project"]);
    sandbox.write_config(&config.to_string());
    let _worker = Worker::start(&sandbox, NOW);
    assert!(!becomes_true(A_WHILE, || !api.requests().is_empty()));
}

#[test]
fn no_request_is_begun_that_could_cost_more_than_is_left() {
    let api = Api::start(|_, body| good(body));
    let sandbox = with_api(&api, json!({ "daily_token_budget": 5000 }));
    for id in ["one", "two", "three", "four"] {
        session(&sandbox, id);
    }
    let worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "two answers", || count(&sandbox, "model") == 4);
    assert!(!becomes_true(A_WHILE, || api.requests().len() > 2), "{:?}", sandbox.rows(SPENT));
    assert_eq!(sandbox.rows(SPENT), ["2026-11-14 2 2000 468 0"], "what the replies report, to the token");
    assert_eq!(sandbox.rows(RESERVED), [""; 0]);
    let status = Outcome::of(
        sandbox.executable("longhaul").args(["worker", "status"]).env("LONGHAUL_NOW_MS", NOW.to_string()),
        b"",
    );
    let told = "model summaries: 2468 tokens spent today in 2 requests, 2532 left\n";
    assert!(status.stdout.ends_with(told), "{status:?}");
    let model = &stats(&sandbox)["model"];
    assert_eq!(
        (&model["spent_tokens"], &model["left_tokens"], &model["requests"]),
        (&json!(2468), &json!(2532), &json!(2))
    );
    assert_eq!((&model["enabled"], &model["last_error"]), (&json!(true), &Value::Null));
    drop(worker);
    let _worker = Worker::start(&sandbox, NOW + DAY);
    wait_until(DEADLINE, "the next day", || count(&sandbox, "model") == 8);
    assert_eq!(sandbox.rows(SPENT), ["2026-11-14 2 2000 468 0", "2026-11-15 2 2000 468 0"]);
}

#[test]
fn a_server_that_hangs_is_given_up() {
    let api = Api::start(|_, _| Said::Nothing);
    let sandbox = with_api(&api, json!({})).with_env("LONGHAUL_ANSWER_MS", "1000");
    session(&sandbox, "one");
    let _worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "the failure", || !sandbox.rows(TROUBLE).is_empty());
    assert_eq!(count(&sandbox, "model"), 0);
    assert_eq!(sandbox.rows(SPENT), ["2026-11-14 1 0 0 1"], "nobody knows what it has cost");
    assert_eq!(sandbox.rows(FAILED), [format!("1 {}", NOW + 60_000)]);
}

#[test]
fn an_answer_that_is_not_the_schema_leaves_the_rules_words_and_is_put_off() {
    let api = Api::start(|_, _| fake::answer(&json!({ "request": 1 }), "tool_use"));
    let sandbox = with_api(&api, json!({}));
    session(&sandbox, "one");
    let before =
        sandbox.rows("SELECT request || learned FROM session_summaries UNION ALL SELECT title FROM observations");
    let worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "the failure", || !sandbox.rows(TROUBLE).is_empty());
    assert!(!becomes_true(A_WHILE, || api.requests().len() > 1), "it waits");
    assert_eq!(sandbox.rows(FAILED), [format!("1 {}", NOW + 60_000)]);
    drop(worker);
    let worker = Worker::start(&sandbox, NOW + 60_000);
    wait_until(DEADLINE, "the second failure", || sandbox.rows(FAILED) == [format!("2 {}", NOW + 300_000)]);
    drop(worker);
    assert_eq!(sandbox.rows(SPENT), ["2026-11-14 2 2000 468 0"], "it was paid for");
    let after =
        sandbox.rows("SELECT request || learned FROM session_summaries UNION ALL SELECT title FROM observations");
    assert_eq!((after, count(&sandbox, "model")), (before, 0));
}

#[test]
fn a_worker_that_is_killed_in_the_middle_leaves_nothing_half_and_nothing_twice() {
    let api = Api::start(|number, body| if number == 0 { Said::Nothing } else { good(body) });
    let sandbox = with_api(&api, json!({}));
    session(&sandbox, "one");
    let worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "the request", || api.requests().len() == 1);
    worker.kill();
    assert_eq!((count(&sandbox, "model"), sandbox.rows(RESERVED).len()), (0, 1));
    let worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "better words", || count(&sandbox, "model") == 2);
    worker.kill();
    let _worker = Worker::start(&sandbox, NOW + DAY);
    assert!(!becomes_true(A_WHILE, || api.requests().len() > 2), "nothing twice");
    assert_eq!(sandbox.rows(SPENT), ["2026-11-14 2 1000 234 1"], "what was under way counts");
    assert_eq!((sandbox.rows(RESERVED), sandbox.rows(FAILED)), (Vec::new(), Vec::new()));
}

#[test]
fn an_open_page_hears_of_better_words() {
    let (greeted, is_greeted) = mpsc::channel();
    let is_greeted = Mutex::new(is_greeted);
    let api = Api::start(move |_, body| {
        is_greeted.lock().unwrap().recv_timeout(DEADLINE).unwrap();
        good(body)
    });
    let sandbox = with_api(&api, json!({}));
    session(&sandbox, "one");
    let _worker = Worker::start(&sandbox, NOW);
    let file = sandbox.data_dir().join("worker.json");
    let file: WorkerFile =
        wait_for(DEADLINE, "worker.json", || serde_json::from_slice(&std::fs::read(&file).ok()?).ok());
    let (port, token) = (file.port, &file.token);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let head = format!("GET /stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "event: hello"));
    greeted.send(()).unwrap();
    // The records keep their numbers and their times: only this says that they are others now.
    assert!(lines.take(40).any(|line| line.contains(r#""more":true"#)));
    assert_eq!(count(&sandbox, "model"), 2);
}

#[test]
fn a_worker_that_nobody_visits_waits_for_the_answer_and_ends_then() {
    let api = Api::start(|_, _| Said::Nothing);
    let sandbox = with_api(&api, json!({})).with_env("LONGHAUL_ANSWER_MS", "3000").with_env("LONGHAUL_IDLE_MS", "900");
    session(&sandbox, "one");
    let mut worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "its end", || worker.0.try_wait().unwrap().is_some());
    assert_eq!(sandbox.rows(TROUBLE).len(), 1, "it has waited as long as an answer may take");
    assert_eq!(sandbox.rows(RESERVED), [""; 0], "and nothing is left to settle");
}

#[test]
fn nothing_private_and_no_secret_of_an_answer_is_stored() {
    let key = format!("sk-ant-api03-{}", "x".repeat(90));
    let said = format!("Kept <private>hushhush</private> and {key} of it");
    let api = Api::start(move |_, body| {
        let ids = fake::ids(body);
        let seen: Vec<Value> = ids.iter().map(|id| json!({ "id": id, "title": said, "narrative": said })).collect();
        let mut answer = json!({
            "request": said, "investigated": said, "learned": said, "completed": said, "next_steps": "\u{1b}[31mred",
            "observations": seen,
        });
        // What nobody has asked for.
        answer["observations"][0]["title"] = json!("<private>all of it</private>");
        fake::answer(&answer, "tool_use")
    });
    let sandbox = with_api(&api, json!({}));
    session(&sandbox, "one");
    let _worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "better words", || count(&sandbox, "model") == 1);
    let told = sandbox.rows(
        "SELECT concat_ws('|', request, investigated, learned, completed, next_steps) FROM session_summaries
         UNION ALL SELECT concat_ws('|', title, narrative) FROM observations",
    );
    assert!(told[0].starts_with("Kept and [redacted] of it|Kept  and [redacted] of it|"), "{told:?}");
    assert!(told[0].ends_with("|[31mred"), "{told:?}");
    assert!(told[1].contains("make one"), "a title of which nothing is left is none: {told:?}");
}

#[test]
fn a_key_is_sent_to_this_machine_or_over_tls_only() {
    let sandbox = sandbox(json!({})).with_env("ANTHROPIC_BASE_URL", "http://192.0.2.1:9");
    session(&sandbox, "one");
    let _worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "the refusal", || !sandbox.rows(TROUBLE).is_empty());
    assert!(sandbox.rows(TROUBLE)[0].contains("ANTHROPIC_BASE_URL"));
    assert_eq!(sandbox.rows(SPENT), [""; 0]);
}
