//! Snapshots over the API: of a real repository, with names and contents that try to be something else.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use longhaul_snapshot_store::{Event, Limits, Place, take};
use longhaul_store::{Snapshot, SnapshotKind, Store};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PORT, worker};
use crate::routes::router;
use crate::serve::Worker;

const MARKUP: &str = "\"><img src=x onerror=alert(2)>";

/// A repository of which the worker's store has snapshots.
pub(super) struct Repository {
    worker: Arc<Worker>,
    folder: TempDir,
    clock: AtomicU64,
}

impl Repository {
    #[expect(clippy::disallowed_methods, reason = "the user's own git")]
    pub(super) fn new(worker: &Arc<Worker>) -> Self {
        let folder = TempDir::new().unwrap();
        let mut git = Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        assert!(git.args(["init", "-q"]).current_dir(folder.path()).status().unwrap().success());
        Self { worker: Arc::clone(worker), folder, clock: AtomicU64::new(1_000) }
    }

    fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.folder.path().join(name.as_ref())
    }

    pub(super) fn write(&self, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn store(&self) -> Store {
        self.worker.home.store(Duration::from_secs(5)).unwrap()
    }

    /// Takes a snapshot for a prompt, and returns its number.
    pub(super) fn take(&self, session: &str) -> i64 {
        let (env, _) = self.worker.now().unwrap();
        let event = Event::new(session, self.clock.fetch_add(1_000, Ordering::Relaxed), SnapshotKind::Prompt);
        let place = Place::find(&env, &self.worker.home, self.folder.path()).unwrap();
        let limits = Limits::new(8 << 20, 64 << 20, 10_000);
        let (patience, limit) = (Duration::from_secs(10), Duration::from_secs(60));
        take(&env, &place, &self.store(), &limits, &[event], patience, limit).unwrap()[0].id
    }
}

async fn get(app: &Router, address: &str) -> (u16, Value) {
    let request = Request::builder()
        .uri(address)
        .header("host", format!("127.0.0.1:{PORT}"))
        .header("authorization", "Bearer t")
        .body(Body::empty())
        .unwrap();
    answer(app, request).await
}

async fn answer(app: &Router, request: Request<Body>) -> (u16, Value) {
    use tower::ServiceExt;
    let response = app.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/json");
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

fn query(from: i64, to: i64, path: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("from", &from.to_string()).append_pair("to", &to.to_string()).append_pair("path", path);
    format!("/api/snapshots/patch?{}", query.finish())
}

#[tokio::test]
async fn two_snapshots_are_compared_file_by_file_whatever_their_names_and_contents_are() {
    let home = TempDir::new().unwrap();
    let worker = worker(&home);
    let repository = Repository::new(&worker);
    let app = router(worker);
    let names: [&[u8]; 7] =
        [MARKUP.as_bytes(), b"-p", b":(glob)*", b"line\nbreak", b"not \xff utf-8", b"100%25", "\u{202e}txt".as_bytes()];
    for name in names {
        repository.write(OsStr::from_bytes(name), "one\n");
    }
    repository.write("kept", "same\n");
    repository.write("becomes-folder", "file\n");
    let from = repository.take("s");
    for name in names {
        repository.write(OsStr::from_bytes(name), format!("<script>alert(1)</script>\ndiff --git a/x b/x\n{MARKUP}\n"));
    }
    fs::remove_file(repository.path("becomes-folder")).unwrap();
    repository.write("becomes-folder/inner", "inside\n");
    repository.write("picture", [0, 1, 2, 0]);
    let to = repository.take("s");

    let (status, list) = get(&app, "/api/sessions/s/snapshots").await;
    assert_eq!((status, list["items"].as_array().unwrap().len()), (200, 2), "{list}");
    assert_eq!(list["items"][1]["changed"], json!({ "files": 10, "added": 22, "removed": 8 }), "{list}");

    let (status, found) = get(&app, &format!("/api/snapshots/compare?from={from}&to={to}")).await;
    assert_eq!((status, &found["is_complete"], &found["found"]), (200, &json!(true), &json!(10)), "{found}");
    let files = found["files"].as_array().unwrap();
    let file = |path: &str| files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("{path}: {found}"));
    assert_eq!(file("picture")["added"], Value::Null, "a binary file has no lines");
    assert_eq!(file("not %ff utf-8")["name"], "not \\377 utf-8");
    assert_eq!(file("\u{202e}txt")["name"], "\\342\\200\\256txt", "a name cannot change the order of the text");
    assert_eq!(file("line%0abreak")["name"], "line\\nbreak");
    for path in [MARKUP, "-p", ":(glob)*", "line%0abreak", "not %ff utf-8", "100%2525", "\u{202e}txt"] {
        assert_eq!((&file(path)["status"], &file(path)["added"]), (&json!("changed"), &json!(3)), "{path}");
        let (status, patch) = get(&app, &query(from, to, path)).await;
        assert_eq!(status, 200, "{path}: {patch}");
        assert_eq!(patch["path"], path);
        let text = patch["patch"].as_str().unwrap();
        assert_eq!(text.matches("\ndiff --git ").count(), 0, "only its own part: {text}");
        let added = format!("\n-one\n+<script>alert(1)</script>\n+diff --git a/x b/x\n+{MARKUP}\n");
        assert!(text.ends_with(&added), "{path}: {text}");
    }
    let (_, deleted) = get(&app, &query(from, to, "becomes-folder")).await;
    assert_eq!(deleted["status"], "deleted");
    assert!(!deleted["patch"].as_str().unwrap().contains("inside"), "{deleted}");
    for path in ["kept", "nothing", "../kept", "/etc/passwd", "."] {
        assert_eq!(get(&app, &query(from, to, path)).await.0, 404, "{path}");
    }
    for path in ["%00", &"x".repeat(20_000)] {
        assert_eq!(get(&app, &query(from, to, path)).await.0, 400);
    }
}

#[tokio::test]
async fn what_is_sent_of_a_difference_is_bounded() {
    let home = TempDir::new().unwrap();
    let worker = worker(&home);
    let repository = Repository::new(&worker);
    let app = router(worker);
    repository.write("start", "");
    let from = repository.take("s");
    repository.write("long", format!("{}\n", "x".repeat(99)).repeat(20_000));
    for number in 0..1_100 {
        repository.write(format!("many/{number}"), "");
    }
    let to = repository.take("s");
    let (_, found) = get(&app, &format!("/api/snapshots/compare?from={from}&to={to}")).await;
    assert_eq!(found["files"].as_array().unwrap().len(), 1_000);
    assert_eq!((&found["found"], &found["is_complete"]), (&json!(1_101), &json!(false)));
    let (_, patch) = get(&app, &query(from, to, "long")).await;
    let text = patch["patch"].as_str().unwrap();
    assert_eq!(patch["is_complete"], false);
    assert!(text.len() <= 256 << 10 && text.len() > 255 << 10, "{}", text.len());
    assert!(text.ends_with("x\n"), "it ends with a whole line");
}

#[tokio::test]
async fn only_two_snapshots_with_files_of_one_work_tree_are_compared() {
    let home = TempDir::new().unwrap();
    let worker = worker(&home);
    let (repository, other) = (Repository::new(&worker), Repository::new(&worker));
    let app = router(worker);
    repository.write("a", "one\n");
    other.write("a", "two\n");
    let (first, second) = (repository.take("s"), other.take("t"));
    let mut skipped = Snapshot::new("s", 9_000, SnapshotKind::Bookmark);
    skipped.skipped = Some(format!("too many files {MARKUP}"));
    let skipped = repository.store().add_snapshot(&skipped).unwrap();
    let compare = async |from: &str, to: &str| get(&app, &format!("/api/snapshots/compare?from={from}&to={to}")).await;
    let [first, second, skipped] = [first, second, skipped].map(|id| id.to_string());
    assert_eq!(compare(&first, &first).await.1["files"], json!([]));
    let (status, refused) = compare(&first, &second).await;
    assert_eq!((status, refused["error"].as_str().unwrap().contains("work trees")), (409, true), "{refused}");
    let (status, refused) = compare(&first, &skipped).await;
    assert_eq!((status, refused["error"].as_str().unwrap().contains("too many files")), (404, true), "{refused}");
    assert_eq!(compare(&first, "999").await.0, 404);
    for wrong in ["", "0", "-1", "x", "1;2", "99999999999999999999", "HEAD", "--output=x"] {
        assert_eq!(compare(&first, wrong).await.0, 400, "{wrong}");
        assert_eq!(compare(wrong, &first).await.0, 400, "{wrong}");
    }
    assert_eq!(get(&app, "/api/sessions/nobody/snapshots").await.0, 404);
    let page = get(&app, "/api/sessions/s/snapshots?limit=1").await.1;
    assert_eq!((&page["items"][0]["has_files"], &page["next"]), (&json!(false), &page["items"][0]["id"]), "{page}");
    let older = get(&app, &format!("/api/sessions/s/snapshots?limit=1&before={}", page["next"])).await.1;
    assert_eq!((older["items"][0]["id"].to_string(), &older["next"]), (first.clone(), &Value::Null), "{older}");
    for address in ["/api/sessions/s/snapshots", "/api/snapshots/compare?from=1&to=1", "/api/snapshots/patch"] {
        let host = format!("127.0.0.1:{PORT}");
        let request = Request::builder().uri(address).header("host", host).body(Body::empty()).unwrap();
        assert_eq!(answer(&app, request).await.0, 401, "{address} needs the token");
    }
    // The store of the files is gone.
    fs::remove_dir_all(home.path().join("snapshots")).unwrap();
    let (status, refused) = compare(&first, &first).await;
    assert_eq!(status, 404, "{refused}");
}
