//! Records found by what they mean: by the static model, and by an endpoint that the worker asks.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload, with};

/// A model of a few tokens: `login` and `authentication` mean the same, and so do `broken` and `fails`.
const TOKENS: [(&str, [i8; 4]); 6] = [
    ("authentication", [127, 0, 0, 0]),
    ("broken", [0, 127, 0, 0]),
    ("cache", [0, 0, 127, 0]),
    ("fails", [0, 127, 0, 0]),
    ("login", [127, 0, 0, 0]),
    ("stale", [0, 0, 100, 60]),
];

/// Writes the model as a file of the sandbox; returns its path.
fn model_file(sandbox: &Sandbox) -> String {
    write_model(sandbox, "test", &TOKENS)
}

/// Writes a model of some tokens, in alphabetical order, as a file of the sandbox; returns its path.
pub(crate) fn write_model<const DIMS: usize>(sandbox: &Sandbox, id: &str, tokens: &[(&str, [i8; DIMS])]) -> String {
    let text: String = tokens.iter().map(|(token, _)| *token).collect();
    let mut bytes = b"LHVEC\0\0\x01".to_vec();
    for number in [DIMS, tokens.len(), id.len(), text.len()] {
        bytes.extend((number as u32).to_le_bytes());
    }
    bytes.extend(id.as_bytes());
    let mut offset = 0_u32;
    bytes.extend(offset.to_le_bytes());
    for (token, _) in tokens {
        offset += token.len() as u32;
        bytes.extend(offset.to_le_bytes());
    }
    bytes.extend(text.as_bytes());
    bytes.extend(tokens.iter().flat_map(|_| 1.0_f32.to_le_bytes()));
    bytes.extend(tokens.iter().flat_map(|(_, row)| row.map(|value| value as u8)));
    let path = sandbox.path(&format!("{id}.lhvec"));
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn turn(sandbox: &Sandbox, session: &str, prompt: &str, reply: &str) {
    for (executable, event, changes) in [
        ("longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": prompt })),
        ("longhaul-stop", "Stop", json!({ "last_assistant_message": reply })),
    ] {
        let all = json!({
            "session_id": session, "cwd": sandbox.project(), "prompt_id": format!("{session}-1"),
            "transcript_path": "/nowhere",
        });
        let outcome = sandbox.hook(executable, payload(event, with(all, &changes)));
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    }
}

fn ids(outcome: &Outcome) -> Vec<String> {
    let found = outcome.json();
    found.as_array().unwrap().iter().map(|record| record["id"].as_str().unwrap().to_owned()).collect()
}

fn count(sandbox: &Sandbox, sql: &str) -> i64 {
    let database = sandbox.database();
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_record_is_found_in_other_words_and_gone_when_it_is_forgotten() {
    let sandbox = Sandbox::new();
    let file = model_file(&sandbox);
    sandbox.write_config(&json!({ "memory": { "embeddings": file } }).to_string());
    turn(&sandbox, "a", "authentication fails", "Looked into it.");
    turn(&sandbox, "b", "the cache is stale", "Emptied it.");
    let stats = sandbox.longhaul(&["memory", "stats"]).stdout;
    assert!(stats.contains("none yet of test: the first search computes them"), "{stats}");
    let similar = |text: &str| sandbox.longhaul(&["memory", "similar", text, "--json"]);
    let found = similar("login broken");
    assert_eq!(ids(&found)[0], "P1", "{found:?}");
    assert!(found.json()[0]["similarity"].as_f64().unwrap() > 0.95);
    let stats = sandbox.longhaul(&["memory", "stats", "--json"]).json();
    assert_eq!(stats["vectors"][0]["model"], "test");
    assert!(stats["vectors"][0]["vectors"].as_i64().unwrap() >= 2, "{stats}");

    let forgotten = sandbox.longhaul(&["memory", "forget", "P1", "--yes"]);
    assert_eq!(forgotten.status, Some(0), "{forgotten:?}");
    assert_eq!(count(&sandbox, "SELECT count(slot) FROM vector_slots WHERE what = 0"), 1);
    assert!(!ids(&similar("login broken")).contains(&"P1".to_owned()));
    let purged = sandbox.longhaul(&["memory", "purge", "--all", "--yes"]);
    assert_eq!(purged.status, Some(0), "{purged:?}");
    assert_eq!(count(&sandbox, "SELECT count(slot) FROM vector_slots"), 0);
    // A vector of four bytes is told from chance by the block that it would be in.
    assert_eq!(count(&sandbox, "SELECT count(*) FROM vector_blocks WHERE vectors <> zeroblob(length(vectors))"), 0);
}

#[test]
fn upkeep_computes_what_is_missing() {
    let sandbox = Sandbox::new();
    let file = model_file(&sandbox);
    sandbox.write_config(&json!({ "memory": { "embeddings": file } }).to_string());
    turn(&sandbox, "a", "authentication fails", "Looked into it.");
    assert_eq!(count(&sandbox, "SELECT count(slot) FROM vector_slots"), 0, "no hook computes vectors");
    let upkeep = sandbox.longhaul(&["memory", "upkeep"]);
    assert!(upkeep.stderr.contains("Computed "), "{upkeep:?}");
    assert!(count(&sandbox, "SELECT count(slot) FROM vector_slots WHERE what = 0") == 1);
    let again = sandbox.longhaul(&["memory", "upkeep"]);
    assert!(again.stderr.contains("Computed 0 vectors."), "{again:?}");
}

/// With the model that every bundle has.
#[test]
fn the_model_of_the_bundle_finds_other_words() {
    let sandbox = Sandbox::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find_map(|folder| {
        let file = folder.join("plugin/model/static.lhvec");
        file.is_file().then_some(file)
    });
    sandbox.write_config(&json!({ "memory": { "embeddings": file.unwrap() } }).to_string());
    turn(&sandbox, "a", "why does the page take so long to load", "Rendering is slow: each widget runs its own query.");
    turn(&sandbox, "b", "bump the version of the parser", "Released.");
    assert_eq!(sandbox.longhaul(&["memory", "upkeep"]).status, Some(0));
    let found = sandbox.longhaul(&["memory", "similar", "poor performance of the website", "--json"]);
    assert_eq!(ids(&found).first().map(String::as_str), Some("P1"), "{found:?}");
    let doctor = sandbox.longhaul(&["doctor"]);
    assert!(doctor.stdout.contains("uses the model minilm-l6-static-128-"), "{doctor:?}");
}

#[test]
fn without_a_model_everything_else_works_and_the_command_says_what_to_do() {
    let sandbox = Sandbox::new();
    turn(&sandbox, "a", "authentication fails", "Looked into it.");
    let similar = sandbox.longhaul(&["memory", "similar", "login"]);
    assert_ne!(similar.status, Some(0));
    assert!(similar.stderr.contains("longhaul install"), "{similar:?}");
    let upkeep = sandbox.longhaul(&["memory", "upkeep"]);
    assert_eq!(upkeep.status, Some(0), "{upkeep:?}");
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_damaged_model_is_named() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("broken.lhvec");
    fs::write(&path, "LHVEC is not enough").unwrap();
    sandbox.write_config(&json!({ "memory": { "embeddings": path } }).to_string());
    turn(&sandbox, "a", "authentication fails", "Looked into it.");
    let similar = sandbox.longhaul(&["memory", "similar", "login"]);
    assert!(similar.stderr.contains("broken.lhvec"), "{similar:?}");
    let by_words = sandbox.longhaul(&["memory", "search", "authentication", "--json"]);
    assert_eq!(ids(&by_words).first().map(String::as_str), Some("P1"), "{by_words:?}");
    let upkeep = sandbox.longhaul(&["memory", "upkeep"]);
    assert!(upkeep.status == Some(1) && upkeep.stderr.contains("broken.lhvec"), "{upkeep:?}");
    assert!(upkeep.stderr.contains("The search index is complete."), "everything else is done: {upkeep:?}");
    assert!(sandbox.error_log().contains("broken.lhvec"), "{}", sandbox.error_log());
    let stats = sandbox.longhaul(&["memory", "stats"]);
    assert!(stats.status == Some(0) && stats.stdout.contains("broken.lhvec"), "{stats:?}");
    let problems = sandbox.longhaul(&["memory", "stats", "--json"]).json()["vector_problems"].clone();
    assert!(problems[0].as_str().unwrap().contains("broken.lhvec"), "{problems}");
}

/// An endpoint on loopback whose vectors say how often a text has `cache` or `login` in it.
fn endpoint() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0_usize);
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|read| read > 0) {
                if let Some(value) = head
                    .lines()
                    .last()
                    .and_then(|line| line.to_lowercase().strip_prefix("content-length:").map(str::to_owned))
                {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert!(head.starts_with("POST /v1/embeddings ") && body["model"] == "tiny", "{head} {body}");
            let input = body["input"].as_array().unwrap();
            let vector = |(index, text): (usize, &Value)| {
                let text = text.as_str().unwrap();
                let number = |word: &str| text.matches(word).count() as f64;
                let values = [number("cache"), number("login") + number("authentication"), 0.01];
                json!({ "index": index, "embedding": values })
            };
            let data: Vec<Value> = input.iter().enumerate().map(vector).collect();
            let text = json!({ "data": data }).to_string();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
            let _ = stream.write_all(format!("{head}{text}").as_bytes());
        }
    });
    address
}

/// A worker, killed when dropped.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_worker_asks_the_endpoint_and_a_search_asks_the_worker() {
    let sandbox = Sandbox::new();
    let embeddings = format!("{}#tiny", endpoint());
    sandbox.write_config(&json!({ "worker": { "port": 0 }, "memory": { "embeddings": embeddings } }).to_string());
    turn(&sandbox, "a", "authentication fails", "Looked into it.");
    turn(&sandbox, "b", "the cache is stale", "Emptied it.");
    turn(&sandbox, "c", "and the cache again", "Emptied it.");
    assert_eq!(count(&sandbox, "SELECT count(*) FROM indexes WHERE id > 0"), 0, "nobody but the worker asks");
    let mut command = sandbox.executable("longhaul-worker");
    let _worker = Worker(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_until(DEADLINE, "the vectors", || count(&sandbox, "SELECT count(slot) FROM vector_slots WHERE what = 0") == 3);
    wait_until(DEADLINE, "the worker", || Path::new(&sandbox.data_dir().join("worker.json")).exists());
    let found = sandbox.longhaul(&["memory", "similar", "login", "--json"]);
    assert_eq!(ids(&found)[0], "P1", "{found:?} {}", sandbox.error_log());
    let name = "SELECT count(*) FROM indexes WHERE name = 'endpoint:tiny' AND form = 3";
    assert_eq!(count(&sandbox, name), 1);
}
