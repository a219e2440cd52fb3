//! A worker for one test.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;

use super::client::{Answer, ask};
use crate::poll::{DEADLINE, wait_for};
use crate::sandbox::Sandbox;

/// A worker that runs until it is dropped.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
}

impl Served {
    /// Starts one, and waits until it answers.
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.executable("longhaul-worker");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let path = sandbox.data_dir().join("worker.json");
        let (port, token) = wait_for(DEADLINE, "worker.json", || {
            let file: Value = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
            let is_new = file["pid"] == child.id();
            is_new.then(|| (file["port"].as_u64().unwrap() as u16, file["token"].as_str().unwrap().to_owned()))
        });
        Self { child, port, token }
    }

    /// Returns the headers of somebody who may ask anything.
    pub(crate) fn trusted(&self) -> Vec<(String, String)> {
        vec![
            ("Host".to_owned(), format!("127.0.0.1:{}", self.port)),
            ("Authorization".to_owned(), format!("Bearer {}", self.token)),
            ("Content-Type".to_owned(), "application/json".to_owned()),
        ]
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(String, String)], body: &[u8]) -> Answer {
        ask(self.port, method, path, headers, body)
    }

    /// Asks without the token, and does not mind where nobody is there any more.
    pub(crate) fn knock(&self, path: &str) {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return };
        let port = self.port;
        let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &self.trusted(), b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &self.trusted(), body.to_string().as_bytes())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
