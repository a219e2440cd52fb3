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
use longhaul_runtime::{Error, ErrorLog, Home, ModelAccess, Sanitizer, waiting_times};
use longhaul_store::{RecordParts, Store, Waiting};
use serde_json::{Value, json};

use crate::model::Stop;

/// How long the loop waits after a failure; the time doubles with each failure, up to the maximum.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// The loop; it is stopped when this is dropped. A running request ends with the process.
#[derive(Debug)]
pub(crate) struct Embedder {
    stop: Arc<Stop>,
}

/// Starts the loop.
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
        let pause = match look(home) {
            Ok(look) => {
                if std::mem::take(&mut is_noted) {
                    EndpointTrouble::clear(home);
                }
                match look {
                    Look::More => {
                        failures = 0;
                        Duration::ZERO
                    }
                    Look::Nothing => waiting_times::WORKER_LOOKS_FOR_WORK,
                }
            }
            Err(problem) => {
                let pause = PAUSE.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST_PAUSE);
                failures = failures.saturating_add(1);
                note_trouble(home, &problem, failures);
                is_noted = true;
                pause
            }
        };
        stop.wait(pause);
    }
}

/// Writes a failure to the log, and to the file that `longhaul doctor` reads.
fn note_trouble(home: &Home, problem: &str, failures: u32) {
    let env = longhaul_runtime::env();
    // The endpoint may have quoted a text.
    let problem = Sanitizer::new(&Config::default()).clean(problem);
    let log = ErrorLog::new(&env, "worker");
    log.write(&format!("embeddings: {problem}"));
    if let Err(error) = EndpointTrouble::write(home, env.now, failures, &problem) {
        log.write(&format!("embeddings: {}", error.chain()));
    }
}

/// The result of one round.
enum Look {
    /// Vectors were stored: there may be more to do.
    More,
    /// There is nothing to do.
    Nothing,
}

fn look(home: &Home) -> Result<Look, String> {
    let message = |error: Error| error.chain();
    let env = longhaul_runtime::env();
    let (config, _) = longhaul_runtime::config(&env).map_err(message)?;
    let Some(endpoint) = Endpoint::of(&config) else { return Ok(Look::Nothing) };
    let Some(store) = home.existing_store().map_err(message)? else { return Ok(Look::Nothing) };
    let stored = |error| message(Error::from(error));
    let model = match store.known_vector_model(endpoint.name()).map_err(stored)? {
        Some(model) => model,
        None => {
            let dims = endpoint.dims().map_err(|error| error.to_string())?;
            store.vector_model(endpoint.name(), dims).map_err(stored)?
        }
    };
    let in_use = Meaning::open(&env, home, &config).ok().flatten().map(|meaning| meaning.models_in_use());
    let in_use = in_use.unwrap_or_else(|| vec![endpoint.name().to_owned()]);
    let waiting = store.waiting_for_vectors(&model, &in_use, env.now).map_err(stored)?;
    if waiting.is_empty() {
        return Ok(Look::Nothing);
    }
    let may_send = |record: &RecordParts| !is_excluded(&config.memory, &env, Path::new(&record.folder));
    let (vectors, computed) = compute(&endpoint, &waiting, may_send);
    if computed.refused > 0 {
        let Computed { refused, refusal, .. } = &computed;
        let message = format!("embeddings: no vector for {} that was refused: {refusal}", counted(*refused, "text"));
        ErrorLog::new(&env, "worker").write(&Sanitizer::new(&Config::default()).clean(&message));
    }
    let dims: BTreeSet<usize> = vectors.iter().flatten().flatten().map(Vector::dims).collect();
    let other = dims.iter().copied().find(|dims| *dims != model.dims);
    match other {
        None => {
            // Otherwise everything would wait again, as it does anyway.
            if computed.failure.is_none() || !computed.vectors.is_empty() {
                put(&store, home, &model, &waiting, &vectors).map_err(message)?;
            }
            computed.failure.map_or(Ok(Look::More), Err)
        }
        Some(_) if dims.len() > 1 => Err(format!("{} answered with vectors of different lengths", endpoint.host())),
        Some(other) => {
            // The endpoint now has another model under the same name. That counts as a failure, so that an endpoint which
            // keeps changing is not asked without a pause.
            store.vector_model(endpoint.name(), other).map_err(stored)?;
            let (host, before) = (endpoint.host(), model.dims);
            Err(format!("{host} answers with {other} dimensions instead of {before}: all vectors are computed again"))
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

/// The vectors that an endpoint has computed.
#[derive(Debug, Default, PartialEq)]
struct Computed {
    /// The vectors of the first texts, in order; `None` for a text that has none.
    vectors: Vec<Option<Vector>>,
    /// How many of these texts were refused, and what the endpoint said about the last one.
    refused: usize,
    refusal: String,
    /// Why the vectors of the other texts are missing.
    failure: Option<String>,
}

/// Computes the vectors of texts, `batch` of them in a request. `embed` sends a request.
///
/// A refused batch is sent again, text by text. A text that is refused alone has no vector. An endpoint that accepts no text
/// at all, such as one whose model was removed, has failed: that is not due to the texts.
fn embed_all(
    texts: &[String],
    batch: usize,
    mut embed: impl FnMut(&[String]) -> Result<Vec<Option<Vector>>, EmbedError>,
) -> Computed {
    let mut computed = Computed::default();
    for texts in texts.chunks(batch.max(1)) {
        let asked = match embed(texts) {
            Err(EmbedError::Refused(_)) => one_by_one(texts, &mut computed, &mut embed),
            asked => asked,
        };
        match asked {
            Ok(vectors) => computed.vectors.extend(vectors),
            Err(error) => {
                computed.failure = Some(error.to_string());
                break;
            }
        }
    }
    computed
}

fn one_by_one(
    texts: &[String],
    computed: &mut Computed,
    embed: &mut impl FnMut(&[String]) -> Result<Vec<Option<Vector>>, EmbedError>,
) -> Result<Vec<Option<Vector>>, EmbedError> {
    let mut vectors = Vec::with_capacity(texts.len());
    let mut refusals = Vec::new();
    for text in texts {
        match embed(std::slice::from_ref(text)) {
            Ok(one) => vectors.push(one.into_iter().next().flatten()),
            Err(EmbedError::Refused(reason)) => {
                vectors.push(None);
                refusals.push(reason);
            }
            Err(failed) => return Err(failed),
        }
    }
    if vectors.iter().all(Option::is_none) && !is_accepted(PROBE, embed)? {
        let reason = refusals.pop().unwrap_or_else(|| "the endpoint gave no vector".to_owned());
        return Err(EmbedError::Failed(reason));
    }
    computed.refused += refusals.len();
    if let Some(reason) = refusals.pop() {
        computed.refusal = reason;
    }
    Ok(vectors)
}

fn is_accepted(
    text: &str,
    embed: &mut impl FnMut(&[String]) -> Result<Vec<Option<Vector>>, EmbedError>,
) -> Result<bool, EmbedError> {
    match embed(&[text.to_owned()]) {
        Ok(vectors) => Ok(vectors.iter().any(Option::is_some)),
        Err(EmbedError::Refused(_)) => Ok(false),
        Err(failed) => Err(failed),
    }
}

/// The most dimensions of a vector.
const MAX_DIMS: usize = 4_096;

/// The bytes that a number of a vector may take in a reply.
const NUMBER_BYTES: usize = 32;

/// The bytes that a reply may have besides its numbers, and those that no reply may exceed.
const OTHER_BYTES: usize = 64 * 1024;
const MAX_REPLY: usize = 64 * 1024 * 1024;

/// Why an endpoint has computed no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EmbedError {
    /// It does not accept the request. The cause may be one of the texts, such as one that is too long for its model.
    #[error("{0}")]
    Refused(String),
    /// It could not be called, or its answer cannot be used. The cause is not one of the texts.
    #[error("{0}")]
    Failed(String),
}

/// Where texts are sent, and which model answers.
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

    /// Returns the host and port that texts are sent to, for messages.
    ///
    /// The rest of the address may hold a user name, a password or a key, and messages are written to the log.
    pub(crate) fn host(&self) -> &str {
        host_of(&self.url)
    }

    /// Returns the name under which its vectors are stored.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Asks how many dimensions its vectors have.
    fn dims(&self) -> Result<usize, EmbedError> {
        let vector = self.embed(&["dimensions".to_owned()])?.into_iter().next().flatten();
        vector.map(|vector| vector.dims()).ok_or_else(|| EmbedError::Failed(format!("{} gave no vector", self.host())))
    }

    /// Computes the vectors of texts, in one request; `None` for a text that has none.
    pub(crate) fn embed(&self, texts: &[String]) -> Result<Vec<Option<Vector>>, EmbedError> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(self.limit))
            .http_status_as_error(false)
            // The texts are for this endpoint, wherever it would lead.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build()
            .into();
        let mut request = agent.post(&self.url).header("content-type", "application/json");
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
    for (place, one) in data.iter().enumerate() {
        let index = one.get("index").and_then(Value::as_u64).map_or(place, |index| index as usize);
        let values = one.get("embedding")?.as_array()?;
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
mod tests {
    use longhaul_memory::embedding::Vector;

    use super::{Computed, EmbedError, PROBE, embed_all, host_of, is_refusal, read};

    /// Asks an endpoint that refuses texts with `long` in them, and breaks at `crash`. Returns the sizes of the requests too.
    fn ask(texts: &[&str], batch: usize, accepts: impl Fn(&str) -> bool) -> (Computed, Vec<usize>) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let mut requests = Vec::new();
        let computed = embed_all(&texts, batch, |texts| {
            requests.push(texts.len());
            if texts.iter().any(|text| text.contains("crash")) {
                return Err(EmbedError::Failed("gone".to_owned()));
            }
            if !texts.iter().all(|text| accepts(text)) {
                return Err(EmbedError::Refused("too long".to_owned()));
            }
            Ok(texts.iter().map(|_| Vector::new(&[1.0, 0.0])).collect())
        });
        (computed, requests)
    }

    fn has(computed: &Computed) -> Vec<bool> {
        computed.vectors.iter().map(Option::is_some).collect()
    }

    fn is_short(text: &str) -> bool {
        !text.contains("long")
    }

    #[test]
    fn a_refused_text_has_no_vector_and_the_others_have_theirs() {
        let (computed, requests) = ask(&["a", "long", "b", "c", "d"], 3, is_short);
        assert_eq!(has(&computed), [true, false, true, true, true]);
        assert_eq!((computed.refused, computed.refusal.as_str(), computed.failure), (1, "too long", None));
        assert_eq!(requests, [3, 1, 1, 1, 2]);
    }

    #[test]
    fn a_batch_of_refused_texts_is_refused_where_the_endpoint_accepts_another() {
        let (computed, requests) = ask(&["long 1", "long 2", "a"], 2, is_short);
        assert_eq!(has(&computed), [false, false, true]);
        assert_eq!((computed.refused, computed.failure), (2, None));
        assert_eq!(requests, [2, 1, 1, 1, 1], "after two refusals a text that is accepted");
    }

    #[test]
    fn an_endpoint_that_accepts_nothing_has_failed() {
        for accepts in [|_: &str| false, |text: &str| text == "nothing of this"] {
            let (computed, _) = ask(&["a", "b", "c"], 2, accepts);
            assert_eq!(has(&computed), [false; 0]);
            assert_eq!(computed.failure.as_deref(), Some("too long"));
        }
        let (computed, _) = ask(&["a", "long"], 1, |text| text == "a");
        assert_eq!((has(&computed), computed.failure.as_deref()), (vec![true], Some("too long")), "{PROBE} is refused");
    }

    #[test]
    fn what_was_computed_before_a_failure_is_kept() {
        let (computed, requests) = ask(&["a", "b", "crash", "c"], 2, is_short);
        assert_eq!((has(&computed), computed.failure.as_deref()), (vec![true, true], Some("gone")));
        assert_eq!(requests, [2, 2], "a failure is not tried text by text");
    }

    #[test]
    fn messages_name_the_host_and_nothing_else_of_the_address() {
        for (url, host) in [
            ("http://127.0.0.1:11434/v1/embeddings", "127.0.0.1:11434"),
            ("https://ann:secret@example.org/v1/embeddings?key=secret", "example.org"),
            ("https://ann:se@cret@example.org:8443", "example.org:8443"),
            ("http://[::1]:80/x", "[::1]:80"),
            ("example.org/secret", "example.org"),
            ("", ""),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
    }

    #[test]
    fn vectors_are_put_in_the_order_of_the_texts() {
        let reply = r#"{"data":[{"index":1,"embedding":[0.0,2.0]},{"index":0,"embedding":[3.0,0]}]}"#;
        let vectors = read(reply, 2).unwrap();
        let first: Vec<u8> = vectors[0].as_ref().unwrap().to_bytes();
        assert_eq!(first, [127, 0]);
        assert_eq!(vectors[1].as_ref().unwrap().to_bytes(), [0, 127]);
    }

    #[test]
    fn a_vector_that_is_not_finite_is_none_and_the_others_are_read() {
        for numbers in ["null, 1", "1e999, 1", "0, 0"] {
            let reply = format!(r#"{{"data":[{{"embedding":[{numbers}]}},{{"embedding":[0.0,2.0]}}]}}"#);
            let Some(vectors) = read(&reply, 2) else {
                assert_eq!(numbers, "1e999, 1", "JSON has no such number");
                continue;
            };
            assert!(vectors[0].is_none() && vectors[1].is_some(), "{numbers}");
        }
    }

    #[test]
    fn a_status_is_a_refusal_where_a_text_may_be_the_cause() {
        let refusals: Vec<u16> = (200..600).filter(|status| is_refusal(*status)).collect();
        for status in [400, 404, 413, 422, 500] {
            assert!(refusals.contains(&status), "{status}");
        }
        for status in [301, 401, 403, 408, 429, 502, 503, 504] {
            assert!(!refusals.contains(&status), "{status}");
        }
    }

    #[test]
    fn a_reply_that_does_not_fit_is_refused() {
        for reply in [
            "",
            "{}",
            r#"{"data":[]}"#,
            r#"{"data":[{"embedding":[1]}]}"#,
            r#"{"data":[{"embedding":[1]},{"embedding":"base64"}]}"#,
            r#"{"data":[{"embedding":[1]},{"embedding":[]}]}"#,
            r#"{"data":[{"index":7,"embedding":[1]},{"embedding":[1]}]}"#,
        ] {
            assert_eq!(read(reply, 2), None, "{reply}");
        }
    }
}
