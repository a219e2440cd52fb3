//! A minimal HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Requests a path and reads the whole answer; returns its status.
pub(super) fn ask(port: u16, token: &str, path: &str) -> Result<u16> {
    let mut stream = say(port, token, path, "Connection: close\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head = answer.get(9..12).context("the worker sent no answer")?;
    Ok(std::str::from_utf8(head)?.parse()?)
}

fn say(port: u16, token: &str, path: &str, more: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n{more}\r\n");
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

/// An open event stream, as the viewer has one.
pub(super) struct Page {
    lines: BufReader<TcpStream>,
}

impl Page {
    pub(super) fn open(port: u16, token: &str) -> Result<Self> {
        Ok(Self { lines: BufReader::new(say(port, token, "/stream", "")?) })
    }

    /// Waits for the first event.
    pub(super) fn greeted(&mut self) -> Result<()> {
        let mut line = String::new();
        while self.lines.read_line(&mut line)? > 0 {
            if line.starts_with("event: hello") {
                return Ok(());
            }
            line.clear();
        }
        bail!("the worker refused an event stream")
    }
}
