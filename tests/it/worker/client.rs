//! A minimal HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::served::Served;
use crate::poll::DEADLINE;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    /// Returns a header's value; empty where there is none.
    pub(crate) fn header(&self, name: &str) -> String {
        let mut pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = pairs.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned()).unwrap_or_default()
    }
}

/// Asks, on a connection of its own.
pub(crate) fn ask(port: u16, method: &str, path: &str, headers: &[(String, String)], body: &[u8]) -> Answer {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let in_pieces = headers.iter().any(|(name, _)| name == "Transfer-Encoding");
    if !body.is_empty() && !in_pieces {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    let mut request = format!("{head}\r\n").into_bytes();
    request.extend(body);
    let mut stream = connect(port);
    let mut writer = stream.try_clone().unwrap();
    // Whoever is refused may be hung up on in the middle of what they say.
    let sent = thread::spawn(move || drop(writer.write_all(&request)));
    let mut bytes = Vec::new();
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        bytes.extend(&buffer[..count]);
    }
    sent.join().unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// `/stream`, as a page reads it.
pub(crate) struct Events {
    lines: BufReader<TcpStream>,
    pub(crate) last_id: String,
}

impl Events {
    pub(crate) fn open(served: &Served) -> Self {
        Self::open_after(served, "")
    }

    /// Comes back with what was seen last.
    pub(crate) fn open_after(served: &Served, id: &str) -> Self {
        let mut stream = connect(served.port);
        let (port, token) = (served.port, &served.token);
        let request = format!(
            "GET /stream HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {token}\r\nLast-Event-ID: {id}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        Self { lines: BufReader::new(stream), last_id: String::new() }
    }

    /// Waits for the next event of this name, and returns its data.
    #[track_caller]
    pub(crate) fn next_named(&mut self, wanted: &str) -> Value {
        let end = Instant::now() + DEADLINE;
        while Instant::now() < end {
            let (name, data) = self.next();
            if name == wanted {
                return data;
            }
        }
        panic!("no {wanted} came");
    }

    /// Waits for an event; returns its name and its data.
    pub(crate) fn next(&mut self) -> (String, Value) {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the stream has ended");
            let line = line.trim_end();
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.to_owned();
            } else if let Some(text) = line.strip_prefix("id: ") {
                self.last_id = text.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                return (name, serde_json::from_str(text).unwrap());
            }
        }
    }
}
