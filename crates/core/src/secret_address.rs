//! Whether a key or a token may be sent to an address.

/// Returns whether a secret may be sent to `url`: over TLS, or to this machine.
pub fn may_receive_secret(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return url.starts_with("https://") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(ip6) => ip6.split(']').next(),
        None => authority.split(':').next(),
    };
    !authority.contains('@') && matches!(host, Some("127.0.0.1" | "::1" | "localhost"))
}
