//! Whether the models that compute vectors can be used, for `longhaul doctor`, `memory stats` and `memory upkeep`.

use longhaul_core::config::VectorSource;
use longhaul_core::{Config, Env};

use super::endpoint_model;
use super::model_file::ModelFile;
use crate::Home;
use crate::worker::EndpointTrouble;

/// The models that compute vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelsState {
    /// The id of the model file, or why it cannot be used; `None` if there is none.
    pub file: Option<Result<String, String>>,
    /// The endpoint; `None` if none is configured.
    pub endpoint: Option<EndpointState>,
}

/// An endpoint.
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
