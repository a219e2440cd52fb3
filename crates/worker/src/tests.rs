//! Holds openapi.yaml against the server: the same paths, and answers of the shapes that it declares.

mod snapshots;
mod spec;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use http_body_util::BodyExt;
use longhaul_core::{Env, Millis, Platform};
use longhaul_runtime::worker::WorkerFile;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

use self::spec::{Operation, Spec};
use crate::routes::{router, routes};
use crate::serve::Worker;
use crate::watch::watch;

const PORT: u16 = 37_777;

fn worker(home: &TempDir) -> Arc<Worker> {
    let dir = home.path().to_str().unwrap().to_owned();
    let env = Env::new(Millis(1), Platform::Unix, |name| (name == "LONGHAUL_HOME").then(|| dir.clone()));
    let file = WorkerFile { pid: 1, port: PORT, token: "t".to_owned(), started: 1, for_model: false };
    Arc::new(Worker::new(&env, file).unwrap())
}

fn request(operation: &Operation) -> Request<Body> {
    let body = operation.body.as_ref().map(Value::to_string).unwrap_or_default();
    Request::builder()
        .method(operation.method.to_uppercase().as_str())
        .uri(&operation.address)
        .header("host", format!("127.0.0.1:{PORT}"))
        .header("authorization", "Bearer t")
        .header("content-type", "application/json")
        .body(Body::from(body))
        .unwrap()
}

#[test]
fn the_file_and_the_router_know_the_same_paths() {
    let described: BTreeSet<(String, String)> =
        Spec::load().operations().into_iter().map(|operation| (operation.method, operation.path)).collect();
    let routed: BTreeSet<(String, String)> =
        routes().into_iter().map(|route| (route.method.to_owned(), route.path.to_owned())).collect();
    assert_eq!(described, routed);
}

#[test]
fn the_file_and_the_router_know_the_same_parameters() {
    let operations = Spec::load().operations();
    for route in routes().into_iter().filter(|route| route.path.starts_with("/api/")) {
        let described = operations
            .iter()
            .find(|described| (described.method.as_str(), described.path.as_str()) == (route.method, route.path));
        assert_eq!(described.unwrap().params, route.params, "{}", route.path);
    }
}

#[tokio::test]
async fn a_parameter_that_a_path_does_not_take_is_refused_by_its_name() {
    let home = TempDir::new().unwrap();
    let app = router(worker(&home));
    let spec = Spec::load();
    for mut operation in spec.operations().into_iter().filter(|operation| operation.path.starts_with("/api/")) {
        let sign = if operation.address.contains('?') { '&' } else { '?' };
        operation.address = format!("{}{sign}query=x", operation.address);
        let (status, answer) = ask(&app, &operation).await;
        assert_eq!(status, 400, "{}: {answer}", operation.address);
        assert!(answer["error"].as_str().unwrap().contains("\"query\""), "{}: {answer}", operation.address);
        spec.check("Error", &answer, &operation.address);
    }
}

#[tokio::test]
async fn every_answer_has_the_shape_that_the_file_tells() {
    let home = TempDir::new().unwrap();
    let worker = worker(&home);
    let repository = snapshots::Repository::new(&worker);
    repository.write("lamp.txt", "dark\n");
    repository.take("host-1");
    repository.write("lamp.txt", "bright\n");
    repository.take("host-1");
    let app = router(worker);
    let spec = Spec::load();
    let mut operations = spec.operations();
    operations.retain(|operation| operation.path.starts_with("/api"));
    // What makes something comes first, what takes it away last.
    operations.sort_by_key(|operation| match (operation.method.as_str(), operation.path.as_str()) {
        ("post", "/api/sessions/init") => 0,
        ("post", "/api/sessions/observations") => 1,
        ("post", "/api/sessions/summarize") => 2,
        // With a prompt goes the summary that a rule made of it.
        ("delete", "/api/summaries/{id}") => 4,
        ("delete", _) => 5,
        _ => 3,
    });
    for operation in &operations {
        let (status, answer) = ask(&app, operation).await;
        assert_eq!(status, 200, "{} {}: {answer}", operation.method, operation.address);
        spec.check(&operation.answer, &answer, &operation.address);
        assert_ne!(answer["items"], serde_json::json!([]), "{}: nothing was compared", operation.address);
    }
    for operation in operations.iter().filter(|operation| operation.method == "delete") {
        let (status, answer) = ask(&app, operation).await;
        assert_eq!(status, 404, "{}: {answer}", operation.address);
        spec.check("Error", &answer, &operation.address);
    }
}

async fn ask(app: &Router, operation: &Operation) -> (u16, Value) {
    let response = app.clone().oneshot(request(operation)).await.unwrap();
    let (status, kind) = (response.status().as_u16(), response.headers()["content-type"].clone());
    assert_eq!(kind, "application/json", "{}", operation.address);
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn events_have_the_shapes_that_the_file_tells() {
    let home = TempDir::new().unwrap();
    let worker = worker(&home);
    tokio::spawn(watch(Arc::clone(&worker)));
    let app = router(worker);
    let spec = Spec::load();
    let find = |path: &str| spec.operations().into_iter().find(|operation| operation.path == path).unwrap();
    let mut stream = app.clone().oneshot(request(&find("/stream"))).await.unwrap().into_body();
    let mut next = async || {
        let frame = tokio::time::timeout(Duration::from_secs(10), stream.frame()).await.unwrap();
        let bytes = frame.unwrap().unwrap().into_data().unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
        (line("event: "), serde_json::from_str::<Value>(&line("data: ")).unwrap())
    };
    let (name, hello) = next().await;
    assert_eq!(name, "hello");
    spec.check("Hello", &hello, "hello");
    assert_eq!(next().await, ("agents".to_owned(), serde_json::json!([])));
    for path in ["/api/sessions/init", "/api/sessions/observations", "/api/sessions/summarize"] {
        assert_eq!(ask(&app, &find(path)).await.0, 200);
    }
    let mut seen = [0, 0, 0];
    while seen.contains(&0) {
        let (name, rows) = next().await;
        assert_eq!(name, "rows");
        spec.check("Rows", &rows, "rows");
        for (count, list) in seen.iter_mut().zip(["prompts", "observations", "summaries"]) {
            *count += rows[list].as_array().unwrap().len();
        }
    }
}
