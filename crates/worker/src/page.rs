//! The files of the viewer, which are part of the executable.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;

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
