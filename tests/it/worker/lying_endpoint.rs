//! An embeddings endpoint that does not answer as it should.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::served::Served;
use crate::past::Past;
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::Sandbox;

/// An answer of an endpoint.
pub(super) struct Reply {
    pub(super) status: u16,
    /// Further headers, each with its line end.
    pub(super) headers: String,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: String::new(), body: body.into() }
    }
}

/// An endpoint on loopback. `reply` gets the number of a request, from 0, and how many texts it has; where it returns `None`,
/// the request is never answered. Returns the address, and how many requests there were.
fn endpoint(reply: impl Fn(usize, usize) -> Option<String> + Send + 'static) -> (String, Arc<AtomicUsize>) {
    endpoint_that_reads(move |number, texts| Some(Reply::new(200, reply(number, texts.len())?)))
}

/// The same; `reply` gets the texts themselves.
pub(super) fn endpoint_that_reads(
    reply: impl Fn(usize, &[String]) -> Option<Reply> + Send + 'static,
) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    thread::spawn(move || {
        let mut unanswered = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                let header = line.to_lowercase();
                length = header.strip_prefix("content-length:").map_or(length, |value| value.trim().parse().unwrap());
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            let texts: Vec<String> =
                body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
            let number = counted.fetch_add(1, Ordering::SeqCst);
            match reply(number, &texts) {
                Some(Reply { status, headers, body }) => {
                    let length = body.len();
                    let head = format!(
                        "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n"
                    );
                    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
                }
                None => unanswered.push(stream),
            }
        }
    });
    (address, requests)
}

/// Returns a reply with so many vectors of so many dimensions.
pub(super) fn vectors(count: usize, dims: usize) -> String {
    let data: Vec<Value> = (0..count).map(|index| json!({ "index": index, "embedding": vec![1.0; dims] })).collect();
    json!({ "data": data }).to_string()
}

/// A memory with a conversation, and the endpoint in its configuration.
fn remembering(endpoint: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let embeddings = format!("{endpoint}#liar");
    sandbox.write_config(&json!({ "worker": { "port": 0 }, "memory": { "embeddings": embeddings } }).to_string());
    Past::new(&sandbox, "aaaa-1111").prompt("why does the importer stall?").reply("The rates hold the lock.");
    assert_eq!(sandbox.longhaul(&["memory", "import", "--quiet"]).status, Some(0));
    sandbox
}

pub(super) fn wait_for_log(sandbox: &Sandbox, text: &str) {
    wait_until(DEADLINE, &format!("{text:?} in the log"), || sandbox.error_log().contains(text));
}

#[test]
fn an_endpoint_whose_dimensions_change_is_not_asked_without_a_pause() {
    let (address, requests) = endpoint(|number, texts| Some(vectors(texts, 3 + number % 2)));
    let sandbox = remembering(&address);
    let _served = Served::new(&sandbox);
    wait_for_log(&sandbox, "answers with 4 dimensions instead of 3");
    let asked = requests.load(Ordering::SeqCst);
    assert!(asked <= 3, "{asked} requests");
}

#[test]
fn a_reply_that_is_far_too_long_is_not_read_to_its_end() {
    let (address, _) = endpoint(|_, texts| Some(vectors(texts, 3) + &" ".repeat(8 << 20)));
    let sandbox = remembering(&address);
    let _served = Served::new(&sandbox);
    wait_for_log(&sandbox, "no whole reply");
    let database = sandbox.database();
    let models: i64 = database.query_row("SELECT count(*) FROM indexes WHERE id > 0", [], |row| row.get(0)).unwrap();
    assert_eq!(models, 0);
}

#[test]
fn the_log_names_the_host_of_an_endpoint_and_no_password() {
    let (address, _) = endpoint(|_, _| Some("[]".to_owned()));
    let host = address.strip_prefix("http://").unwrap();
    let sandbox = remembering(&format!("http://ann:hunter2@{host}/key-hunter2/v1"));
    let _served = Served::new(&sandbox);
    wait_for_log(&sandbox, &format!("{host} did not answer with 1 vectors"));
    assert!(!sandbox.error_log().contains("hunter2"), "{}", sandbox.error_log());
    // Nothing listens there.
    let sandbox = remembering("http://ann:hunter2@127.0.0.1:1/v1");
    let _served = Served::new(&sandbox);
    wait_for_log(&sandbox, "cannot ask 127.0.0.1:1: ");
    assert!(!sandbox.error_log().contains("hunter2"), "{}", sandbox.error_log());
}

#[test]
fn an_endpoint_that_never_answers_holds_up_nothing_else() {
    let (address, requests) = endpoint(|_, _| None);
    let sandbox = remembering(&address);
    let served = Served::new(&sandbox);
    thread::scope(|scope| {
        let questions: Vec<_> = (0..6).map(|_| scope.spawn(|| served.get("/api/embedding?text=importer"))).collect();
        // One of them is the worker's own.
        wait_until(DEADLINE, "the questions", || requests.load(Ordering::SeqCst) >= 4);
        let begun = Instant::now();
        let stats = served.get("/api/stats");
        assert_eq!(stats.status, 200, "{stats:?}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        for question in questions {
            assert_eq!(question.join().unwrap().json(), json!({ "model": null, "vector": null }));
        }
    });
    // Words answer alone, and the endpoint is not waited for again.
    let begun = Instant::now();
    let answer = served.get("/api/recall?q=why+did+importers+stall").json();
    assert_eq!(answer["sessions"][0]["passages"][0]["answered"]["text"], "The rates hold the lock.");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
