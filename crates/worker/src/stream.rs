//! `/stream`: the listeners, how many there may be, and the format of their events. What is sent, and when, is in
//! `watch.rs`.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use http_body::Frame;
use longhaul_core::Millis;
use longhaul_store::Newest;
use serde::Serialize;
use tokio::sync::{Notify, mpsc};

use crate::database::lock;
use crate::routes::{Answer, Problem, Shared};

const MOST: usize = 128;

/// How many events a listener may leave unread before it is disconnected. The browser connects again and continues.
const UNREAD: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Hub {
    clients: Mutex<Vec<mpsc::Sender<Bytes>>>,
    joining: Mutex<Vec<Joining>>,
    /// Notified when a listener connects.
    pub(crate) wake: Notify,
}

/// A new listener, which has received nothing yet.
#[derive(Debug)]
pub(crate) struct Joining {
    client: mpsc::Sender<Bytes>,
    /// The last event that it has seen, if it was connected before.
    pub(crate) has: Option<Newest>,
}

impl Hub {
    pub(crate) fn clients(&self) -> usize {
        let mut clients = lock(&self.clients);
        clients.retain(|client| !client.is_closed());
        clients.len() + lock(&self.joining).len()
    }

    /// Sends an event to all listeners. One that does not keep up is disconnected.
    pub(crate) fn send(&self, event: &Bytes) {
        lock(&self.clients).retain(|client| client.try_send(event.clone()).is_ok());
    }

    pub(crate) fn take_joining(&self) -> Vec<Joining> {
        std::mem::take(&mut *lock(&self.joining))
    }

    /// Sends the first events to a new listener, which gets all later events too.
    pub(crate) fn welcome(&self, joining: Joining, greeting: &[Bytes]) {
        if greeting.iter().all(|event| joining.client.try_send(event.clone()).is_ok()) {
            lock(&self.clients).push(joining.client);
        }
    }

    pub(crate) fn close(&self) {
        lock(&self.clients).clear();
        lock(&self.joining).clear();
    }

    fn join(&self, has: Option<Newest>) -> Option<Events> {
        if self.clients() >= MOST {
            return None;
        }
        let (client, receiver) = mpsc::channel(UNREAD);
        lock(&self.joining).push(Joining { client, has });
        self.wake.notify_one();
        Some(Events(receiver))
    }
}

/// A response body that does not end.
struct Events(mpsc::Receiver<Bytes>);

impl http_body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

/// Formats an event. JSON has no line breaks.
pub(crate) fn event(name: &str, id: Option<&Newest>, data: &impl Serialize) -> Bytes {
    let id = id.map(|id| format!("id: {}\n", mark(id))).unwrap_or_default();
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {name}\n{id}data: {data}\n\n"))
}

fn mark(newest: &Newest) -> String {
    let Newest { prompt, observation, summary, summary_at } = newest;
    format!("{prompt}.{observation}.{summary}.{}", summary_at.0)
}

fn read_mark(text: &str) -> Option<Newest> {
    let mut numbers = text.split('.').map(|number| number.parse::<i64>().ok().filter(|number| *number >= 0));
    let mut next = || numbers.next().flatten();
    let (prompt, observation, summary) = (next()?, next()?, next()?);
    Some(Newest { prompt, observation, summary, summary_at: Millis(next()?.unsigned_abs()) })
}

pub(crate) async fn stream(State(worker): State<Shared>, request: Request) -> Answer {
    let has = request.headers().get("last-event-id").and_then(|id| id.to_str().ok()).and_then(read_mark);
    let Some(events) = worker.hub.join(has) else {
        let fix = "close other pages";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open", fix));
    };
    let mut response = Response::new(Body::new(events));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

#[cfg(test)]
mod tests;
