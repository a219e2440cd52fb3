//! The ids of circles, hosts, records and entities, 16 bytes each, written as a UUID; and the name of a host, with the
//! characters and the length that it may have.
//!
//! The id of a project is made of its git remote and first commit or of a name: it is the same on every machine. How a
//! URL is normalised is here; git is asked in `runtime/src/sync.rs`.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// The text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an id: 32 hexadecimal digits are expected")]
pub struct IdError {
    text: String,
}

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Returns the id that these bytes are.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// Returns its bytes.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Uuid::try_parse(text).map(Self).map_err(|_| IdError { text: text.chars().take(80).collect() })
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// A circle: the hosts that exchange records through one engine with one key.
    CircleId;
    /// A host: one copy of the memory, on one machine.
    HostId;
    /// A record of the log: a UUID of version 7.
    RecordId;
    /// What a record describes: a prompt, an observation, a summary, a note or a bookmark.
    ///
    /// A change of it is a further record with the same entity.
    EntityId;
}

impl CircleId {
    /// Makes a circle's id of random bytes.
    pub fn random(random: [u8; 16]) -> Self {
        Self(Builder::from_random_bytes(random).into_uuid())
    }
}

impl HostId {
    /// Makes a host's id of random bytes.
    pub fn random(random: [u8; 16]) -> Self {
        Self(Builder::from_random_bytes(random).into_uuid())
    }
}

impl RecordId {
    /// Makes a record's id of its time and random bytes.
    pub fn new(time_ms: u64, random: [u8; 10]) -> Self {
        Self(Builder::from_unix_timestamp_millis(time_ms, &random).into_uuid())
    }
}

impl EntityId {
    /// Returns the id of what `parts` name, which is the same on every host: a prompt, for example, by its session and id.
    pub fn of(kind: &str, parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new_with_prefix(b"longhaul entity 1");
        for part in [kind.as_bytes()].iter().chain(parts) {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self::from_bytes(bytes_of(&hasher.finalize()))
    }
}

/// Returns the first 16 bytes of a hash.
pub(crate) fn bytes_of(hash: &[u8]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes
}

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

/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// Returns a name that can be shown as `@name` and typed as `from:name`: letters, digits, `-`, `_` and `.`, in lower case.
///
/// Other characters become `-`. An empty name becomes `host`.
pub fn host_name(text: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = text.trim().to_lowercase().chars().map(kept).take(MAX_NAME).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "host".to_owned() } else { name.to_owned() }
}
