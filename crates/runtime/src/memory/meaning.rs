//! Finds records by meaning: loads the model, computes missing vectors, compares. How a record is divided is in
//! `store/src/vectors/storing.rs`.
//!
//! Commands and the worker call [`search`], which combines words and meaning: another thread compares the vectors
//! meanwhile, unless an endpoint computes them. Opening the model reads the head of its file, about 350 KB, and the
//! vector of a query needs a few of its rows. A question of one line reads the whole file, about 4 MB, because the
//! sentences of the nearest records are compared with it; the search process keeps it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use longhaul_core::config::VectorSource;
use longhaul_core::{Config, Env, Millis};
use longhaul_memory::embedding::{MAX_BYTES, Mean, Model, Question, Shape, Vector, Vocabulary};
use longhaul_memory::{Answer, Query, is_short};
use longhaul_store::{Compared, Hit, NEAREST, NearRecords, Order, RecordId, Store, StoreError, VectorModel};
use longhaul_universal_bundle::Location;

use super::search::{Recall, Wanted, find, recall_with};
use crate::files::FileIdentity;
use crate::waiting_times::{self, WORKER_ANSWER};
use crate::worker::{self, EndpointTrouble};
use crate::{Error, ErrorLog, Home, bounded_read};

/// Maximum number of batches of 128 records for which upkeep computes vectors.
const UPKEEP: usize = 2_000;

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
        let mut stored = 0;
        for _ in 0..UPKEEP {
            let is_over =
                effort == Effort::Search && (begun.elapsed() > waiting_times::VECTORS_IN_SEARCH || store.is_crowded());
            let waiting = store.waiting_for_vectors(&vectors, &in_use, now)?;
            if waiting.is_empty() || is_over {
                break;
            }
            let model = file.load()?;
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

    fn compared(&self, text: &str) -> Result<Compared, Error> {
        match &self.file {
            _ if !is_short(text) => Ok(Compared::Nothing),
            Some(file) if self.endpoint.is_none() => {
                Ok(Question::new(file.load()?, text).map_or(Compared::Nothing, Compared::Texts))
            }
            Some(_) | None => Ok(Compared::Vectors),
        }
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

/// The path of the model inside a bundle, beside `bin/`.
const IN_BUNDLE: &str = "model/static.lhvec";

#[derive(Debug)]
struct ModelFile {
    path: PathBuf,
    file: File,
    identity: FileIdentity,
    vocabulary: Vocabulary,
    /// The whole of it, once it was needed: the search process keeps it.
    model: OnceLock<Arc<Model>>,
}

impl ModelFile {
    /// Opens the configured file, or otherwise that of the bundle; `None` if there is none.
    fn find(env: &Env, source: &VectorSource) -> Result<Option<Self>, Error> {
        match source.file(env.home_dir.as_deref()) {
            Some(path) => Self::open(&path).map(Some),
            None => match in_bundle() {
                Some(path) => Self::open(&path).map(Some),
                None => Ok(None),
            },
        }
    }

    fn open(path: &Path) -> Result<Self, Error> {
        let unread = |source| Error::Read { path: path.to_owned(), source };
        let unfit = |problem| Error::Model { path: path.to_owned(), problem };
        // Before it is read: a change from now on is noticed.
        let identity = FileIdentity::with_content(path);
        let file = bounded_read::open(path).map_err(unread)?;
        let mut beginning = [0; Shape::BYTES];
        let read = file.read_at(&mut beginning, 0).map_err(unread)?;
        let shape = Shape::parse(&beginning[..read]).map_err(unfit)?;
        let mut head = vec![0; shape.head_bytes()];
        file.read_exact_at(&mut head, 0).map_err(unread)?;
        let vocabulary = Vocabulary::parse(head).map_err(unfit)?;
        Ok(Self { path: path.to_owned(), file, identity, vocabulary, model: OnceLock::new() })
    }

    fn id(&self) -> &str {
        self.vocabulary.id()
    }

    fn dims(&self) -> usize {
        self.vocabulary.shape().dims
    }

    /// Returns whether the same file is still at its path, with the same content.
    fn is_unchanged(&self) -> bool {
        self.identity.is_unchanged()
    }

    /// Returns whether the model knows a whole word of a text, and not only pieces of words.
    fn knows_any_word(&self, text: &str) -> bool {
        self.vocabulary.knows_any_word(text)
    }

    /// Computes the vector of a short text, by reading only the rows that it needs.
    fn embed(&self, text: &str) -> Result<Option<Vector>, Error> {
        let shape = self.vocabulary.shape();
        let mut mean = Mean::new(shape.dims);
        let (mut row, mut scale) = (vec![0; shape.dims], [0; 4]);
        for token in self.vocabulary.tokens(text) {
            self.read_at(&mut scale, shape.scale_offset(token))?;
            self.read_at(&mut row, shape.row_offset(token))?;
            mean.add(&row, f32::from_le_bytes(scale));
        }
        Ok(mean.finish())
    }

    /// Reads the whole model, for many texts.
    fn load(&self) -> Result<Arc<Model>, Error> {
        if let Some(model) = self.model.get() {
            return Ok(Arc::clone(model));
        }
        let length = self.file.metadata().map_err(|source| self.unread(source))?.len().min(MAX_BYTES);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        self.read_at(&mut bytes, 0)?;
        let model = Model::parse(bytes).map_err(|problem| Error::Model { path: self.path.clone(), problem })?;
        Ok(Arc::clone(self.model.get_or_init(|| Arc::new(model))))
    }

    fn read_at(&self, bytes: &mut [u8], offset: usize) -> Result<(), Error> {
        self.file.read_exact_at(bytes, offset as u64).map_err(|source| self.unread(source))
    }

    fn unread(&self, source: std::io::Error) -> Error {
        Error::Read { path: self.path.clone(), source }
    }
}

/// Returns the model of the bundle that contains this executable.
fn in_bundle() -> Option<PathBuf> {
    let executable = std::fs::canonicalize(std::env::current_exe().ok()?).ok()?;
    Some(Location::of(&executable)?.bundle.join(IN_BUNDLE)).filter(|path| path.is_file())
}

/// Searches by words and, if there is a model, by meaning, in the project with this key or in all.
///
/// An unusable model is logged, and the search uses words only.
pub fn search(
    env: &Env,
    home: &Home,
    config: &Config,
    store: &Store,
    wanted: &Wanted,
    project_key: Option<&str>,
) -> Result<Vec<Hit>, StoreError> {
    let question = SearchByMeaning { env, home, config, wanted, project_key };
    question.compare_meanwhile(store, |near| find(store, wanted, project_key, near))
}

/// Answers a question with the best passages, found by words and, if there is a model, by meaning.
///
/// An unusable model is logged, and the search uses words only.
pub fn recall(
    env: &Env,
    home: &Home,
    config: &Config,
    store: &Store,
    recall: &Recall<'_>,
) -> Result<Answer, StoreError> {
    let question = SearchByMeaning { env, home, config, wanted: &recall.wanted, project_key: recall.project_key };
    question.compare_meanwhile(store, |near| recall_with(store, recall, near))
}

/// Computes the newest missing vectors before a search, in a fraction of a second.
///
/// An error is logged, because the search works without them.
pub fn catch_up(env: &Env, home: &Home, config: &Config, store: &Store) {
    let computed = match Meaning::open(env, home, config) {
        Ok(Some(meaning)) => meaning.catch_up(store, env.now, Effort::Search),
        Ok(None) => return,
        // The search reports the problem.
        Err(_) => return,
    };
    if let Err(error) = computed {
        ErrorLog::new(env, "search").write(&error.chain());
    }
}

/// Returns the records that are near in meaning, when they are needed.
type Near<'a> = Box<dyn FnOnce() -> NearRecords + 'a>;

/// What is compared with the vectors.
#[derive(Clone, Copy)]
struct SearchByMeaning<'a> {
    env: &'a Env,
    home: &'a Home,
    config: &'a Config,
    wanted: &'a Wanted,
    project_key: Option<&'a str>,
}

impl SearchByMeaning<'_> {
    /// Runs a search by words while another thread compares the vectors; with an endpoint, after they were compared.
    fn compare_meanwhile<T>(self, store: &Store, search: impl FnOnce(Near<'_>) -> T) -> T {
        let text = wanted_text(&self.wanted.query);
        // A query with another order, or without plain words, asks for a list, not for a meaning.
        let asks_for_list = text.is_empty() || self.wanted.order != Order::Relevance;
        let meaning = if asks_for_list { None } else { self.model() };
        let Some(meaning) = meaning else { return search(Box::new(NearRecords::default)) };
        let compare = |store: &Store| self.near(&meaning, store, &text);
        // An endpoint may need seconds, for which the search must not keep its transaction open.
        if meaning.endpoint.is_some() {
            let near = compare(store);
            return search(Box::new(|| near));
        }
        let Ok(Some(reader)) = store.second_reader() else { return search(Box::new(|| compare(store))) };
        thread::scope(|scope| {
            let started =
                thread::Builder::new().spawn_scoped(scope, || reader.open().ok().map(|store| compare(&store)));
            search(Box::new(|| match started.map(ScopedJoinHandle::join) {
                Ok(Ok(Some(near))) => near,
                Ok(Err(panic)) => resume_unwind(panic),
                // The system allows no more threads or open files. Another problem of the database is reported by the search.
                Ok(Ok(None)) | Err(_) => compare(store),
            }))
        })
    }

    /// Returns the model; `None` if there is none. An unusable one is logged.
    fn model(self) -> Option<Meaning> {
        let opened = Meaning::open(self.env, self.home, self.config);
        opened.map_err(|error| self.log(&error)).ok().flatten()
    }

    /// Returns the records that are near in meaning to the words. An error is logged, because the search works without them.
    fn near(self, meaning: &Meaning, store: &Store, text: &str) -> NearRecords {
        // Of a word that the model does not know, such as a typing error, only pieces have vectors. They may change the
        // order of what words find and add to it, but must not produce results if words find nothing.
        let words: Vec<String> =
            self.wanted.query.wanted_terms().into_iter().map(|mut term| term.forms.swap_remove(0)).collect();
        let are_enough = meaning.knows_any_word(&words.join(" "));
        let found = meaning.nearest(store, self.project_key, text, NEAREST);
        let records = found.map_err(|error| self.log(&error)).unwrap_or_default();
        // A longer text has many sentences itself.
        let compared = meaning.compared(text).map_err(|error| self.log(&error)).unwrap_or_default();
        NearRecords { records, compared, are_enough }
    }

    fn log(self, error: &Error) {
        ErrorLog::new(self.env, "search").write(&error.chain());
    }
}

/// Returns the plain words of a query. A star, which matches everything, has no meaning.
fn wanted_text(query: &Query) -> String {
    let text = query.wanted();
    if text.trim() == "*" { String::new() } else { text }
}

/// Maximum number of bytes of a prompt that are compared. The question is usually at the beginning.
const COMPARED: usize = 1_000;

/// Number of the most similar records that are added to those that words find.
const COMPARED_RECORDS: usize = 50;

/// Returns the records of a project that are near in meaning to a prompt, by the bundle's model; none if there is only that
/// of an endpoint.
///
/// Only the newest vectors are compared, and none is computed. An endpoint is not called, because that can take
/// seconds.
pub(crate) fn near_prompt(
    meaning: &Meaning,
    store: &Store,
    project_key: &str,
    prompt: &str,
) -> Result<NearRecords, Error> {
    let Some(file) = &meaning.file else { return Ok(NearRecords::default()) };
    let Some(model) = store.known_vector_model(file.id())? else { return Ok(NearRecords::default()) };
    let text = &prompt[..prompt.floor_char_boundary(COMPARED)];
    let query = file.embed(text)?.filter(|query| query.dims() == model.dims);
    let Some(query) = query else { return Ok(NearRecords::default()) };
    let records = store.nearest_of_newest(&model, project_key, &query, COMPARED_RECORDS)?;
    let compared = if records.is_empty() { Compared::Nothing } else { meaning.compared(prompt)? };
    Ok(NearRecords { records, compared, are_enough: true })
}

/// Returns whether there are records without vectors of the bundle's model; `false` if there is no model.
pub(crate) fn lacks_vectors(env: &Env, home: &Home, config: &Config, store: &Store) -> Result<bool, Error> {
    let Some(meaning) = Meaning::open(env, home, config)? else { return Ok(false) };
    let Some(file) = &meaning.file else { return Ok(false) };
    match store.known_vector_model(file.id())? {
        Some(model) => Ok(store.has_new_without_vectors(&model, &meaning.models_in_use())?),
        None => Ok(true),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelsState {
    /// The id of the model file, or why it cannot be used; `None` if there is none.
    pub file: Option<Result<String, String>>,
    /// The endpoint; `None` if none is configured.
    pub endpoint: Option<EndpointState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointState {
    /// The name under which its vectors are stored.
    pub model: String,
    /// Its last failure, if it has not answered since.
    pub trouble: Option<EndpointTrouble>,
}

impl ModelsState {
    /// Reads the whole model file, and what the worker has recorded; `None` if the search by meaning is switched off.
    pub fn read(env: &Env, home: &Home, config: &Config) -> Option<Self> {
        let source = &config.memory.embeddings;
        if !config.memory.enabled || *source == VectorSource::Off {
            return None;
        }
        let file = ModelFile::find(env, source).transpose();
        let file =
            file.map(|file| file.and_then(|file| Ok(file.load()?.id().to_owned())).map_err(|error| error.chain()));
        let endpoint = source
            .endpoint()
            .map(|(_, model)| EndpointState { model: endpoint_model(model), trouble: EndpointTrouble::read(home) });
        Some(Self { file, endpoint })
    }

    /// Returns what is wrong, one line each.
    pub fn problems(&self) -> Vec<String> {
        let file = self.file.iter().filter_map(|file| file.as_ref().err().cloned());
        let trouble = self.endpoint.iter().filter_map(|endpoint| endpoint.trouble.as_ref());
        let endpoint = trouble.map(|trouble| format!("the embeddings endpoint fails: {}", trouble.error));
        file.chain(endpoint).collect()
    }
}
