//! As much of HTTP/1.1 as the client speaks to a model.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// One request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path, without what follows a question mark.
    pub(crate) path: String,
    /// The session that the client says it comes from.
    pub(crate) session: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection; none when the client has closed it.
    pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let mut request = Self { method: method.to_owned(), path, session: String::new(), body: Vec::new() };
        let mut length = 0;
        loop {
            let mut line = String::new();
            from.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap_or_default(),
                "x-claude-code-session-id" => request.session = value.trim().to_owned(),
                _ => {}
            }
        }
        from.take(length).read_to_end(&mut request.body)?;
        Ok(Some(request))
    }
}

/// Answers with JSON, but to a HEAD request without.
pub(crate) fn plain(out: &mut impl Write, request: &Request, status: u64, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    write!(
        out,
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )?;
    if request.method != "HEAD" {
        out.write_all(body.as_bytes())?;
    }
    out.flush()
}

/// Begins an answer that is a stream of events.
pub(crate) fn begin_events(out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
    )
}

/// Sends one event, named by its own type, at once.
pub(crate) fn event(out: &mut impl Write, data: &Value) -> io::Result<()> {
    let event = format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default());
    write!(out, "{:x}\r\n{event}\r\n", event.len())?;
    out.flush()
}

/// Sends one event without a name, at once.
pub(crate) fn data(out: &mut impl Write, data: &str) -> io::Result<()> {
    let event = format!("data: {data}\r\n\r\n");
    write!(out, "{:x}\r\n{event}\r\n", event.len())?;
    out.flush()
}

/// Ends the stream.
pub(crate) fn end_of_events(out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"0\r\n\r\n")?;
    out.flush()
}
