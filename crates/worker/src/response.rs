//! Answers: JSON, and refusals that say what to do.

use axum::body::Body;
use axum::http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use longhaul_runtime::Error;
use longhaul_store::StoreError;
use serde::Serialize;
use serde_json::json;

/// What a handler returns.
pub(crate) type Answer = Result<Response, Problem>;

/// Why a request is refused, and what to do about it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) error: String,
    pub(crate) mend: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { status, error: error.into(), mend: mend.into() }
    }

    /// A parameter or a body that cannot be read.
    pub(crate) fn unreadable(error: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error, mend)
    }

    /// Something that is not there.
    pub(crate) fn missing(error: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error, mend)
    }

    pub(crate) fn no_such_path() -> Self {
        Self::missing("there is nothing here", "the paths are listed in crates/worker/openapi.yaml")
    }

    pub(crate) fn wrong_method() -> Self {
        let mend = "the methods are listed in crates/worker/openapi.yaml";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this cannot be done here", mend)
    }

    pub(crate) fn internal(error: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error, "try again; `longhaul.log` may say more")
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        if let Error::Store(store) = &error
            && store.is_busy()
        {
            return Self::new(StatusCode::SERVICE_UNAVAILABLE, error.chain(), "try again in a moment");
        }
        Self::internal(error.chain())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = json_with(self.status, &json!({ "error": self.error, "mend": self.mend }));
        let headers = response.headers_mut();
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        // What is still being sent is not waited for.
        if self.status == StatusCode::PAYLOAD_TOO_LARGE {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Answers with a value.
pub(crate) fn json(value: &impl Serialize) -> Response {
    json_with(StatusCode::OK, value)
}

fn json_with(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_vec(value).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
