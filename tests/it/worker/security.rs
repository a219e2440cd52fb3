//! Which requests are refused, and with which status.

use std::fs;
use std::io::Write;
use std::net::TcpStream;

use serde_json::json;

use super::client::{Answer, Events};
use super::served::Served;
use crate::sandbox::Sandbox;

fn with(served: &Served, name: &str, value: &str) -> Vec<(String, String)> {
    let mut headers = served.trusted();
    headers.retain(|(existing, _)| existing != name);
    if !value.is_empty() {
        headers.push((name.to_owned(), value.to_owned()));
    }
    headers
}

#[track_caller]
fn refused(answer: &Answer, status: u16) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert!(!answer.json()["error"].as_str().unwrap().is_empty());
    assert!(!answer.json()["fix"].as_str().unwrap().is_empty());
    assert_eq!(answer.header("content-type"), "application/json");
}

#[test]
fn strangers_are_refused_each_with_its_status() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let get = |name: &str, value: &str| served.ask("GET", "/api/stats", &with(&served, name, value), b"");
    refused(&get("Host", "evil.example"), 421);
    refused(&get("Host", &format!("evil.example:{}", served.port)), 421);
    refused(&get("Host", "127.0.0.1:1"), 421);
    refused(&get("Origin", "http://evil.example"), 403);
    refused(&get("Origin", "null"), 403);
    refused(&get("Origin", "http://127.0.0.1:1"), 403);
    refused(&get("Sec-Fetch-Site", "cross-site"), 403);
    refused(&get("Sec-Fetch-Site", "same-site"), 403);
    refused(&get("Authorization", ""), 401);
    refused(&get("Authorization", "Bearer wrong"), 401);
    refused(&served.ask("GET", "/stream", &with(&served, "Authorization", ""), b""), 401);
    assert_eq!(get("Origin", &format!("http://127.0.0.1:{}", served.port)).status, 200);
    assert_eq!(get("Sec-Fetch-Site", "same-origin").status, 200);
    assert_eq!(get("Host", &format!("localhost:{}", served.port)).status, 200);
}

#[test]
fn paths_that_lead_astray_lead_nowhere() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    for path in ["/../etc/passwd", "/%2e%2e/etc/passwd", "/api/../../etc/passwd", "/page/..%2fx", "/nothing"] {
        refused(&served.get(path), 404);
    }
    refused(&served.ask("PUT", "/api/stats", &served.trusted(), b"{}"), 405);
}

/// Returns a body of so many megabytes that does not say beforehand how long it is.
fn pieces(megabytes: usize) -> Vec<u8> {
    let piece = [b"100000\r\n".as_slice(), &vec![b' '; 0x10_0000], b"\r\n"].concat();
    [piece.repeat(megabytes), b"0\r\n\r\n".to_vec()].concat()
}

#[test]
fn bodies_that_are_too_large_or_no_json_are_not_read() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let post = |headers: &[(String, String)], body: &[u8]| served.ask("POST", "/api/sessions/init", headers, body);
    refused(&post(&served.trusted(), &vec![b' '; 100 * 1000 * 1000]), 413);
    let mut in_pieces = served.trusted();
    in_pieces.push(("Transfer-Encoding".to_owned(), "chunked".to_owned()));
    refused(&served.ask("POST", "/api/sessions/init", &in_pieces, &pieces(100)), 413);
    for kind in ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""] {
        refused(&post(&with(&served, "Content-Type", kind), b"session_id=a"), 415);
    }
    refused(&served.ask("DELETE", "/api/prompts/1", &with(&served, "Content-Type", ""), b""), 415);
    refused(&post(&served.trusted(), b"{"), 400);
    refused(&post(&served.trusted(), b"{\"session_id\":\"a\",\"cwd\":\"relative\"}"), 400);
    refused(&served.get("/api/search?limit=0"), 400);
    refused(&served.get("/api/search?kind=nonsense"), 400);
    assert_eq!(served.get("/api/sessions").json()["items"], json!([]));
}

#[test]
fn the_token_becomes_a_key_of_the_page_that_no_cookie_carries() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let host = vec![("Host".to_owned(), format!("127.0.0.1:{}", served.port))];
    let page = |path: &str, headers: &[(String, String)]| served.ask("GET", path, headers, b"");
    assert_eq!(page("/?token=wrong", &host).status, 401);
    assert_eq!(page("/api/stats", &host).status, 401);
    let exchanged = page(&format!("/?token={}", served.token), &host);
    assert_eq!((exchanged.status, exchanged.header("set-cookie").as_str()), (303, ""));
    let key = exchanged.header("location").strip_prefix("/#key=").expect("after #, which no server sees").to_owned();
    assert!(key.len() >= 32 && key != served.token, "{key}");
    for entry in fs::read_dir(sandbox.data_dir()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap_or_default();
        assert!(!bytes.windows(key.len()).any(|part| part == key.as_bytes()), "{}", path.display());
    }
    for secret in [&key, &served.token] {
        let mut by_cookie = host.clone();
        by_cookie.push(("Cookie".to_owned(), format!("longhaul_{}={secret}", served.port)));
        assert_eq!(page("/api/stats", &by_cookie).status, 401, "a cookie opens nothing");
    }
    let known = with(&served, "Authorization", &format!("Bearer {key}"));
    // What the page does not do is for programs that know the token.
    let report = json!({ "session_id": "a", "cwd": "/tmp" }).to_string();
    refused(&served.ask("POST", "/api/sessions/init", &known, report.as_bytes()), 401);
    // The page has no data, so anybody may read it.
    let shown = page("/", &host);
    assert_eq!(shown.status, 200);
    assert!(shown.header("content-type").starts_with("text/html"));
    assert!(shown.header("content-security-policy").starts_with("default-src 'none'; script-src 'self';"));
    let data = page("/api/stats", &known);
    assert_eq!((data.status, data.header("cache-control").as_str()), (200, "no-store"));
    for answer in [&shown, &data] {
        assert_eq!(answer.header("set-cookie"), "");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
    for file in ["/app.js", "/style.css", "/favicon.svg"] {
        assert_eq!(page(file, &host).status, 200, "{file}");
    }
}

#[test]
fn markup_comes_back_as_text() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let script = "<script>alert(1)</script> \"><img onerror>";
    let project = format!("/tmp/{script}");
    served
        .post("/api/sessions/init", &json!({ "session_id": "h", "cwd": project, "prompt": script, "prompt_id": "1" }));
    let answer = served.get("/api/prompts");
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.json()["items"][0]["prompt"], script);
    let error = served.get(&format!("/api/timeline?id={}", "%3Cscript%3E"));
    refused(&error, 400);
}

#[test]
fn callers_that_send_nothing_keep_nobody_out() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let mut events = Events::open(&served);
    events.next_named("hello");
    // More than the worker has places for, each in the middle of a request.
    let slow: Vec<TcpStream> = (0..600)
        .map(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
            // One that has lost its place already is of no matter.
            let _ = write!(stream, "GET /api/stats HTTP/1.1\r\nX-Number: {number}\r\n");
            stream
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(served.get("/api/stats").status, 200);
    }
    // Who has shown a key keeps the connection.
    served.post("/api/sessions/init", &json!({ "session_id": "h", "cwd": "/tmp", "prompt": "go", "prompt_id": "1" }));
    events.next_named("rows");
    drop(slow);
}

#[test]
fn too_many_requests_are_told_to_wait() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let stranger = with(&served, "Authorization", "Bearer wrong");
    let answers: Vec<Answer> = (0..120).map(|_| served.ask("GET", "/api/health", &stranger, b"")).collect();
    let refused = answers.iter().find(|answer| answer.status == 429).expect("nobody was told to wait");
    assert_eq!(refused.header("retry-after"), "1");
    let host = with(&served, "Authorization", "");
    let tries = (0..120).map(|number| served.ask("GET", &format!("/?token={number}"), &host, b"").status);
    assert!(tries.into_iter().any(|status| status == 429), "nor may one token after the other be tried on the page");
    assert_eq!(served.get("/api/health").status, 200, "who knows the token still may");
}
