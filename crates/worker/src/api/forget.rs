//! Deletes one record.

use axum::extract::{Path, State};
use axum::response::Response;
use longhaul_store::What;
use serde_json::json;

use crate::ids;
use crate::response::{Answer, Problem, json};
use crate::routes::Shared;
use crate::stream::event;

/// Deletes an observation.
pub(crate) async fn observation(State(worker): State<Shared>, Path(id): Path<String>) -> Answer {
    forget(worker, What::Observation, &id).await
}

/// Deletes a prompt.
pub(crate) async fn prompt(State(worker): State<Shared>, Path(id): Path<String>) -> Answer {
    forget(worker, What::Prompt, &id).await
}

/// Deletes a summary.
pub(crate) async fn summary(State(worker): State<Shared>, Path(id): Path<String>) -> Answer {
    forget(worker, What::Summary, &id).await
}

async fn forget(worker: Shared, what: What, id: &str) -> Result<Response, Problem> {
    let record = ids::parse_as(id, what)?;
    if record.what != what {
        return Err(ids::unknown(record));
    }
    let there_was = worker.database.change(move |store| Ok(store.forget(record)?)).await?;
    if !there_was {
        return Err(ids::unknown(record));
    }
    let gone = json!({ "forgotten": record.to_string() });
    worker.hub.send(&event("forgotten", None, &gone));
    Ok(json(&gone))
}
