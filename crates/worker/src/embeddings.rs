//! Vectors by a model of the user's choice, over HTTP (`memory.embeddings.endpoint`).
//!
//! A thread looks for records without vectors, sends their text to the endpoint and stores the answers. It does nothing
//! while no endpoint is set.

mod endpoint;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use longhaul_core::Config;
use longhaul_embedding::Vector;
use longhaul_runtime::memory::meaning::Meaning;
use longhaul_runtime::{Error, ErrorLog, Home};
use longhaul_store::{Store, Waiting};

pub(crate) use self::endpoint::Endpoint;
use crate::model::Stop;

/// How often it looks for something to do.
const LOOK: Duration = Duration::from_secs(2);

/// How long it waits after a failure; twice as long after the next, up to the most.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// The loop, ended when dropped. A request that is under way ends with the process.
#[derive(Debug)]
pub(crate) struct Embedder {
    stop: Arc<Stop>,
}

/// Starts the loop.
pub(crate) fn start(home: &Home) -> Embedder {
    let stop = Arc::new(Stop::default());
    let (home, signal) = (home.clone(), Arc::clone(&stop));
    // Without a thread there are no vectors of the endpoint, and everything else works.
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
    while stop.is_wanted() {
        let pause = match look(home) {
            Ok(Look::More) => {
                failures = 0;
                Duration::ZERO
            }
            Ok(Look::Nothing) => LOOK,
            Err(problem) => {
                ErrorLog::new(&longhaul_runtime::env(), "worker").write(&format!("embeddings: {problem}"));
                let pause = PAUSE.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST_PAUSE);
                failures = failures.saturating_add(1);
                pause
            }
        };
        stop.wait(pause);
    }
}

/// What a look has come to.
enum Look {
    /// Vectors were stored: there may be more to do.
    More,
    /// There is nothing to do.
    Nothing,
}

fn look(home: &Home) -> Result<Look, String> {
    let told = |error: Error| error.chain();
    let env = longhaul_runtime::env();
    let (config, _) = longhaul_runtime::config(&env).map_err(told)?;
    let Some(endpoint) = Endpoint::of(&config) else { return Ok(Look::Nothing) };
    let Some(store) = home.existing_store().map_err(told)? else { return Ok(Look::Nothing) };
    let stored = |error| told(Error::from(error));
    let model = match store.known_vector_model(endpoint.name()).map_err(stored)? {
        Some(model) => model,
        None => {
            let dims = endpoint.dims()?;
            store.vector_model(endpoint.name(), dims).map_err(stored)?
        }
    };
    let in_use = Meaning::open(&env, home, &config).ok().flatten().map(|meaning| meaning.models_in_use());
    let in_use = in_use.unwrap_or_else(|| vec![endpoint.name().to_owned()]);
    let waiting = store.waiting_for_vectors(&model, &in_use, env.now).map_err(stored)?;
    if waiting.is_empty() {
        return Ok(Look::Nothing);
    }
    let vectors = compute(&endpoint, &waiting, &config)?;
    let dims: BTreeSet<usize> = vectors.iter().flatten().flatten().map(Vector::dims).collect();
    let other = dims.iter().copied().find(|dims| *dims != model.dims);
    match other {
        None => {
            put(&store, home, &model, &waiting, &vectors).map_err(told)?;
            Ok(Look::More)
        }
        Some(_) if dims.len() > 1 => Err(format!("{} answered with vectors of different lengths", endpoint.host())),
        Some(other) => {
            // The endpoint has another model under the same name now. That counts as a failure, so that an endpoint which
            // changes its mind all the time is not asked without a pause.
            store.vector_model(endpoint.name(), other).map_err(stored)?;
            let (host, before) = (endpoint.host(), model.dims);
            Err(format!("{host} answers with {other} dimensions instead of {before}: all vectors are computed again"))
        }
    }
}

/// Computes the vectors of all parts, a few texts at a time.
fn compute(endpoint: &Endpoint, waiting: &Waiting, config: &Config) -> Result<Vec<Vec<Option<Vector>>>, String> {
    let texts: Vec<String> = waiting.passages.iter().flat_map(|passage| passage.parts.iter().cloned()).collect();
    let batch = (config.memory.embeddings.batch.0 as usize).clamp(1, 1_024);
    let mut computed = Vec::with_capacity(texts.len());
    for texts in texts.chunks(batch) {
        computed.extend(endpoint.embed(texts)?);
    }
    let mut computed = computed.into_iter();
    Ok(waiting.passages.iter().map(|passage| computed.by_ref().take(passage.parts.len()).collect()).collect())
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
        // Others write; the texts are sent again rather than lost.
        Err(error) if error.is_busy() => {
            home.store(Duration::from_secs(30))?.put_vectors(model, waiting, vectors)?;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}
