//! An HTTP server on loopback in place of the API.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// What the server says.
pub(super) enum Said {
    /// A status and a body.
    Reply(u16, String),
    /// Nothing, and the connection stays open.
    Nothing,
}

/// The server. Its threads end with the test.
pub(super) struct Api {
    port: u16,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Api {
    /// Answers each request by its number and body.
    pub(super) fn start(say: impl Fn(usize, &Value) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let api = Self { port: listener.local_addr().unwrap().port(), requests: Arc::default() };
        let (requests, say) = (Arc::clone(&api.requests), Arc::new(say));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (requests, say) = (Arc::clone(&requests), Arc::clone(&say));
                thread::spawn(move || serve(stream, &requests, &*say));
            }
        });
        api
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the bodies of all requests so far.
    pub(super) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, requests: &Mutex<Vec<Value>>, say: &dyn Fn(usize, &Value) -> Said) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    assert!(head.starts_with("POST /v1/messages ") && head.contains("x-api-key: key-of-a-test"), "{head}");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let number = {
        let mut requests = requests.lock().unwrap();
        requests.push(body.clone());
        requests.len() - 1
    };
    match say(number, &body) {
        Said::Reply(status, text) => {
            let length = text.len();
            let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n");
            let _ = stream.write_all(format!("{head}Connection: close\r\n\r\n{text}").as_bytes());
        }
        // Until the other side has had enough.
        Said::Nothing => drop(reader.read_to_end(&mut Vec::new())),
    }
}

/// Returns the ids that a request asks for.
pub(super) fn ids(body: &Value) -> Vec<i64> {
    let told: Value = serde_json::from_str(body["messages"][0]["content"].as_str().unwrap()).unwrap();
    told["observations"].as_array().unwrap().iter().map(|seen| seen["id"].as_i64().unwrap()).collect()
}

/// Returns a line for each turn that a request asks for.
fn lines(body: &Value) -> Vec<Value> {
    let told: Value = serde_json::from_str(body["messages"][0]["content"].as_str().unwrap()).unwrap();
    let line = |turn: &Value| {
        let replied: String = turn["replied"].as_str().unwrap().chars().take(40).collect();
        json!({ "id": turn["id"], "line": format!("Line for: {replied}") })
    };
    told["turns"].as_array().unwrap().iter().map(line).collect()
}

/// Returns better words for everything that a request asks for.
pub(super) fn good(body: &Value) -> Said {
    let seen = |id: &i64| {
        json!({
            "id": id, "title": format!("Better title {id}"), "narrative": format!("Better narrative {id}"),
        })
    };
    let answer = json!({
        "request": "Better request", "investigated": "", "learned": "Better lesson", "completed": "", "next_steps": "",
        "observations": ids(body).iter().map(seen).collect::<Vec<_>>(),
        "turns": lines(body),
    });
    self::answer(&answer, "tool_use")
}

/// Returns a reply of the API that has cost 1,234 tokens.
pub(super) fn answer(input: &Value, stop: &str) -> Said {
    let reply = json!({
        "type": "message", "role": "assistant", "stop_reason": stop,
        "content": [{ "type": "tool_use", "id": "toolu_1", "name": "write_memory", "input": input }],
        "usage": { "input_tokens": 900, "cache_read_input_tokens": 100, "output_tokens": 234 },
    });
    Said::Reply(200, reply.to_string())
}
