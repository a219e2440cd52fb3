//! The vector of a question, by the endpoint's model: only the worker speaks to the endpoint.

use axum::extract::{Request, State};
use longhaul_runtime::ErrorLog;
use serde_json::json;

use crate::answer::{Answer, Problem, json};
use crate::embeddings::Endpoint;
use crate::params::Params;
use crate::routes::Shared;

/// Returns the vector of a text.
pub(crate) async fn embedding(State(worker): State<Shared>, request: Request) -> Answer {
    let text = Params::of(request.uri()).needed("text")?.to_owned();
    let (env, config) = worker.now()?;
    let Some(endpoint) = Endpoint::of(&config) else {
        return Ok(json(&json!({ "model": null, "vector": null })));
    };
    let asked = tokio::task::spawn_blocking(move || (endpoint.embed(&[text]), endpoint.name().to_owned())).await;
    let (answer, name) = asked.map_err(|_| Problem::internal("the endpoint could not be asked"))?;
    let vector = match answer {
        Ok(vectors) => vectors.into_iter().next().flatten(),
        Err(error) => {
            ErrorLog::new(&env, "worker").write(&format!("embeddings: {error}"));
            None
        }
    };
    let values: Option<Vec<i8>> = vector.map(|vector| vector.to_bytes().into_iter().map(|byte| byte as i8).collect());
    Ok(json(&json!({ "model": values.as_ref().map(|_| name), "vector": values })))
}
