use std::time::{Duration, Instant};

use axum::http::Method;

use super::{Bucket, is_data, is_of_page, is_same, leads_astray};

#[test]
fn data_is_what_lies_below_the_api_and_the_stream() {
    assert!(["/api/", "/api/stats", "/api/sessions/a/timeline", "/stream"].iter().all(|path| is_data(path)));
    assert!(!["/", "/api", "/apian.js", "/app.js", "/streams", "/stream/x"].iter().any(|path| is_data(path)));
}

#[test]
fn the_page_reads_and_deletes_and_reports_nothing() {
    for path in ["/api/stats", "/api/sessions/a/timeline", "/stream"] {
        assert!(is_of_page(&Method::GET, path), "{path}");
    }
    assert!(is_of_page(&Method::DELETE, "/api/prompts/P1") && is_of_page(&Method::POST, "/api/observations/batch"));
    for path in ["/api/sessions/init", "/api/sessions/complete", "/api/keep"] {
        assert!(!is_of_page(&Method::POST, path), "{path}");
    }
    assert!(!is_of_page(&Method::GET, "/api/context/inject"));
}

#[test]
fn only_the_whole_token_opens() {
    assert!(is_same("abc", "abc"));
    for wrong in ["", "ab", "abd", "abcd", "ABC"] {
        assert!(!is_same(wrong, "abc"), "{wrong}");
    }
}

#[test]
fn a_path_that_climbs_leads_nowhere() {
    for path in ["/../x", "/a/..", "/%2e%2e/x", "/%2E./x", "/a/%2e%2e%2fx", "/..%5cx", "/a\\b", "/./a", "/a%00"] {
        assert!(leads_astray(path), "{path}");
    }
    for path in ["/", "/app.js", "/api/sessions/a..b/timeline", "/api/sessions/a%20b/timeline"] {
        assert!(!leads_astray(path), "{path}");
    }
}

#[test]
fn a_burst_is_answered_and_then_so_many_a_second() {
    let start = Instant::now();
    let bucket = Bucket::new(3, 2, start);
    let taken = (0..5).filter(|_| bucket.take(start)).count();
    assert_eq!(taken, 3);
    let later = start + Duration::from_secs(1);
    assert_eq!((0..5).filter(|_| bucket.take(later)).count(), 2);
    let much_later = start + Duration::from_secs(100);
    assert_eq!((0..9).filter(|_| bucket.take(much_later)).count(), 3);
}
