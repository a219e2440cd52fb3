//! Finds records by meaning: loads the model, computes missing vectors, compares. How a record is divided is in
//! `store/src/vectors/record_parts.rs`.
//!
//! Commands and the worker call [`search`], which combines words and meaning. Opening the model reads the head of its
//! file, about 350 KB, and the vector of a query needs a few of its rows. A question of one line reads the whole file, about
//! 4 MB, because the sentences of the nearest records are compared with it.

mod model_file;
mod models_state;
mod prompt;
mod search;

use std::time::Instant;

use longhaul_core::config::VectorSource;
use longhaul_core::{Config, Env, Millis};
use longhaul_memory::embedding::{Question, Vector};
use longhaul_store::{RecordId, Store, VectorModel};

use self::model_file::ModelFile;
pub use self::models_state::{EndpointState, ModelsState};
pub(crate) use self::prompt::{lacks_vectors, near_prompt};
pub use self::search::{catch_up, recall, search};
use crate::waiting_times::{self, WORKER_ANSWER};
use crate::{Error, Home, worker};

/// Maximum number of batches of 128 records for which upkeep computes vectors.
const UPKEEP: usize = 2_000;

/// Number of parts of a record whose sentences are compared with a question. Of the others, the vectors are.
const COMPARED_PARTS: usize = 2;

/// Number of unused vectors that are deleted in one transaction.
const DROPPED_AT_ONCE: usize = 20_000;

/// How many missing vectors are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// The newest, in a fraction of a second. Upkeep computes the rest.
    Search,
    /// All.
    Upkeep,
}

/// The models that compute vectors of texts.
#[derive(Debug)]
pub struct Meaning {
    file: Option<ModelFile>,
    /// The model of the endpoint, if one is configured.
    endpoint: Option<String>,
    home: Home,
}

impl Meaning {
    /// Opens the model; `None` if there is none or it is switched off.
    pub fn open(env: &Env, home: &Home, config: &Config) -> Result<Option<Self>, Error> {
        let source = &config.memory.embeddings;
        if !config.memory.enabled || *source == VectorSource::Off {
            return Ok(None);
        }
        let file = ModelFile::find(env, source)?;
        let endpoint = source.endpoint().map(|(_, model)| endpoint_model(model));
        let is_there = file.is_some() || endpoint.is_some();
        Ok(is_there.then(|| Self { file, endpoint, home: home.clone() }))
    }

    /// Returns whether the file of the model is still the one that was opened.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.file.as_ref().is_none_or(ModelFile::is_unchanged)
    }

    /// Returns the names of the models whose vectors are used: that of the file, and that of the endpoint if one is
    /// configured.
    pub fn models_in_use(&self) -> Vec<String> {
        let file = self.file.as_ref().map(|file| file.id().to_owned());
        file.into_iter().chain(self.endpoint.clone()).collect()
    }

    /// Deletes the vectors of models that are no longer in use, once another model has computed its own.
    pub fn drop_unused(&self, store: &Store, now: Millis) -> Result<(), Error> {
        while store.drop_unused_vectors(&self.models_in_use(), now, DROPPED_AT_ONCE)? {}
        Ok(())
    }

    /// Computes missing vectors of the bundle's model. Returns their number. The worker computes those of an endpoint.
    pub fn catch_up(&self, store: &Store, now: Millis, effort: Effort) -> Result<usize, Error> {
        let Some(file) = &self.file else { return Ok(0) };
        let vectors = store.vector_model(file.id(), file.dims())?;
        let in_use = self.models_in_use();
        let begun = Instant::now();
        let (mut stored, mut model) = (0, None);
        for _ in 0..UPKEEP {
            let is_over =
                effort == Effort::Search && (begun.elapsed() > waiting_times::VECTORS_IN_SEARCH || store.is_crowded());
            let waiting = store.waiting_for_vectors(&vectors, &in_use, now)?;
            if waiting.is_empty() || is_over {
                break;
            }
            if model.is_none() {
                model = Some(file.load()?);
            }
            let Some(model) = &model else { break };
            let computed: Vec<Vec<Option<Vector>>> = waiting
                .records
                .iter()
                .map(|record| record.parts.iter().map(|part| model.embed(part)).collect())
                .collect();
            stored += store.put_vectors(&vectors, &waiting, &computed)?;
        }
        Ok(stored)
    }

    /// Returns at most `most` records with nearly the same meaning as `text`, the most similar first.
    ///
    /// `project_key` selects a project; `None` searches all. The vectors of the endpoint are compared if one is
    /// configured and the worker runs, otherwise those of the bundle's model. A similarity below 0.25 means nothing.
    pub fn nearest(
        &self,
        store: &Store,
        project_key: Option<&str>,
        text: &str,
        most: usize,
    ) -> Result<Vec<(RecordId, f32)>, Error> {
        let Some((model, query)) = self.question(store, text)? else { return Ok(Vec::new()) };
        Ok(store.nearest(&model, project_key, &query, most)?)
    }

    /// Returns how close the closest sentences of records are to a question; empty if an endpoint has computed their vectors.
    fn closeness(&self, store: &Store, text: &str, records: &[(RecordId, f32)]) -> Result<Vec<f32>, Error> {
        let Some(file) = self.file.as_ref().filter(|_| self.endpoint.is_none() && !records.is_empty()) else {
            return Ok(Vec::new());
        };
        let model = file.load()?;
        let Some(question) = Question::new(&model, text) else { return Ok(Vec::new()) };
        let mut closeness = Vec::with_capacity(records.len());
        for (record, similarity) in records {
            let mut parts = store.parts_of(*record)?.unwrap_or_default();
            parts.truncate(COMPARED_PARTS);
            closeness.push(question.closeness(&parts.join("\n")).max(*similarity));
        }
        Ok(closeness)
    }

    /// Returns whether the model knows any of these words. For the model of an endpoint that is not known, and assumed.
    fn knows_any_word(&self, words: &str) -> bool {
        self.endpoint.is_some() || self.file.as_ref().is_some_and(|file| file.knows_any_word(words))
    }

    /// Computes the vector of a question, by the best model that has vectors.
    fn question(&self, store: &Store, text: &str) -> Result<Option<(VectorModel, Vector)>, Error> {
        if let Some(name) = &self.endpoint
            && let Some(model) = store.known_vector_model(name)?
            && let Some(query) = self.ask_worker(text).filter(|query| query.dims() == model.dims)
        {
            return Ok(Some((model, query)));
        }
        let Some(file) = &self.file else { return Ok(None) };
        let Some(model) = store.known_vector_model(file.id())? else { return Ok(None) };
        Ok(file.embed(text)?.filter(|query| query.dims() == model.dims).map(|query| (model, query)))
    }

    /// Asks the worker, which alone calls the endpoint; `None` if it does not run or does not answer.
    fn ask_worker(&self, text: &str) -> Option<Vector> {
        let worker = worker::running(&self.home)?;
        let answer = worker.ask(&format!("/api/embedding?text={}", percent_encoded(text)), WORKER_ANSWER)?;
        let values: Vec<i8> = serde_json::from_str::<serde_json::Value>(&answer)
            .ok()
            .and_then(|answer| serde_json::from_value(answer.get("vector")?.clone()).ok())?;
        Some(Vector::from_bytes(&values.iter().map(|value| *value as u8).collect::<Vec<u8>>()))
    }
}

/// Returns the name under which the vectors of an endpoint's model are stored.
pub fn endpoint_model(model: &str) -> String {
    format!("endpoint:{model}")
}

/// Maximum length of a question that is sent to the worker, in bytes.
const MAX_QUESTION: usize = 2_000;

/// Encodes a text for a URL.
fn percent_encoded(text: &str) -> String {
    let mut end = text.len().min(MAX_QUESTION);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut encoded = String::new();
    for byte in text[..end].bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
