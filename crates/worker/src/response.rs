//! Responses: JSON, errors with a fix, and the headers of every response.

use axum::body::Body;
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use longhaul_runtime::Error;
use longhaul_store::StoreError;
use serde::Serialize;
use serde_json::json;

/// The headers of every response. `request_checks::guard` adds them, and `Cache-Control`.
pub(crate) const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// What a handler returns.
pub(crate) type Answer = Result<Response, Problem>;

/// Why a request is refused, and how to fix it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) error: String,
    pub(crate) fix: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status, error: error.into(), fix: fix.into() }
    }

    /// A parameter or a body that cannot be read.
    pub(crate) fn unreadable(error: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error, fix)
    }

    /// Something that does not exist.
    pub(crate) fn missing(error: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error, fix)
    }

    pub(crate) fn no_such_path() -> Self {
        Self::missing("there is no such path", "the paths are listed in openapi.yaml")
    }

    pub(crate) fn wrong_method() -> Self {
        let fix = "the methods are listed in openapi.yaml";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not support the method", fix)
    }

    pub(crate) fn internal(error: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error, "try again; see `longhaul.log`")
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
        let mut response = json_with(self.status, &json!({ "error": self.error, "fix": self.fix }));
        let headers = response.headers_mut();
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        // The rest of the request is not read.
        if self.status == StatusCode::PAYLOAD_TOO_LARGE {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Returns a response with a JSON value.
pub(crate) fn json(value: &impl Serialize) -> Response {
    json_with(StatusCode::OK, value)
}

fn json_with(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_vec(value).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
