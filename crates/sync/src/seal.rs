//! Encryption of a record: a random key for each record, itself encrypted with the key of the circle.

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use zeroize::Zeroizing;

use crate::{CircleId, CircleKey, HostId, KeyRing, SealedRecord};

/// The first byte of a payload.
const FORMAT: u8 = 1;
const NONCE: usize = 24;
const KEY: usize = 32;
const TAG: usize = 16;
/// Format, epoch, nonce and encrypted key.
const HEAD: usize = 1 + 4 + NONCE + KEY + TAG;

/// How many keys a circle can have got since its header was read. It gets one when somebody leaves.
const NEXT_KEYS: u32 = 100;

/// The largest payload that is opened. Texts are limited where they are stored, far below this.
pub const MAX_PAYLOAD: usize = 4 * 1024 * 1024;

/// How many random bytes [`seal`] needs.
pub const SEAL_RANDOM: usize = KEY + NONCE + NONCE;

/// How many random bytes encrypting one value with the circle's key needs.
pub const NONCE_RANDOM: usize = NONCE;

/// Why a payload cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The record was forgotten, and has no payload.
    #[error("the record was forgotten")]
    Forgotten,
    /// A newer version of the program wrote it.
    #[error("the record has format {0}, which this version does not know: update longhaul")]
    NewerFormat(u8),
    /// It was encrypted with a key that is newer than the known ones.
    #[error("the record needs key {0} of the circle, which is not known here: join again")]
    UnknownEpoch(u32),
    /// It is damaged, was changed, or was encrypted with another key.
    #[error("the record is damaged or was changed")]
    Damaged,
}

/// Encrypts the content of a record. `random` must be fresh for each call.
///
/// The header of the record and the circle are authenticated: a payload cannot be moved to another record.
pub fn seal(ring: &KeyRing, record: &SealedRecord, content: &[u8], random: &[u8; SEAL_RANDOM]) -> Vec<u8> {
    let (key, nonces) = random.split_at(KEY);
    let (key_nonce, nonce) = nonces.split_at(NONCE);
    let (epoch, circle_key) = ring.newest();
    let header = header(ring.circle(), record, epoch);
    let mut payload = Vec::with_capacity(HEAD + NONCE + content.len() + TAG);
    payload.push(FORMAT);
    payload.extend(epoch.to_be_bytes());
    payload.extend(encrypt(circle_key.as_bytes(), key_nonce, key, &header));
    payload.extend(encrypt(key, nonce, content, &header));
    payload
}

/// Decrypts the content of a record.
pub fn open(ring: &KeyRing, record: &SealedRecord) -> Result<Vec<u8>, OpenError> {
    let payload = record.payload.as_deref().ok_or(OpenError::Forgotten)?;
    match payload.first() {
        Some(&FORMAT) if (HEAD + NONCE + TAG..=MAX_PAYLOAD).contains(&payload.len()) => {}
        Some(&format) if format > FORMAT => return Err(OpenError::NewerFormat(format)),
        _ => return Err(OpenError::Damaged),
    }
    let (head, body) = payload.split_at(HEAD);
    let (epoch, wrapped) = head[1..].split_at(4);
    let epoch = u32::from_be_bytes(epoch.try_into().map_err(|_| OpenError::Damaged)?);
    let circle_key = ring.get(epoch).ok_or_else(|| missing_key(ring, epoch))?;
    let header = header(ring.circle(), record, epoch);
    let key = Zeroizing::new(decrypt(circle_key.as_bytes(), wrapped, &header).ok_or(OpenError::Damaged)?);
    decrypt(&key, body, &header).ok_or(OpenError::Damaged)
}

/// Returns why there is no key with this number: it is one of the next, or the number is damaged.
fn missing_key(ring: &KeyRing, epoch: u32) -> OpenError {
    let (newest, _) = ring.newest();
    let is_next = (1..=NEXT_KEYS).contains(&epoch.saturating_sub(newest));
    if is_next { OpenError::UnknownEpoch(epoch) } else { OpenError::Damaged }
}

impl SealedRecord {
    /// Returns the number of the key that it was encrypted with. It is authenticated if [`open`] succeeds.
    pub fn epoch(&self) -> Option<u32> {
        let bytes = self.payload.as_deref()?.get(1..5)?;
        bytes.try_into().ok().map(u32::from_be_bytes)
    }
}

/// The name of a host, as other hosts show it: `laptop`, `anna`.
///
/// It is encrypted too, so that the engine does not see it.
pub fn seal_host_name(ring: &KeyRing, host: HostId, name: &str, random: &[u8; NONCE_RANDOM]) -> Vec<u8> {
    let (epoch, key) = ring.newest();
    let mut sealed = epoch.to_be_bytes().to_vec();
    sealed.extend(encrypt(key.as_bytes(), random, name.as_bytes(), &host_header(ring.circle(), host, epoch)));
    sealed
}

/// Decrypts the name of a host: one line without control characters, at most 64 characters.
pub fn open_host_name(ring: &KeyRing, host: HostId, sealed: &[u8]) -> Result<String, OpenError> {
    let (epoch, rest) = sealed.split_at_checked(4).ok_or(OpenError::Damaged)?;
    let epoch = u32::from_be_bytes(epoch.try_into().map_err(|_| OpenError::Damaged)?);
    let key = ring.get(epoch).ok_or(OpenError::UnknownEpoch(epoch))?;
    let name = decrypt(key.as_bytes(), rest, &host_header(ring.circle(), host, epoch)).ok_or(OpenError::Damaged)?;
    Ok(crate::host_name(&String::from_utf8_lossy(&name)))
}

fn header(circle: CircleId, record: &SealedRecord, epoch: u32) -> Vec<u8> {
    let mut header = b"longhaul record 1".to_vec();
    header.extend(circle.as_bytes());
    header.extend(record.id.as_bytes());
    header.extend(record.host.as_bytes());
    header.extend(record.idx.to_be_bytes());
    header.extend(record.time_ms.to_be_bytes());
    header.extend(epoch.to_be_bytes());
    header
}

fn host_header(circle: CircleId, host: HostId, epoch: u32) -> Vec<u8> {
    [b"longhaul host 1".as_slice(), circle.as_bytes(), host.as_bytes(), &epoch.to_be_bytes()].concat()
}

/// Encrypts a key of the circle with a newer one.
pub(crate) fn wrap(with: &CircleKey, key: &[u8], header: &[u8], random: &[u8; NONCE_RANDOM]) -> Vec<u8> {
    encrypt(with.as_bytes(), random, key, header)
}

/// Reverses [`wrap`]; `None` if it was done with another key or header.
pub(crate) fn unwrap(with: &CircleKey, wrapped: &[u8], header: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    decrypt(with.as_bytes(), wrapped, header).map(Zeroizing::new)
}

/// Returns the nonce with what it encrypts.
fn encrypt(key: &[u8], nonce: &[u8], text: &[u8], header: &[u8]) -> Vec<u8> {
    let nonce: [u8; NONCE] = nonce.try_into().expect("a nonce has 24 bytes");
    let encrypted = cipher(key).encrypt(&nonce.into(), Payload { msg: text, aad: header });
    let mut sealed = nonce.to_vec();
    sealed.extend(encrypted.expect("the text is shorter than the cipher's limit of 256 GB"));
    sealed
}

fn decrypt(key: &[u8], sealed: &[u8], header: &[u8]) -> Option<Vec<u8>> {
    let (nonce, encrypted) = sealed.split_at_checked(NONCE)?;
    let nonce: [u8; NONCE] = nonce.try_into().ok()?;
    cipher(key).decrypt(&nonce.into(), Payload { msg: encrypted, aad: header }).ok()
}

fn cipher(key: &[u8]) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new_from_slice(key).expect("a key has 32 bytes")
}
