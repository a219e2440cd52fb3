//! The table of paths, which a test compares with openapi.yaml; the page and its files; the headers of every response.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::{self, CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use longhaul_runtime::{Error, waiting_times};
use longhaul_store::{Store, StoreError, What};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{self, memory, sessions, snapshots};
use crate::database::blocking;
use crate::request_checks::{BODY, guard, too_large};
use crate::serve::Worker;
use crate::shapes::{Params, refuse_unknown};
use crate::stream::stream;

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

/// A request to a path under `/api`, with a connection to the database.
pub(crate) struct ApiRequest<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) store: &'a Store,
    pub(crate) params: &'a Params,
    /// The `{id}` in the path; empty for other paths.
    pub(crate) id: &'a str,
    body: &'a [u8],
}

impl ApiRequest<'_> {
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        serde_json::from_slice(self.body)
            .map_err(|error| Problem::unreadable(format!("the body cannot be read: {error}"), "see openapi.yaml"))
    }
}

type Handler = fn(&ApiRequest<'_>) -> Result<Value, Problem>;

/// How the handler of a path uses the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    /// Only one request at a time: it runs git, and the others need the threads for the database.
    ReadAlone,
    Write,
}

async fn respond(
    worker: Shared,
    id: Option<Path<String>>,
    request: Request,
    (access, handler): (Access, Handler),
) -> Answer {
    let params = Params::of(request.uri());
    let body = if request.method() == Method::POST { read_body(request).await? } else { Bytes::new() };
    let turn = match access {
        Access::ReadAlone => worker.comparisons.clone().acquire_owned().await.map(Some),
        Access::Read | Access::Write => Ok(None),
    };
    let turn = turn.map_err(|error| Problem::internal(error.to_string()))?;
    let value = blocking(move || {
        // It is held until git has ended, also if the client has gone.
        let _turn = turn;
        let id = id.as_ref().map_or("", |Path(id)| id);
        let answer = |store: &Store| handler(&ApiRequest { worker: &worker, store, params: &params, id, body: &body });
        match access {
            Access::Read | Access::ReadAlone => worker.database.read(answer),
            Access::Write => worker.database.write(answer),
        }
    });
    Ok(json(&value.await?))
}

async fn read_body(request: Request) -> Result<Bytes, Problem> {
    let read = tokio::time::timeout(waiting_times::REQUEST_BODY, to_bytes(request.into_body(), BODY)).await;
    let late =
        |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "the request body did not arrive in time", "send it at once");
    // A body that ends too early means that the client has gone.
    read.map_err(late)?.map_err(|_| too_large())
}

pub(crate) fn routes() -> Vec<Route> {
    let route = |method: &'static str, path: &'static str, params, handler| Route { method, path, params, handler };
    let by = |method: &'static str, path, params, access: Access, handler: Handler| {
        let respond = move |State(worker): State<Shared>, id: Option<Path<String>>, request: Request| {
            respond(worker, id, request, (access, handler))
        };
        let handler = match method {
            "get" => get(respond),
            "post" => post(respond),
            _ => delete(respond),
        };
        route(method, path, params, handler)
    };
    let read = |path, params: &'static [&'static str], handler| by("get", path, params, Access::Read, handler);
    let compare = |path, params: &'static [&'static str], handler| by("get", path, params, Access::ReadAlone, handler);
    let report = |path, handler| by("post", path, &[], Access::Write, handler);
    let forget = |path, handler| by("delete", path, &[], Access::Write, handler);
    let files = FILES.map(|file| route("get", file.path, &[], get(move || async move { file.response() })));
    let mut routes = vec![
        // These are answered without the database.
        route("get", "/api/health", &[], get(api::health)),
        route("post", "/api/keep", &[], post(api::health)),
        route("get", "/api/embedding", &["text"], get(api::embedding)),
        route("get", "/stream", &[], get(stream)),
        read("/api/stats", &["sizes"], api::stats),
        read("/api/projects", &[], api::projects),
        read("/api/agents", &[], sessions::agents),
        read("/api/plots", &["project", "days"], api::plots),
        read("/api/cost", &["project", "days"], api::cost),
        read("/api/sessions", &["project", "before", "limit"], sessions::sessions),
        read("/api/sessions/{id}/timeline", &["before", "limit"], sessions::timeline),
        read("/api/sessions/{id}/snapshots", &["before", "limit"], snapshots::of_session),
        compare("/api/snapshots/compare", &["from", "to"], snapshots::compare),
        compare("/api/snapshots/patch", &["from", "to", "path"], snapshots::patch),
        compare("/api/why", &["session", "path", "line"], snapshots::why),
        read("/api/observations", &["project", "session", "kind", "before", "limit"], |request| {
            memory::list(request, What::Observation)
        }),
        read("/api/prompts", LIST, |request| memory::list(request, What::Prompt)),
        read("/api/summaries", LIST, |request| memory::list(request, What::Summary)),
        by("post", "/api/observations/batch", &[], Access::Read, memory::batch),
        forget("/api/observations/{id}", |request| memory::forget(request, What::Observation)),
        forget("/api/prompts/{id}", |request| memory::forget(request, What::Prompt)),
        forget("/api/summaries/{id}", |request| memory::forget(request, What::Summary)),
        read(
            "/api/search",
            &["q", "project", "session", "kind", "file", "since", "before", "type", "order", "limit", "offset"],
            memory::search,
        ),
        read("/api/recall", &["q", "project", "since", "before", "tokens"], memory::recall),
        read("/api/timeline", &["id", "before", "after"], memory::timeline),
        read("/api/context/inject", &["project", "chars"], api::context),
        report("/api/sessions/init", sessions::init),
        report("/api/sessions/observations", sessions::observations),
        report("/api/sessions/summarize", sessions::summarize),
        report("/api/sessions/complete", sessions::complete),
    ];
    routes.extend(files);
    routes
}

const LIST: &[&str] = &["project", "session", "before", "limit"];

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
        .method_not_allowed_fallback(async || {
            let fix = "the methods are listed in openapi.yaml";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not support the method", fix)
        })
        .layer(from_fn_with_state(Arc::clone(&worker), guard))
        .with_state(worker)
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PageFile {
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
    fn response(self) -> Response {
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

pub(crate) type Answer = Result<Response, Problem>;

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

    pub(crate) fn unreadable(error: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error, fix)
    }

    pub(crate) fn missing(error: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error, fix)
    }

    pub(crate) fn no_such_path() -> Self {
        Self::missing("there is no such path", "the paths are listed in openapi.yaml")
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
