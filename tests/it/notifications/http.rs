//! ntfy and webhook, against a server on this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::{Value, json};

use super::{PATIENCE, Stage, result};
use crate::poll::{DEADLINE, wait_until};

/// A request: its first line, its headers in lower case, and its body.
struct Request {
    line: String,
    headers: Vec<String>,
    body: Value,
}

/// Answers every request with a status line. Without one, the connection stays open and silent.
fn serve(status: Option<&'static str>) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::channel();
    thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming().flatten() {
            let request = read(&stream);
            if let Some(status) = status {
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nlocation: /other\r\n\r\n");
                let _ = (&stream).write_all(answer.as_bytes());
            } else {
                silent.push(stream);
            }
            let _ = sender.send(request);
        }
    });
    (url, requests)
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let headers: Vec<String> = lines[1..].iter().map(|line| line.to_lowercase()).collect();
    let length = headers.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Request { line: lines[0].clone(), headers, body: serde_json::from_slice(&body).unwrap() }
}

#[test]
fn ntfy_gets_the_topic_and_the_token() {
    let (url, requests) = serve(Some("200 OK"));
    let stage = Stage::new(&format!(r#"{{"blocked": ["ntfy"], "ntfy": "{url}/my-topic"}}"#));
    std::fs::write(stage.sandbox.data_dir().join("ntfy.token"), "tk_secret\n").unwrap();
    stage.block("s1", "cargo publish");
    assert_eq!(stage.results(1), [result("ntfy", "sent", "")]);
    let request = requests.recv_timeout(PATIENCE).unwrap();
    assert_eq!(request.line, "POST / HTTP/1.1");
    assert!(request.headers.contains(&"authorization: bearer tk_secret".to_owned()), "{:?}", request.headers);
    assert_eq!(
        request.body,
        json!({ "topic": "my-topic", "title": "project waits for you", "priority": 4, "tags": ["raised_hand"],
                "message": "wants to run: cargo publish, after 0s" })
    );
    assert!(requests.try_recv().is_err());
}

#[test]
fn a_webhook_gets_a_small_object() {
    let (url, requests) = serve(Some("204 No Content"));
    let stage = Stage::new(&format!(r#"{{"blocked": ["webhook"], "webhook": "{url}/hook?key=1"}}"#));
    stage.block("s1", "cargo publish");
    assert_eq!(stage.results(1), [result("webhook", "sent", "")]);
    let request = requests.recv_timeout(PATIENCE).unwrap();
    assert_eq!(request.line, "POST /hook?key=1 HTTP/1.1");
    assert!(!request.headers.iter().any(|header| header.starts_with("authorization")));
    let at = stage.log()[0]["at_ms"].clone();
    assert_eq!(
        request.body,
        json!({ "state": "blocked", "session": "s1", "project": "project", "branch": null, "at_ms": at,
                "title": "project waits for you", "text": "wants to run: cargo publish, after 0s", "turn_seconds": 0 })
    );
}

#[test]
fn a_server_that_refuses_or_redirects_is_a_failure_that_does_not_show_the_address() {
    for (status, why) in [("403 Forbidden", "the server answered 403"), ("302 Found", "the server answered 302")] {
        let (url, requests) = serve(Some(status));
        let notify = format!(r#"{{"blocked": ["webhook"], "webhook": "{url}/secret"}}"#);
        let stage = Stage::new(&notify);
        stage.block("s1", "make");
        assert_eq!(stage.results(1), [result("webhook", "failed", why)]);
        requests.recv_timeout(PATIENCE).unwrap();
        assert!(requests.try_recv().is_err(), "the redirect was followed");
    }
    // The port of a listener that is gone.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let notify = format!(r#"{{"blocked": ["webhook"], "webhook": "http://{gone}/secret"}}"#);
    let stage = Stage::new(&notify);
    stage.block("s1", "make");
    let (_, result, why) = stage.results(1).remove(0);
    assert!(result == "failed" && why.starts_with("cannot reach the server") && !why.contains("secret"), "{why}");
}

#[test]
fn a_token_is_not_sent_unencrypted_to_another_machine() {
    let stage = Stage::new(r#"{"blocked": ["webhook"], "webhook": "http://192.0.2.1/"}"#);
    std::fs::write(stage.sandbox.data_dir().join("webhook.token"), "tk_secret").unwrap();
    stage.block("s1", "make");
    let why = "notify.webhook is neither https:// nor on this machine: the token is not sent there";
    assert_eq!(stage.results(1), [result("webhook", "failed", why)]);
}

#[test]
fn a_way_that_hangs_delays_no_other_and_is_in_the_log() {
    let (url, _requests) = serve(None);
    let stage = Stage::new(&format!(
        r#"{{"blocked": ["webhook", "command", "ntfy"], "command": ["COMMAND"], "webhook": "{url}"}}"#
    ));
    stage.block("s1", "make");
    let has = |way: &str, result: &str| stage.log().iter().any(|row| row["way"] == way && row["result"] == result);
    wait_until(DEADLINE, "the command", || has("command", "sent"));
    assert!(has("webhook", "sending"), "{:?}", stage.log());
    let results = stage.results(3);
    assert_eq!(results[0], result("command", "sent", ""));
    assert_eq!(results[1], result("ntfy", "failed", "notify.ntfy is not set"));
    assert_eq!((results[2].0.as_str(), results[2].1.as_str()), ("webhook", "failed"));
    assert_eq!(stage.recorded().len(), 1);
}
