//! The page's own files, which are part of the executable.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageFile {
    /// Where it is found.
    pub(crate) path: &'static str,
    kind: &'static str,
    content: &'static [u8],
}

/// All of them, the page itself first.
pub(crate) const FILES: [PageFile; 4] = [
    PageFile { path: "/", kind: "text/html; charset=utf-8", content: include_bytes!("../page/index.html") },
    PageFile { path: "/app.js", kind: "text/javascript; charset=utf-8", content: include_bytes!("../page/app.js") },
    PageFile { path: "/style.css", kind: "text/css; charset=utf-8", content: include_bytes!("../page/style.css") },
    PageFile { path: "/favicon.svg", kind: "image/svg+xml", content: include_bytes!("../page/favicon.svg") },
];

impl PageFile {
    /// Answers with it.
    pub(crate) fn response(self) -> Response {
        let mut response = Response::new(Body::from(self.content));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        // Another version of the program has other files under the same names.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }
}

/// What somebody sees who opens the page without the token.
pub(crate) const LOCKED: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Longhaul</title>\
    <p>This page opens with the address that <code>longhaul worker open</code> prints.</p></html>";
