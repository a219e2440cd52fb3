//! The handlers of the paths under `/api`.

pub(crate) mod cost;
pub(crate) mod embedding;
pub(crate) mod forget;
pub(crate) mod health;
pub(crate) mod recall;
pub(crate) mod records;
pub(crate) mod search;
pub(crate) mod session_events;
pub(crate) mod sessions;
pub(crate) mod snapshots;

use std::path::Path;

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use longhaul_runtime::memory::{self, NamedError};
use longhaul_runtime::waiting_times;
use longhaul_store::{KnownProject, Store};
use serde::de::DeserializeOwned;

use crate::params::Params;
use crate::request_checks::{BODY, too_large};
use crate::response::Problem;

/// Reads the body of a request.
async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    let read = tokio::time::timeout(waiting_times::REQUEST_BODY, to_bytes(request.into_body(), BODY)).await;
    let late =
        |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "the request body did not arrive in time", "send it at once");
    // A body that ends too early means that the client has gone.
    let bytes = read.map_err(late)?.map_err(|_| too_large())?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Problem::unreadable(format!("the body cannot be read: {error}"), "see openapi.yaml"))
}

/// Returns the project that a request names; `None` for all projects.
fn wanted_project(store: &Store, params: &Params) -> Result<Option<KnownProject>, Problem> {
    params.text("project").map(|name| named_project(store, name)).transpose()
}

/// Finds a project by its key, by its name, or by a folder in it.
fn named_project(store: &Store, name: &str) -> Result<KnownProject, Problem> {
    let folder = name.starts_with('/').then(|| Path::new(name));
    memory::named_project(store, name, folder).map_err(|error| match error {
        NamedError::Unknown(_) => Problem::missing(error.to_string(), "/api/projects lists the known projects"),
        NamedError::Several { .. } => Problem::unreadable(error.to_string(), "use the project_key from /api/projects"),
        NamedError::Store(error) => error.into(),
    })
}
