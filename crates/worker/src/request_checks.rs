//! The checks before every request, and how many are answered in a second. A response then gets the headers that `routes.rs`
//! lists.
//!
//! Any page in the user's browser can send requests to this machine, and any host name can be made to resolve to it. So a
//! request must name the worker as its host, come from the viewer or from no page, and have the token or the key of the page.
//!
//! There is no cookie: a browser would send it to every port of this machine, whoever listens there.

use std::sync::Mutex;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use longhaul_runtime::waiting_times;
use longhaul_runtime::worker::ticket;

use crate::routes::{HEADERS, LOCKED, Problem, Shared};
use crate::serve::{Caller, Worker};
use crate::shapes::Params;

/// The largest body that is read.
pub(crate) const BODY: usize = 2 * 1024 * 1024;

pub(crate) async fn guard(State(worker): State<Shared>, request: Request, next: Next) -> Response {
    let is_api = is_data(request.uri().path());
    let entry = check(&worker, &request);
    // A refused request does not keep the worker running, nor do the files of the page, which anybody may read.
    if matches!(entry, Ok(Entry::Exchange)) || (is_api && entry.is_ok()) {
        if let Some(caller) = request.extensions().get::<Caller>() {
            caller.trust();
        }
        worker.touch();
        // `longhaul worker status` and `longhaul doctor` request only this; it does not keep the worker running.
        if request.uri().path() != "/api/health" {
            worker.keep();
        }
    }
    let mut response = match entry {
        Ok(Entry::Pass) if request.uri().path() == "/stream" => next.run(request).await,
        Ok(Entry::Pass) => {
            tokio::time::timeout(waiting_times::RESPONSE, next.run(request)).await.unwrap_or_else(|_| {
                Problem::new(StatusCode::REQUEST_TIMEOUT, "the request took too long", "request less at a time")
                    .into_response()
            })
        }
        Ok(Entry::Exchange) => exchange(&worker),
        Ok(Entry::Locked) => locked(),
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if is_api || !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// How a request that passed the checks is handled.
enum Entry {
    Pass,
    /// The token or a ticket is in its address: it gets the key of the page.
    Exchange,
    /// It is for the page, and the token or the ticket in its address is wrong.
    Locked,
}

fn check(worker: &Worker, request: &Request) -> Result<Entry, Problem> {
    let (headers, path) = (request.headers(), request.uri().path());
    if !worker.requests.take(Instant::now()) {
        return Err(too_many());
    }
    let port = worker.file.port;
    if !is_our_host(headers, port) {
        let fix = format!("use the address 127.0.0.1:{port}");
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "the request is for another host", fix));
    }
    if leads_astray(path) {
        return Err(Problem::no_such_path());
    }
    let is_data = is_data(path);
    if !is_our_origin(headers, port) || (is_data && !is_our_site(headers)) {
        let fix = "send requests from the viewer, or without a browser";
        return Err(Problem::new(StatusCode::FORBIDDEN, "the request comes from another site", fix));
    }
    if path == "/" {
        return enter(worker, request);
    }
    if is_data && !has_key(worker, request) {
        limit_strangers(worker)?;
        let fix = "send the token in worker.json as `Authorization: Bearer …`, or run `longhaul worker open`";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong", fix));
    }
    check_body(request)?;
    Ok(Entry::Pass)
}

fn is_data(path: &str) -> bool {
    path == "/stream" || path.starts_with("/api/")
}

/// Checks the token or the ticket in the address of the page. The page itself has no data, so it needs neither.
fn enter(worker: &Worker, request: &Request) -> Result<Entry, Problem> {
    let params = Params::of(request.uri());
    let (token, ticket) = (params.text("token"), params.text("ticket"));
    if token.is_none() && ticket.is_none() {
        return Ok(Entry::Pass);
    }
    let now = longhaul_runtime::env().now;
    if token.is_some_and(|token| is_same(token, &worker.file.token))
        || ticket.is_some_and(|given| ticket::redeem(&worker.home, given, now, is_same))
    {
        return Ok(Entry::Exchange);
    }
    limit_strangers(worker)?;
    Ok(Entry::Locked)
}

/// Limits requests with a wrong token, so that tokens cannot be guessed.
fn limit_strangers(worker: &Worker) -> Result<(), Problem> {
    if worker.strangers.take(Instant::now()) { Ok(()) } else { Err(too_many()) }
}

/// Refuses a body that is not JSON or is too large.
fn check_body(request: &Request) -> Result<(), Problem> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(());
    }
    let headers = request.headers();
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let kind = text(header::CONTENT_TYPE).unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let fix = "send `Content-Type: application/json`";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the request body is not JSON", fix));
    }
    let length = text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > BODY as u64) {
        return Err(too_large());
    }
    Ok(())
}

pub(crate) fn too_large() -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the request body is too large", format!("send at most {BODY} bytes"))
}

fn too_many() -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many requests", "wait a second")
}

/// Returns whether there is exactly one `Host` header, and it names the worker.
fn is_our_host(headers: &HeaderMap, port: u16) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let first = hosts.next().and_then(|host| host.to_str().ok());
    let is_ours =
        |host: &str| ["127.0.0.1", "localhost"].iter().any(|name| host.eq_ignore_ascii_case(&format!("{name}:{port}")));
    first.is_some_and(is_ours) && hosts.next().is_none()
}

fn is_our_origin(headers: &HeaderMap, port: u16) -> bool {
    headers.get_all(header::ORIGIN).iter().all(|origin| {
        let ours = ["127.0.0.1", "localhost"].map(|name| format!("http://{name}:{port}"));
        origin.to_str().is_ok_and(|origin| ours.iter().any(|our| our.eq_ignore_ascii_case(origin)))
    })
}

/// Another port of this machine is the same site, but another origin.
fn is_our_site(headers: &HeaderMap) -> bool {
    let sites = headers.get_all("sec-fetch-site").iter();
    sites.into_iter().all(|site| site == "same-origin" || site == "none")
}

/// Returns whether a path has `..` in it, in any encoding.
fn leads_astray(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let plain = lower.replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    plain.contains('\\') || lower.contains("%00") || plain.split('/').any(|part| part == ".." || part == ".")
}

/// Returns whether a request has the token, or the key of the page and is one that the page sends.
fn has_key(worker: &Worker, request: &Request) -> bool {
    let values = request.headers().get_all(header::AUTHORIZATION).into_iter().filter_map(|value| value.to_str().ok());
    let mut given = values
        .filter_map(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, key)| key.trim());
    let is_of_page = is_of_page(request.method(), request.uri().path());
    given.any(|key| is_same(key, &worker.file.token) || (is_of_page && is_same(key, &worker.page_key)))
}

/// Returns whether the page sends such requests: it reads, and deletes records. Others report sessions.
fn is_of_page(method: &Method, path: &str) -> bool {
    match *method {
        Method::GET => !matches!(path, "/api/embedding" | "/api/context/inject"),
        Method::POST => path == "/api/observations/batch",
        Method::DELETE => true,
        _ => false,
    }
}

/// Compares two tokens in constant time.
fn is_same(given: &str, token: &str) -> bool {
    let differing = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differing) == 0 && given.len() == token.len()
}

/// Redirects to the page, with its key in the fragment of the address, which a browser sends to nobody.
fn exchange(worker: &Worker) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(place) = HeaderValue::from_str(&format!("/#key={}", worker.page_key)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

fn locked() -> Response {
    let mut response = (StatusCode::UNAUTHORIZED, LOCKED).into_response();
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The burst of requests, and the number per second after it.
pub(crate) const REQUESTS: (u32, u32) = (2_000, 1_000);

/// The same for requests without the token.
pub(crate) const STRANGERS: (u32, u32) = (50, 10);

#[derive(Debug)]
pub(crate) struct Bucket {
    size: f64,
    per_second: f64,
    level: Mutex<(f64, Instant)>,
}

impl Bucket {
    pub(crate) fn new(size: u32, per_second: u32, now: Instant) -> Self {
        let size = f64::from(size);
        Self { size, per_second: f64::from(per_second), level: Mutex::new((size, now)) }
    }

    /// Takes a token; returns whether there was one.
    pub(crate) fn take(&self, now: Instant) -> bool {
        let mut level = self.level.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let filled = level.0 + now.saturating_duration_since(level.1).as_secs_f64() * self.per_second;
        *level = (filled.min(self.size), now);
        let has_one = level.0 >= 1.0;
        if has_one {
            level.0 -= 1.0;
        }
        has_one
    }
}

#[cfg(test)]
mod tests;
