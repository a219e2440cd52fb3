//! The vector of a question, computed by the endpoint. Only the worker connects to the endpoint.
//!
//! An endpoint that is slow or gone must not delay anything else. It is called on separate threads, not on those that read
//! the database, and after a failure it is not called for a while.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use longhaul_embedding::Vector;
use longhaul_runtime::ErrorLog;
use longhaul_runtime::waiting_times::ENDPOINT_ANSWER_FOR_SEARCH;
use serde_json::json;
use tokio::sync::{Semaphore, oneshot};

use crate::embeddings::Endpoint;
use crate::params::Params;
use crate::response::{Answer, json};
use crate::routes::Shared;

/// How long the endpoint is not called after a failure.
const PAUSE: Duration = Duration::from_secs(10);

/// How many questions may wait for the endpoint. Any others are answered without it.
static ASKED: Semaphore = Semaphore::const_new(4);

/// Until when the endpoint is not called.
static PAUSED: Mutex<Option<Instant>> = Mutex::new(None);

/// Returns the vector of a text.
pub(crate) async fn embedding(State(worker): State<Shared>, request: Request) -> Answer {
    let text = Params::of(request.uri()).needed("text")?.to_owned();
    let (env, config) = worker.now()?;
    let found = match Endpoint::of(&config) {
        Some(endpoint) if !is_paused() => {
            ask(endpoint.within(ENDPOINT_ANSWER_FOR_SEARCH), text, ErrorLog::new(&env, "worker")).await
        }
        Some(_) | None => None,
    };
    let (name, vector) = found.unzip();
    let values: Option<Vec<i8>> = vector.map(|vector| vector.to_bytes().into_iter().map(|byte| byte as i8).collect());
    Ok(json(&json!({ "model": name, "vector": values })))
}

/// Calls the endpoint; `None` if it does not answer or too many questions wait for it.
async fn ask(endpoint: Endpoint, text: String, log: ErrorLog) -> Option<(String, Vector)> {
    let permit = ASKED.try_acquire().ok()?;
    let (answer, answered) = oneshot::channel();
    let work = move || {
        let asked = endpoint.embed(&[text]);
        if let Err(error) = &asked {
            *PAUSED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + PAUSE);
            log.write(&format!("embeddings: {error}"));
        }
        drop(permit);
        let vector = asked.ok().and_then(|vectors| vectors.into_iter().next().flatten());
        // The client may have disconnected.
        let _ = answer.send(vector.map(|vector| (endpoint.name().to_owned(), vector)));
    };
    thread::Builder::new().name("question".to_owned()).spawn(work).ok()?;
    answered.await.ok().flatten()
}

fn is_paused() -> bool {
    PAUSED.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| Instant::now() < until)
}
