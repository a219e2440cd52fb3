//! A server on loopback in place of the model's API, which always gives the same answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;
use serde_json::json;

/// The server; its threads end with the process.
pub(super) struct Model {
    port: u16,
    requests: Arc<AtomicUsize>,
}

impl Model {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let model = Self { port: listener.local_addr()?.port(), requests: Arc::default() };
        let requests = Arc::clone(&model.requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A broken connection comes from a worker that was killed; it does not count.
                if answer(stream).is_ok() {
                    requests.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Ok(model)
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the number of requests answered.
    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    let words = json!({
        "request": "Something was wanted", "investigated": "", "learned": "", "completed": "It was done",
        "next_steps": "", "observations": [],
    });
    let reply = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [{ "type": "tool_use", "id": "toolu_1", "name": "write_memory", "input": words }],
        "usage": { "input_tokens": 900, "output_tokens": 100 },
    })
    .to_string();
    // The response time of a fast model.
    thread::sleep(std::time::Duration::from_millis(100));
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n", reply.len());
    (&stream).write_all(format!("{head}Connection: close\r\n\r\n{reply}").as_bytes())
}
