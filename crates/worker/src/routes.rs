//! The table of paths, which a test compares with openapi.yaml; the page and its files; the headers of every response.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use longhaul_runtime::Error;
use longhaul_store::StoreError;
use serde::Serialize;
use serde_json::json;

use crate::api::{self, memory, sessions, snapshots};
use crate::request_checks::guard;
use crate::serve::Worker;
use crate::shapes::refuse_unknown;
use crate::stream::stream;

/// What every handler gets.
pub(crate) type Shared = Arc<Worker>;

/// The handler of one method of a path.
pub(crate) struct Route {
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test that compares the table with openapi.yaml"))]
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// Its query parameters. A path under `/api` refuses every other one.
    pub(crate) params: &'static [&'static str],
    handler: MethodRouter<Shared>,
}

/// Returns every route.
pub(crate) fn routes() -> Vec<Route> {
    let route = |method: &'static str, path: &'static str, params, handler| Route { method, path, params, handler };
    let files = FILES.map(|file| route("get", file.path, &[], get(move || async move { file.response() })));
    let mut routes = vec![
        route("get", "/api/health", &[], get(api::health)),
        route("post", "/api/keep", &[], post(api::health)),
        route("get", "/api/stats", &["sizes"], get(api::stats)),
        route("get", "/api/projects", &[], get(api::projects)),
        route("get", "/api/agents", &[], get(sessions::agents)),
        route("get", "/api/plots", &["project", "days"], get(api::plots)),
        route("get", "/api/cost", &["project", "days"], get(api::cost)),
        route("get", "/api/sessions", &["project", "before", "limit"], get(sessions::sessions)),
        route("get", "/api/sessions/{id}/timeline", &["before", "limit"], get(sessions::timeline)),
        route("get", "/api/sessions/{id}/snapshots", &["before", "limit"], get(snapshots::of_session)),
        route("get", "/api/snapshots/compare", &["from", "to"], get(snapshots::compare)),
        route("get", "/api/snapshots/patch", &["from", "to", "path"], get(snapshots::patch)),
        route("get", "/api/why", &["session", "path", "line"], get(snapshots::why)),
        route(
            "get",
            "/api/observations",
            &["project", "session", "kind", "before", "limit"],
            get(memory::observations),
        ),
        route("get", "/api/prompts", &["project", "session", "before", "limit"], get(memory::prompts)),
        route("get", "/api/summaries", &["project", "session", "before", "limit"], get(memory::summaries)),
        route("post", "/api/observations/batch", &[], post(memory::batch)),
        route("delete", "/api/observations/{id}", &[], delete(memory::observation)),
        route("delete", "/api/prompts/{id}", &[], delete(memory::prompt)),
        route("delete", "/api/summaries/{id}", &[], delete(memory::summary)),
        route(
            "get",
            "/api/search",
            &["q", "project", "session", "kind", "file", "since", "before", "type", "order", "limit", "offset"],
            get(memory::search),
        ),
        route("get", "/api/recall", &["q", "project", "since", "before", "tokens"], get(memory::recall)),
        route("get", "/api/timeline", &["id", "before", "after"], get(memory::timeline)),
        route("get", "/api/embedding", &["text"], get(api::embedding)),
        route("get", "/api/context/inject", &["project", "chars"], get(api::context)),
        route("post", "/api/sessions/init", &[], post(sessions::init)),
        route("post", "/api/sessions/observations", &[], post(sessions::observations)),
        route("post", "/api/sessions/summarize", &[], post(sessions::summarize)),
        route("post", "/api/sessions/complete", &[], post(sessions::complete)),
        route("get", "/stream", &[], get(stream)),
    ];
    routes.extend(files);
    routes
}

impl Route {
    /// Returns the handler, with a check of the parameters before it. The files of the viewer accept any.
    fn guarded(self) -> MethodRouter<Shared> {
        if !self.path.starts_with("/api/") {
            return self.handler;
        }
        let params = self.params;
        self.handler.layer(from_fn(async move |request: Request, next: Next| {
            match refuse_unknown(request.uri(), params) {
                Ok(()) => next.run(request).await,
                Err(problem) => problem.into_response(),
            }
        }))
    }
}

/// Returns the router, with the request checks before it.
pub(crate) fn router(worker: Shared) -> Router {
    let router = routes().into_iter().fold(Router::new(), |router, route| router.route(route.path, route.guarded()));
    router
        .fallback(async || Problem::no_such_path())
        .method_not_allowed_fallback(async || Problem::wrong_method())
        .layer(from_fn_with_state(Arc::clone(&worker), guard))
        .with_state(worker)
}

/// A file of the viewer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageFile {
    /// Its path.
    pub(crate) path: &'static str,
    kind: &'static str,
    content: &'static [u8],
}

/// Every file, the page itself first.
pub(crate) const FILES: [PageFile; 30] = [
    PageFile { path: "/", kind: "text/html; charset=utf-8", content: include_bytes!("../page/index.html") },
    PageFile { path: "/style.css", kind: "text/css; charset=utf-8", content: include_bytes!("../page/style.css") },
    PageFile { path: "/favicon.svg", kind: "image/svg+xml", content: include_bytes!("../page/favicon.svg") },
    PageFile {
        path: "/favicon-waiting.svg",
        kind: "image/svg+xml",
        content: include_bytes!("../page/favicon-waiting.svg"),
    },
    script("/app.js", include_bytes!("../page/app.js")),
    script("/agents.js", include_bytes!("../page/agents.js")),
    script("/ask.js", include_bytes!("../page/ask.js")),
    script("/attention.js", include_bytes!("../page/attention.js")),
    script("/axis.js", include_bytes!("../page/axis.js")),
    script("/cost.js", include_bytes!("../page/cost.js")),
    script("/difference.js", include_bytes!("../page/difference.js")),
    script("/dom.js", include_bytes!("../page/dom.js")),
    script("/feed.js", include_bytes!("../page/feed.js")),
    script("/filters.js", include_bytes!("../page/filters.js")),
    script("/format.js", include_bytes!("../page/format.js")),
    script("/keys.js", include_bytes!("../page/keys.js")),
    script("/live.js", include_bytes!("../page/live.js")),
    script("/marks.js", include_bytes!("../page/marks.js")),
    script("/numbers.js", include_bytes!("../page/numbers.js")),
    script("/passages.js", include_bytes!("../page/passages.js")),
    script("/plot.js", include_bytes!("../page/plot.js")),
    script("/record.js", include_bytes!("../page/record.js")),
    script("/route.js", include_bytes!("../page/route.js")),
    script("/rows.js", include_bytes!("../page/rows.js")),
    script("/scale.js", include_bytes!("../page/scale.js")),
    script("/sessions.js", include_bytes!("../page/sessions.js")),
    script("/snapshots.js", include_bytes!("../page/snapshots.js")),
    script("/theme.js", include_bytes!("../page/theme.js")),
    script("/timeline.js", include_bytes!("../page/timeline.js")),
    script("/words.js", include_bytes!("../page/words.js")),
];

const fn script(path: &'static str, content: &'static [u8]) -> PageFile {
    PageFile { path, kind: "text/javascript; charset=utf-8", content }
}

impl PageFile {
    /// Returns the response with the file.
    pub(crate) fn response(self) -> Response {
        let mut response = Response::new(Body::from(self.content));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        // Another version has different files under the same paths.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }
}

/// The page that is shown for a wrong token or ticket. The viewer says the same where it has no key (`ask.js`).
pub(crate) const LOCKED: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Longhaul</title>\
    <p>This page opens with the address that <code>longhaul worker open</code> prints.</p></html>";

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

    fn wrong_method() -> Self {
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
