//! Vectors by a model of the user's choice, over HTTP (`memory.embeddings`).
//!
//! A thread looks for records without vectors, sends their text to the endpoint and stores the answers. It does nothing
//! while no endpoint is set. Records of projects that are excluded from the memory are not sent.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use longhaul_core::{Config, counted, may_receive_secret};
use longhaul_memory::embedding::Vector;
use longhaul_runtime::memory::is_excluded;
use longhaul_runtime::memory::meaning::{Meaning, endpoint_model};
use longhaul_runtime::worker::EndpointTrouble;
use longhaul_runtime::{Error, Home, ModelAccess, Sanitizer, waiting_times};
use longhaul_store::{RecordParts, Store, Waiting};
use serde_json::{Value, json};

use crate::model::call::agent;
use crate::model::{Stop, pause};
use crate::serve::log;

/// The loop; it is stopped when this is dropped. A running request ends with the process.
#[derive(Debug)]
pub(crate) struct Embedder {
    stop: Arc<Stop>,
}

pub(crate) fn start(home: &Home) -> Embedder {
    let stop = Arc::new(Stop::default());
    let (home, signal) = (home.clone(), Arc::clone(&stop));
    // If the thread cannot be started, there are no vectors of the endpoint; everything else works.
    let _ = thread::Builder::new().name("embeddings".to_owned()).spawn(move || run(&home, &signal));
    Embedder { stop }
}

impl Drop for Embedder {
    fn drop(&mut self) {
        self.stop.end();
    }
}

fn run(home: &Home, stop: &Stop) {
    let mut failures = 0_u32;
    // An earlier worker may have left one.
    let mut is_noted = true;
    while stop.is_wanted() {
        let stored = store_vectors(home);
        if stored.is_ok() && std::mem::take(&mut is_noted) {
            EndpointTrouble::clear(home);
        }
        let pause = match stored {
            Ok(true) => {
                failures = 0;
                Duration::ZERO
            }
            Ok(false) => waiting_times::WORKER_LOOKS_FOR_WORK,
            Err(problem) => {
                let pause = pause(failures);
                failures = failures.saturating_add(1);
                note_trouble(home, &problem.to_string(), failures);
                is_noted = true;
                pause
            }
        };
        stop.wait(pause);
    }
}

/// Writes a failure to the log, and to the file that `longhaul doctor` reads.
fn note_trouble(home: &Home, problem: &str, failures: u32) {
    // The endpoint may have quoted a text.
    let problem = Sanitizer::new(&Config::default()).clean(problem);
    log(&format!("embeddings: {problem}"));
    EndpointTrouble::write(home, longhaul_runtime::env().now, failures, &problem)
        .unwrap_or_else(|error| log(&format!("embeddings: {}", error.chain())));
}

/// Stores the vectors of some records; returns whether there were any to store, so that there may be more to do.
fn store_vectors(home: &Home) -> Result<bool, EmbedError> {
    let env = longhaul_runtime::env();
    let (config, _) = longhaul_runtime::config(&env)?;
    let Some(endpoint) = Endpoint::of(&config) else { return Ok(false) };
    let Some(store) = home.existing_store()? else { return Ok(false) };
    let model = match store.known_vector_model(endpoint.name()).map_err(Error::from)? {
        Some(model) => model,
        None => store.vector_model(endpoint.name(), endpoint.dims()?).map_err(Error::from)?,
    };
    let in_use = Meaning::open(&env, home, &config).ok().flatten().map(|meaning| meaning.models_in_use());
    let in_use = in_use.unwrap_or_else(|| vec![endpoint.name().to_owned()]);
    let waiting = store.waiting_for_vectors(&model, &in_use, env.now).map_err(Error::from)?;
    if waiting.is_empty() {
        return Ok(false);
    }
    let may_send = |record: &RecordParts| !is_excluded(&config.memory, &env, Path::new(&record.folder));
    let (vectors, computed) = compute(&endpoint, &waiting, may_send);
    if let Some(refusal) = computed.refusals.last() {
        let texts = counted(computed.refusals.len(), "text");
        let message = format!("embeddings: no vector for {texts} that was refused: {refusal}");
        log(&Sanitizer::new(&Config::default()).clean(&message));
    }
    let dims: BTreeSet<usize> = vectors.iter().flatten().flatten().map(Vector::dims).collect();
    let other = dims.iter().copied().find(|dims| *dims != model.dims);
    match other {
        None => {
            // Otherwise everything would wait again, as it does anyway.
            if computed.failure.is_none() || !computed.vectors.is_empty() {
                put(&store, home, &model, &waiting, &vectors)?;
            }
            computed.failure.map_or(Ok(true), Err)
        }
        Some(_) if dims.len() > 1 => {
            Err(EmbedError::Failed(format!("{} answered with vectors of different lengths", endpoint.host())))
        }
        Some(other) => {
            // The endpoint now has another model under the same name. That counts as a failure, so that an endpoint which
            // keeps changing is not asked without a pause.
            store.vector_model(endpoint.name(), other).map_err(Error::from)?;
            let (host, before) = (endpoint.host(), model.dims);
            let answered = format!("{host} answers with {other} dimensions instead of {before}");
            Err(EmbedError::Failed(format!("{answered}: all vectors are computed again")))
        }
    }
}

/// Computes the vectors of all parts, a few texts at a time. Records that may not be sent get none.
///
/// After a failure, the vectors of the last records are missing.
fn compute(
    endpoint: &Endpoint,
    waiting: &Waiting,
    may_send: impl Fn(&RecordParts) -> bool,
) -> (Vec<Vec<Option<Vector>>>, Computed) {
    let sent: Vec<bool> = waiting.records.iter().map(may_send).collect();
    let records = || waiting.records.iter().zip(&sent);
    let texts: Vec<String> =
        records().filter(|(_, sent)| **sent).flat_map(|(record, _)| record.parts.iter().cloned()).collect();
    let computed = embed_all(&texts, BATCH, |texts| endpoint.embed(texts));
    let mut next = computed.vectors.iter().cloned();
    let vectors = records().map(|(record, sent)| match sent {
        true => next.by_ref().take(record.parts.len()).collect(),
        false => vec![None; record.parts.len()],
    });
    (vectors.collect(), computed)
}

fn put(
    store: &Store,
    home: &Home,
    model: &longhaul_store::VectorModel,
    waiting: &Waiting,
    vectors: &[Vec<Option<Vector>>],
) -> Result<(), Error> {
    match store.put_vectors(model, waiting, vectors) {
        Ok(_) => Ok(()),
        // The database is locked. A longer wait avoids that the texts have to be sent again.
        Err(error) if error.is_busy() => {
            home.store(waiting_times::DATABASE_FOR_COMPUTED)?.put_vectors(model, waiting, vectors)?;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// How many texts are sent in one request: a service on this machine without a graphics card answers it within seconds.
const BATCH: usize = 32;

/// How long the endpoint may take to answer. It may have to load its model first.
const ANSWER: Duration = Duration::from_secs(30);

/// A text that every endpoint accepts.
const PROBE: &str = "dimensions";

#[derive(Debug, Default, PartialEq)]
struct Computed {
    /// The vectors of the first texts, in order; `None` for a text that has none.
    vectors: Vec<Option<Vector>>,
    /// What the endpoint said about each of these texts that it refused.
    refusals: Vec<String>,
    /// Why the vectors of the other texts are missing.
    failure: Option<EmbedError>,
}

/// The vectors of the texts of one request, in their order; `None` for a text that has none.
type Vectors = Result<Vec<Option<Vector>>, EmbedError>;

/// Computes the vectors of texts, `batch` of them in a request. `embed` sends a request.
///
/// A refused batch is sent again, text by text. A text that is refused alone has no vector. An endpoint that accepts no text
/// at all, such as one whose model was removed, has failed: that is not due to the texts.
fn embed_all(texts: &[String], batch: usize, mut embed: impl FnMut(&[String]) -> Vectors) -> Computed {
    let mut computed = Computed::default();
    for texts in texts.chunks(batch.max(1)) {
        let answered = match embed(texts) {
            Err(EmbedError::Refused(_)) => one_by_one(texts, &mut computed.refusals, &mut embed),
            answered => answered,
        };
        match answered {
            Ok(vectors) => computed.vectors.extend(vectors),
            Err(error) => {
                computed.failure = Some(error);
                break;
            }
        }
    }
    computed
}

fn one_by_one(texts: &[String], refusals: &mut Vec<String>, embed: &mut impl FnMut(&[String]) -> Vectors) -> Vectors {
    let mut embed_text = |text: &str, refused: &mut Vec<String>| match embed(&[text.to_owned()]) {
        Ok(vectors) => Ok(vectors.into_iter().next().flatten()),
        Err(EmbedError::Refused(reason)) => {
            refused.push(reason);
            Ok(None)
        }
        Err(failed) => Err(failed),
    };
    let mut refused = Vec::new();
    let vectors = texts.iter().map(|text| embed_text(text, &mut refused)).collect::<Result<Vec<_>, _>>()?;
    if vectors.iter().all(Option::is_none) && embed_text(PROBE, &mut Vec::new())?.is_none() {
        let reason = refused.pop().unwrap_or_else(|| "the endpoint gave no vector".to_owned());
        return Err(EmbedError::Failed(reason));
    }
    refusals.extend(refused);
    Ok(vectors)
}

const MAX_DIMS: usize = 4_096;

/// The bytes that a number of a vector may take in a reply.
const NUMBER_BYTES: usize = 32;

/// The bytes that a reply may have besides its numbers, and those that no reply may exceed.
const OTHER_BYTES: usize = 64 * 1024;
const MAX_REPLY: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EmbedError {
    /// It does not accept the request. The cause may be one of the texts, such as one that is too long for its model.
    #[error("{0}")]
    Refused(String),
    /// It could not be called, or its answer cannot be used. The cause is not one of the texts.
    #[error("{0}")]
    Failed(String),
}

impl From<Error> for EmbedError {
    fn from(error: Error) -> Self {
        Self::Failed(error.chain())
    }
}

pub(crate) struct Endpoint {
    url: String,
    model: String,
    name: String,
    key: Option<String>,
    limit: Duration,
}

impl Endpoint {
    /// Returns the endpoint that the user has set; `None` where there is none.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let (base, model) = config.memory.embeddings.endpoint().filter(|_| config.memory.enabled)?;
        let base = base.trim_end_matches('/');
        let url = if base.ends_with("/embeddings") {
            base.to_owned()
        } else if base.ends_with("/v1") {
            format!("{base}/embeddings")
        } else {
            format!("{base}/v1/embeddings")
        };
        Some(Self {
            // A key goes over TLS, or to this machine, and nowhere else.
            key: ModelAccess::read().embeddings_key.filter(|_| may_receive_secret(&url)),
            url,
            model: model.to_owned(),
            name: endpoint_model(model),
            limit: ANSWER,
        })
    }

    /// Returns the same endpoint, asked for at most `limit`.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self { limit: self.limit.min(limit), ..self }
    }

    /// Returns the host and port for messages, which are written to the log. The rest of the address may hold a user name, a
    /// password or a key.
    fn host(&self) -> &str {
        host_of(&self.url)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn dims(&self) -> Result<usize, EmbedError> {
        let vector = self.embed(&[PROBE.to_owned()])?.into_iter().next().flatten();
        vector.map(|vector| vector.dims()).ok_or_else(|| EmbedError::Failed(format!("{} gave no vector", self.host())))
    }

    /// Computes the vectors of texts, in one request; `None` for a text that has none.
    pub(crate) fn embed(&self, texts: &[String]) -> Vectors {
        let mut request = agent(self.limit).post(&self.url).header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        // Some servers refuse an empty text.
        let input: Vec<&str> = texts.iter().map(|text| if text.is_empty() { " " } else { text }).collect();
        let body = json!({ "model": self.model, "input": input, "encoding_format": "float" }).to_string();
        let mut response = request.send(body).map_err(|error| self.failed("cannot ask", &error))?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(longest_reply(texts.len())).read_to_string();
        let text = text.map_err(|error| self.failed("no whole reply from", &error))?;
        if status != 200 {
            let said: String = text.chars().filter(|c| !c.is_control()).take(300).collect();
            let said = format!("{} answered {status}: {said}", self.host());
            return Err(if is_refusal(status) { EmbedError::Refused(said) } else { EmbedError::Failed(said) });
        }
        read(&text, texts.len()).ok_or_else(|| {
            let (host, count) = (self.host(), texts.len());
            EmbedError::Failed(format!("{host} did not answer with {count} vectors: is it an embeddings endpoint?"))
        })
    }

    /// Describes an error of the HTTP client, which may quote the address.
    fn failed(&self, what: &str, error: &ureq::Error) -> EmbedError {
        EmbedError::Failed(format!("{what} {}: {}", self.host(), error.to_string().replace(&self.url, self.host())))
    }
}

/// Returns whether an answer with this status may be due to the texts.
///
/// The key, the time and the number of requests have nothing to do with them. llama.cpp answers 500 for a text that is too
/// long.
fn is_refusal(status: u16) -> bool {
    status == 500 || (400..500).contains(&status) && !matches!(status, 401 | 403 | 408 | 429)
}

/// Returns the host and port of an address, without user name, password, path and query.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// Returns how long the reply to so many texts may be: a parsed number takes many times the memory of its digits.
fn longest_reply(texts: usize) -> u64 {
    let numbers = texts.saturating_mul(MAX_DIMS * NUMBER_BYTES);
    numbers.saturating_add(OTHER_BYTES).min(MAX_REPLY) as u64
}

/// Reads the vectors of a reply, in the order of the texts; `None` where there are not as many.
fn read(reply: &str, count: usize) -> Option<Vec<Option<Vector>>> {
    let reply: Value = serde_json::from_str(reply).ok()?;
    let data = reply.get("data")?.as_array()?;
    let mut vectors: Vec<Option<Option<Vector>>> = vec![None; count];
    for (place, item) in data.iter().enumerate() {
        let index = item.get("index").and_then(Value::as_u64).map_or(place, |index| index as usize);
        let values = item.get("embedding")?.as_array()?;
        if values.is_empty() || values.len() > MAX_DIMS {
            return None;
        }
        // A server writes `null` for a number that is not finite. Such a text has no vector.
        let number =
            |value: &Value| if value.is_null() { Some(f32::NAN) } else { value.as_f64().map(|value| value as f32) };
        let values: Option<Vec<f32>> = values.iter().map(number).collect();
        *vectors.get_mut(index)? = Some(Vector::new(&values?));
    }
    vectors.into_iter().collect()
}

#[cfg(test)]
mod tests;
