//! A circle: its key, with its form as words; its header, which is what the engine stores of the circle itself, that is which key is
//! the right one, and the keys before it; and the one line that another machine types to join.

use std::collections::BTreeMap;
use std::fmt;

use bip39::{Language, Mnemonic};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::CircleId;
use crate::seal::{NONCE_RANDOM, unwrap, wrap};

/// The secret key of a circle. Whoever has it can read every record.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct CircleKey([u8; 32]);

/// Why words are not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// The number of words is wrong.
    #[error("a key has 24 words, not {0}")]
    Count(usize),
    /// A word is not in the list.
    #[error("word {0} is not a word of the list")]
    Unknown(usize),
    /// The words are of the list, but the checksum does not match.
    #[error("the words are not a key: one is wrong, or two are swapped")]
    Checksum,
}

impl CircleKey {
    /// Makes a key of random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Returns its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns it as 24 English words (BIP 39).
    pub fn words(&self) -> String {
        let words = Mnemonic::from_entropy_in(Language::English, &self.0).expect("32 bytes are a valid length");
        words.words().collect::<Vec<_>>().join(" ")
    }

    /// Reads the words of a key. Case and white space do not matter.
    pub fn from_words(text: &str) -> Result<Self, WordsError> {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        if words.len() != 24 {
            return Err(WordsError::Count(words.len()));
        }
        let words =
            Mnemonic::parse_in_normalized(Language::English, &words.join(" ")).map_err(|error| match error {
                bip39::Error::UnknownWord(at) => WordsError::Unknown(at + 1),
                _ => WordsError::Checksum,
            })?;
        let (bytes, _) = words.to_entropy_array();
        let mut key = [0; 32];
        key.copy_from_slice(&bytes[..32]);
        Ok(Self(key))
    }
}

impl fmt::Debug for CircleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CircleKey(…)")
    }
}

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

/// What every code begins with.
const PREFIX: &str = "longhaul-join-1-";
const CHECKSUM: usize = 4;

/// What another machine needs to join a circle. It contains the key: it is as secret as the key.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinCode {
    /// The circle.
    pub circle: CircleId,
    /// Its newest key.
    pub key: CircleKey,
    /// The address of the engine, such as `postgres://…` or `folder:PATH`.
    pub engine: String,
}

impl fmt::Debug for JoinCode {
    /// The address may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinCode").field("circle", &self.circle).finish_non_exhaustive()
    }
}

/// Why a text is not a join code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JoinCodeError {
    /// It is something else.
    #[error("this is not a join code: it begins with {PREFIX}")]
    NoCode,
    /// A part is missing or wrong.
    #[error("the join code is incomplete or has a typing error")]
    Damaged,
}

impl JoinCode {
    /// Returns its text: one word of letters, digits, `-` and `_`.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        bytes.extend(self.circle.as_bytes());
        bytes.extend(self.key.as_bytes());
        bytes.extend(self.engine.as_bytes());
        bytes.extend(checksum(&bytes));
        format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&bytes))
    }

    /// Reads a code. White space in it, as a terminal adds where it breaks a line, does not matter.
    pub fn from_text(text: &str) -> Result<Self, JoinCodeError> {
        let text: String = text.split_whitespace().collect();
        let code = text.strip_prefix(PREFIX).ok_or(JoinCodeError::NoCode)?;
        let bytes = BASE64URL_NOPAD.decode(code.as_bytes()).map_err(|_| JoinCodeError::Damaged)?;
        let split = bytes.len().checked_sub(CHECKSUM).ok_or(JoinCodeError::Damaged)?;
        let (content, sum) = bytes.split_at(split);
        if sum != checksum(content) {
            return Err(JoinCodeError::Damaged);
        }
        let (circle, rest) = content.split_first_chunk::<16>().ok_or(JoinCodeError::Damaged)?;
        let (key, engine) = rest.split_first_chunk::<32>().ok_or(JoinCodeError::Damaged)?;
        let engine = std::str::from_utf8(engine).map_err(|_| JoinCodeError::Damaged)?;
        Ok(Self { circle: CircleId::from_bytes(*circle), key: CircleKey::new(*key), engine: engine.to_owned() })
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let sum = Sha256::digest(bytes);
    [sum[0], sum[1], sum[2], sum[3]]
}
