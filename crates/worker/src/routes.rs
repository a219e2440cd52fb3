//! The table of paths. A test compares it with openapi.yaml.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, delete, get, post};

use crate::api::{cost, embedding, forget, health, recall, records, search, session_events, sessions, snapshots};
use crate::page::FILES;
use crate::params::refuse_unknown;
use crate::request_checks::guard;
use crate::response::Problem;
use crate::stream::stream;
use crate::worker::Worker;

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
        route("get", "/api/health", &[], get(health::health)),
        route("post", "/api/keep", &[], post(health::health)),
        route("get", "/api/stats", &["sizes"], get(health::stats)),
        route("get", "/api/projects", &[], get(health::projects)),
        route("get", "/api/agents", &[], get(sessions::agents)),
        route("get", "/api/plots", &["project", "days"], get(health::plots)),
        route("get", "/api/cost", &["project", "days"], get(cost::cost)),
        route("get", "/api/sessions", &["project", "before", "limit"], get(sessions::sessions)),
        route("get", "/api/sessions/{id}/timeline", &["before", "limit"], get(sessions::timeline)),
        route("get", "/api/sessions/{id}/snapshots", &["before", "limit"], get(snapshots::of_session)),
        route("get", "/api/snapshots/compare", &["from", "to"], get(snapshots::compare)),
        route("get", "/api/snapshots/patch", &["from", "to", "path"], get(snapshots::patch)),
        route(
            "get",
            "/api/observations",
            &["project", "session", "kind", "before", "limit"],
            get(records::observations),
        ),
        route("get", "/api/prompts", &["project", "session", "before", "limit"], get(records::prompts)),
        route("get", "/api/summaries", &["project", "session", "before", "limit"], get(records::summaries)),
        route("post", "/api/observations/batch", &[], post(records::batch)),
        route("delete", "/api/observations/{id}", &[], delete(forget::observation)),
        route("delete", "/api/prompts/{id}", &[], delete(forget::prompt)),
        route("delete", "/api/summaries/{id}", &[], delete(forget::summary)),
        route(
            "get",
            "/api/search",
            &["q", "project", "session", "kind", "file", "since", "before", "type", "order", "limit", "offset"],
            get(search::search),
        ),
        route("get", "/api/recall", &["q", "project", "since", "before", "tokens"], get(recall::recall)),
        route("get", "/api/timeline", &["id", "before", "after"], get(search::timeline)),
        route("get", "/api/embedding", &["text"], get(embedding::embedding)),
        route("get", "/api/context/inject", &["project", "chars"], get(health::context)),
        route("post", "/api/sessions/init", &[], post(session_events::init)),
        route("post", "/api/sessions/observations", &[], post(session_events::observations)),
        route("post", "/api/sessions/summarize", &[], post(session_events::summarize)),
        route("post", "/api/sessions/complete", &[], post(session_events::complete)),
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
