//! What the engine stores of a circle itself: which key is the right one, and the keys before it.

use std::collections::BTreeMap;

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};

use crate::seal::{NONCE_RANDOM, unwrap, wrap};
use crate::{CircleId, CircleKey};

/// The schema of records that this version writes.
pub const RECORD_SCHEMA: u32 = 1;

/// What a key is recognised by.
const VERIFICATION: &[u8] = b"longhaul circle";

/// What the engine stores of a circle: it opens only with the newest key, which opens the older ones.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CircleHeader {
    /// The circle.
    pub circle: CircleId,
    /// The schema of its records. A version that knows only an older one must not write.
    pub schema: u32,
    /// The number of the newest key: 1 for the first.
    pub epoch: u32,
    verification: Vec<u8>,
    older_keys: BTreeMap<u32, Vec<u8>>,
}

/// Why a circle cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CircleError {
    /// The header is not one.
    #[error("the description of the circle in the engine is damaged")]
    Damaged,
    /// A newer version of the program has made it.
    #[error("the circle has records of schema {found}, this version knows {known}: update longhaul")]
    NewerSchema {
        /// The schema of the circle.
        found: u32,
        /// The schema that this version knows.
        known: u32,
    },
    /// The key is not the circle's newest one.
    #[error(
        "the key does not open the circle: it is another circle's, or was replaced with `longhaul sync rotate`; join again"
    )]
    WrongKey,
    /// The engine has an older key than before.
    #[error(
        "the engine holds key {found} of the circle, but had key {known} before: an old backup of it was restored, or somebody \
         has replaced it"
    )]
    OlderKey {
        /// The number of the key in the engine.
        found: u32,
        /// The highest number that the engine had.
        known: u32,
    },
    /// It is another circle than the one that was joined.
    #[error("the engine holds another circle than the one that was joined")]
    OtherCircle,
}

/// The keys of a circle, by epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRing {
    circle: CircleId,
    epoch: u32,
    newest: CircleKey,
    older: BTreeMap<u32, CircleKey>,
}

impl KeyRing {
    /// Returns the circle.
    pub fn circle(&self) -> CircleId {
        self.circle
    }

    /// Returns the newest key with its epoch: the one to encrypt with.
    pub fn newest(&self) -> (u32, &CircleKey) {
        (self.epoch, &self.newest)
    }

    /// Returns the key of an epoch.
    pub fn get(&self, epoch: u32) -> Option<&CircleKey> {
        if epoch == self.epoch { Some(&self.newest) } else { self.older.get(&epoch) }
    }
}

impl CircleHeader {
    /// Makes the header of a new circle.
    pub fn new(circle: CircleId, key: &CircleKey, random: &[u8; NONCE_RANDOM]) -> Self {
        Self::make(circle, 1, key, BTreeMap::new(), random)
    }

    /// Returns the keys that `key` opens.
    ///
    /// Call it before the first write: it fails with a key that is not the newest one of this circle.
    pub fn unlock(&self, key: &CircleKey) -> Result<KeyRing, CircleError> {
        if self.schema > RECORD_SCHEMA {
            return Err(CircleError::NewerSchema { found: self.schema, known: RECORD_SCHEMA });
        }
        let verified = unwrap(key, &self.verification, &header(self.circle, "verification", self.epoch, self.epoch));
        if verified.is_none_or(|found| found.as_slice() != VERIFICATION) {
            return Err(CircleError::WrongKey);
        }
        let mut older = BTreeMap::new();
        for (&epoch, wrapped) in &self.older_keys {
            let opened = unwrap(key, wrapped, &header(self.circle, "key", self.epoch, epoch));
            let opened = opened.ok_or(CircleError::Damaged)?;
            let bytes: [u8; 32] = opened.as_slice().try_into().map_err(|_| CircleError::Damaged)?;
            older.insert(epoch, CircleKey::new(bytes));
        }
        Ok(KeyRing { circle: self.circle, epoch: self.epoch, newest: key.clone(), older })
    }

    /// Returns the header of the same circle with a new key, which opens the older ones. `random` is called for each value
    /// that is encrypted.
    pub fn rotated(ring: &KeyRing, key: &CircleKey, mut random: impl FnMut() -> [u8; NONCE_RANDOM]) -> Self {
        let epoch = ring.epoch + 1;
        let older = ring.older.iter().chain([(&ring.epoch, &ring.newest)]);
        let wrapped = older.map(|(&older, older_key)| {
            let header = header(ring.circle, "key", epoch, older);
            (older, wrap(key, older_key.as_bytes(), &header, &random()))
        });
        let older_keys = wrapped.collect();
        Self::make(ring.circle, epoch, key, older_keys, &random())
    }

    fn make(
        circle: CircleId,
        epoch: u32,
        key: &CircleKey,
        older_keys: BTreeMap<u32, Vec<u8>>,
        random: &[u8; NONCE_RANDOM],
    ) -> Self {
        let verification = wrap(key, VERIFICATION, &header(circle, "verification", epoch, epoch), random);
        Self { circle, schema: RECORD_SCHEMA, epoch, verification, older_keys }
    }

    /// Returns it as JSON, which is the form that an engine stores.
    pub fn to_bytes(&self) -> Vec<u8> {
        let encode = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        let older_keys = self.older_keys.iter().map(|(&epoch, key)| (epoch, encode(key))).collect();
        let wire = HeaderWire {
            circle: self.circle,
            schema: self.schema,
            epoch: self.epoch,
            verification: encode(&self.verification),
            older_keys,
        };
        serde_json::to_vec(&wire).expect("a header has string keys only")
    }

    /// Reads what [`Self::to_bytes`] has written.
    ///
    /// A header of a newer schema is read as far as it is known, so that [`Self::unlock`] can name the schema.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CircleError> {
        let damaged = |_| CircleError::Damaged;
        let wire: HeaderWire = serde_json::from_slice(bytes).map_err(|_| CircleError::Damaged)?;
        let decode = |text: &str| BASE64URL_NOPAD.decode(text.as_bytes()).map_err(damaged);
        let older: Result<_, CircleError> =
            wire.older_keys.iter().map(|(&epoch, key)| Ok((epoch, decode(key)?))).collect();
        Ok(Self {
            circle: wire.circle,
            schema: wire.schema,
            epoch: wire.epoch,
            verification: decode(&wire.verification)?,
            older_keys: older?,
        })
    }
}

fn header(circle: CircleId, purpose: &str, epoch: u32, of: u32) -> Vec<u8> {
    let start = format!("longhaul {purpose} 1 ");
    [start.as_bytes(), circle.as_bytes(), &epoch.to_be_bytes(), &of.to_be_bytes()].concat()
}

#[derive(Serialize, Deserialize)]
struct HeaderWire {
    circle: CircleId,
    schema: u32,
    epoch: u32,
    #[serde(default)]
    verification: String,
    #[serde(default)]
    older_keys: BTreeMap<u32, String>,
}
