//! The identity of a project, from its git remote and first commit or from a name: the same on every machine. How a URL is
//! normalised is here; git is asked in `runtime/src/sync.rs`.

use sha2::{Digest, Sha256};

use crate::ids::bytes_of;

/// A project, as records refer to it: a hash of its remote URL and root commit, or of a name. Never a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectId([u8; 16]);

impl ProjectId {
    /// Returns the identity of a repository by the URL of its remote and its root commit.
    ///
    /// The ways to write the same URL give the same identity: with or without user, scheme, port, `.git` and upper case.
    pub fn of_remote(url: &str, root_commit: &str) -> Self {
        Self::hash(&["remote", &normalised_url(url), &root_commit.trim().to_lowercase()])
    }

    /// Returns the identity of a project without a remote, by a name that the user chose.
    pub fn of_name(name: &str) -> Self {
        Self::hash(&["name", name.trim()])
    }

    /// Returns the identity that these bytes are.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns its bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn hash(parts: &[&str]) -> Self {
        let mut hasher = Sha256::new_with_prefix(b"longhaul project 1");
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self(bytes_of(&hasher.finalize()))
    }
}

/// Returns a remote's URL as `host/path` in lower case: without scheme, user, password, port, query and `.git`.
pub fn normalised_url(url: &str) -> String {
    let url = url.trim();
    let (rest, has_scheme) = match url.split_once("://") {
        Some((_, rest)) => (rest, true),
        None => (url, false),
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = match rest.split_once('/') {
        // `host:path/to`, as in scp: the first colon is before the first slash.
        Some((before, _)) if !has_scheme && before.contains(':') => rest.split_once(':').unwrap_or((rest, "")),
        Some((authority, path)) => (authority, path),
        None if !has_scheme => rest.split_once(':').unwrap_or((rest, "")),
        None => (rest, ""),
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    format!("{host}/{path}").to_lowercase()
}
