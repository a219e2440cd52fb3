//! Vectors by a model of the user's choice, over HTTP (`memory.embeddings.endpoint`).
//!
//! A thread looks for records without vectors, sends their text to the endpoint and stores the answers. It does nothing
//! while no endpoint is set. Records of projects that are excluded from the memory are not sent.

mod batches;
mod endpoint;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use longhaul_core::{Config, counted};
use longhaul_embedding::Vector;
use longhaul_runtime::memory::is_excluded;
use longhaul_runtime::memory::meaning::Meaning;
use longhaul_runtime::worker::EndpointTrouble;
use longhaul_runtime::{Error, ErrorLog, Home, Sanitizer, waiting_times};
use longhaul_store::{RecordParts, Store, Waiting};

use self::batches::{Computed, embed_all};
pub(crate) use self::endpoint::Endpoint;
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
    let (vectors, computed) = compute(&endpoint, &waiting, &config, may_send);
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
    config: &Config,
    may_send: impl Fn(&RecordParts) -> bool,
) -> (Vec<Vec<Option<Vector>>>, Computed) {
    let sent: Vec<bool> = waiting.records.iter().map(may_send).collect();
    let records = || waiting.records.iter().zip(&sent);
    let texts: Vec<String> =
        records().filter(|(_, sent)| **sent).flat_map(|(record, _)| record.parts.iter().cloned()).collect();
    let batch = config.memory.embeddings.batch.0.clamp(1, 1_024) as usize;
    let computed = embed_all(&texts, batch, |texts| endpoint.embed(texts));
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
