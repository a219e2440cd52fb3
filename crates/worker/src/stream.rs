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

/// The maximum number of listeners.
const MOST: usize = 128;

/// How many events a listener may leave unread before it is disconnected. The browser connects again and continues.
const UNREAD: usize = 32;

/// All listeners.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    clients: Mutex<Vec<Client>>,
    joining: Mutex<Vec<Joining>>,
    /// Notified when a listener connects.
    pub(crate) wake: Notify,
}

/// A listener.
#[derive(Debug)]
pub(crate) struct Client {
    events: mpsc::Sender<Bytes>,
}

/// A new listener, which has received nothing yet.
#[derive(Debug)]
pub(crate) struct Joining {
    client: Client,
    /// The last event that it has seen, if it was connected before.
    pub(crate) has: Option<Newest>,
}

impl Hub {
    /// Returns the number of listeners.
    pub(crate) fn clients(&self) -> usize {
        let mut clients = lock(&self.clients);
        clients.retain(|client| !client.events.is_closed());
        clients.len() + lock(&self.joining).len()
    }

    /// Sends an event to all listeners. One that does not keep up is disconnected.
    pub(crate) fn send(&self, event: &Bytes) {
        lock(&self.clients).retain(|client| client.send(event));
    }

    /// Returns the new listeners.
    pub(crate) fn take_joining(&self) -> Vec<Joining> {
        std::mem::take(&mut *lock(&self.joining))
    }

    /// Sends the first events to a new listener, which gets all later events too.
    pub(crate) fn welcome(&self, joining: Joining, greeting: &[Bytes]) {
        if greeting.iter().all(|event| joining.client.send(event)) {
            lock(&self.clients).push(joining.client);
        }
    }

    /// Disconnects all listeners.
    pub(crate) fn close(&self) {
        lock(&self.clients).clear();
        lock(&self.joining).clear();
    }

    fn join(&self, has: Option<Newest>) -> Option<Events> {
        if self.clients() >= MOST {
            return None;
        }
        let (events, receiver) = mpsc::channel(UNREAD);
        lock(&self.joining).push(Joining { client: Client { events }, has });
        self.wake.notify_one();
        Some(Events { receiver })
    }
}

impl Client {
    fn send(&self, event: &Bytes) -> bool {
        self.events.try_send(event.clone()).is_ok()
    }
}

/// A response body that does not end.
struct Events {
    receiver: mpsc::Receiver<Bytes>,
}

impl http_body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
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

/// Returns the response with the stream of events.
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
mod tests {
    use longhaul_core::Millis;
    use longhaul_store::Newest;

    use super::{event, mark, read_mark};

    #[test]
    fn a_mark_comes_back_as_it_was_sent() {
        let newest = Newest { prompt: 1, observation: 22, summary: 0, summary_at: Millis(1_700_000_000_123) };
        assert_eq!(read_mark(&mark(&newest)), Some(newest));
        for text in ["", "1", "1.2.3", "a.b.c.d", "-1.2.3.4"] {
            assert_eq!(read_mark(text), None, "{text}");
        }
    }

    #[test]
    fn an_event_is_three_lines_whatever_is_in_it() {
        let text = event("rows", Some(&Newest::default()), &"a\nb\r\n\nevent: x");
        let text = String::from_utf8(text.to_vec()).unwrap();
        assert_eq!(text, "event: rows\nid: 0.0.0.0\ndata: \"a\\nb\\r\\n\\nevent: x\"\n\n");
    }
}
