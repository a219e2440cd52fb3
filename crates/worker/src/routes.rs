//! Which path does what: the one table behind the router, held against openapi.yaml by a test.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, post};

use crate::answer::Problem;
use crate::api::{forget, health, hosts, records, search, sessions};
use crate::guard::guard;
use crate::page::FILES;
use crate::stream::stream;
use crate::worker::Worker;

/// What every handler gets.
pub(crate) type Shared = Arc<Worker>;

/// A path, and what it does by one method.
pub(crate) struct Route {
    #[cfg_attr(not(test), expect(dead_code, reason = "the test that holds the table against openapi.yaml reads it"))]
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    handler: MethodRouter<Shared>,
}

/// Returns every route.
pub(crate) fn routes() -> Vec<Route> {
    let route = |method: &'static str, path: &'static str, handler| Route { method, path, handler };
    let files = FILES.map(|file| route("get", file.path, get(move || async move { file.response() })));
    let mut routes = vec![
        route("get", "/api/health", get(health::health)),
        route("get", "/api/stats", get(health::stats)),
        route("get", "/api/projects", get(health::projects)),
        route("get", "/api/agents", get(sessions::agents)),
        route("get", "/api/plots", get(health::plots)),
        route("get", "/api/sessions", get(sessions::sessions)),
        route("get", "/api/sessions/{id}/timeline", get(sessions::timeline)),
        route("get", "/api/observations", get(records::observations)),
        route("get", "/api/prompts", get(records::prompts)),
        route("get", "/api/summaries", get(records::summaries)),
        route("post", "/api/observations/batch", post(records::batch)),
        route("delete", "/api/observations/{id}", delete(forget::observation)),
        route("delete", "/api/prompts/{id}", delete(forget::prompt)),
        route("delete", "/api/summaries/{id}", delete(forget::summary)),
        route("get", "/api/search", get(search::search)),
        route("get", "/api/timeline", get(search::timeline)),
        route("get", "/api/context/inject", get(health::context)),
        route("post", "/api/sessions/init", post(hosts::init)),
        route("post", "/api/sessions/observations", post(hosts::observations)),
        route("post", "/api/sessions/summarize", post(hosts::summarize)),
        route("post", "/api/sessions/complete", post(hosts::complete)),
        route("get", "/stream", get(stream)),
    ];
    routes.extend(files);
    routes
}

/// Returns the router, with the guard before it.
pub(crate) fn router(worker: Shared) -> Router {
    let router = routes().into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler));
    router
        .fallback(async || Problem::no_such_path())
        .method_not_allowed_fallback(async || Problem::wrong_method())
        .layer(from_fn_with_state(Arc::clone(&worker), guard))
        .with_state(worker)
}
