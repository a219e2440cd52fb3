use crate::may_receive_secret;

#[test]
fn secrets_go_over_tls_or_stay_on_this_machine() {
    for url in ["https://api.anthropic.com", "http://127.0.0.1:9", "http://localhost/x", "http://[::1]:8080"] {
        assert!(may_receive_secret(url), "{url}");
    }
    for url in ["http://example.org", "http://127.0.0.1.example.org", "http://localhost@example.org/", "ftp://x", ""] {
        assert!(!may_receive_secret(url), "{url}");
    }
}
