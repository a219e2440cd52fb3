//! The server: one thread for each connection.

use std::io::{self, BufReader, BufWriter};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::http::{self, Request};
use crate::responses;
use crate::script::{self, Rule};
use crate::shown::Shown;

/// A model on a port of 127.0.0.1, until it is dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<Rule>,
    shown: Mutex<Vec<Shown>>,
    over: AtomicBool,
}

impl Model {
    /// Starts it. `rules` go before what the prompt orders.
    pub fn start(rules: Vec<Rule>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(State { rules, ..State::default() });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if shared.over.load(Ordering::Relaxed) {
                    return;
                }
                let state = Arc::clone(&shared);
                // A client that hangs up in the middle of an answer has been interrupted, which is none of our business.
                thread::spawn(move || state.serve(&connection).ok());
            }
        });
        Ok(Self { address, state })
    }

    /// Returns what the client takes for the address of the API.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns what the model has been shown so far, oldest first.
    pub fn shown(&self) -> Vec<Shown> {
        self.state.shown().clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
        // Wakes the one that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn shown(&self) -> std::sync::MutexGuard<'_, Vec<Shown>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, connection: &TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let (mut from, mut to) = (BufReader::new(connection), BufWriter::new(connection));
        while let Some(request) = Request::read(&mut from)? {
            self.answer(&request, &mut to)?;
        }
        Ok(())
    }

    fn answer(&self, request: &Request, out: &mut impl io::Write) -> io::Result<()> {
        let size = request.body.len();
        match (request.method.as_str(), request.path.as_str()) {
            ("GET" | "HEAD", "/" | "/api/hello") => http::plain(out, request, 200, &json!({ "message": "hello" })),
            ("POST", "/v1/messages/count_tokens") => {
                http::plain(out, request, 200, &json!({ "input_tokens": (size / 4).max(10) }))
            }
            ("POST", "/v1/messages") => self.reply(request, out),
            ("POST", "/v1/responses") => self.respond(request, out),
            ("POST", path) if path.ends_with(":countTokens") => {
                http::plain(out, request, 200, &json!({ "totalTokens": size / 4 }))
            }
            ("POST", path) if Dialect::of(path).is_some() => self.reply(request, out),
            _ => http::plain(out, request, 404, &error("not_found_error", "there is only a model here")),
        }
    }

    /// Answers a request of the Responses API.
    fn respond(&self, request: &Request, out: &mut impl io::Write) -> io::Result<()> {
        let shown = responses::shown(serde_json::from_slice(&request.body).unwrap_or_default());
        let reply = script::answer(&shown, &self.rules);
        let number = {
            let mut all = self.shown();
            all.push(shown);
            all.len()
        };
        match reply.error {
            Some(status) => http::plain(out, request, status, &error("api_error", "an error was ordered")),
            None => responses::stream(&reply, number, request.body.len(), out),
        }
    }

    fn reply(&self, request: &Request, out: &mut impl io::Write) -> io::Result<()> {
        let dialect = Dialect::of(&request.path);
        let body = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
        let body = dialect.map_or(body.clone(), |dialect| dialect.read(&body));
        let shown = Shown { session: request.session.clone(), body };
        let reply = script::answer(&shown, &self.rules);
        let (model, stream) = (shown.body["model"].clone(), shown.body["stream"] == true);
        let translated = shown.body.clone();
        let number = {
            let mut all = self.shown();
            all.push(shown);
            all.len()
        };
        if let Some(status) = reply.error {
            return http::plain(out, request, status, &error("api_error", "an error was ordered"));
        }
        if let Some(dialect) = dialect {
            return dialect.write(&reply, request, &translated, number, out);
        }
        let message = reply.message(&model, number, request.body.len());
        if !stream {
            return http::plain(out, request, 200, &message);
        }
        http::begin_events(out)?;
        reply.stream(&message, out)
    }
}

fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}
