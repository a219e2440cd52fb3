//! Records on their way: what this host sends, and what it has fetched.

use crate::{DecodeError, KeyRing, OpenError, Record, SEAL_RANDOM, SealedRecord, open, seal};

/// An own record, to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Its header.
    pub header: SealedRecord,
    /// Its content; `None` if it was forgotten, or a newer version of the same entity follows.
    pub content: Option<Record>,
}

impl Outgoing {
    /// Encrypts it. `random` must be fresh for each record.
    pub fn seal(self, ring: &KeyRing, random: &[u8; SEAL_RANDOM]) -> SealedRecord {
        let payload = self.content.map(|content| seal(ring, &self.header, &content.encode(), random));
        self.header.with_payload(payload)
    }
}

/// A record of another host, fetched from the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// As the engine stores it.
    pub sealed: SealedRecord,
    /// Its content.
    pub content: IncomingContent,
}

/// The content of a fetched record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncomingContent {
    /// It could be read.
    Record(Record),
    /// It was forgotten: the engine has only its header.
    Forgotten,
    /// It needs a newer version of the program: it is kept, and tried again later.
    Later,
    /// It needs a key of the circle that is not known here. Nothing of it is kept: it is fetched again when the key is known.
    NoKey,
    /// It is damaged, or was changed by somebody without the key. Nothing of it is kept.
    Damaged,
}

impl Incoming {
    /// Decrypts a fetched record.
    pub fn open(ring: &KeyRing, sealed: SealedRecord) -> Self {
        let content = match open(ring, &sealed) {
            Ok(bytes) => match Record::decode(&bytes) {
                Ok(record) => IncomingContent::Record(record),
                Err(DecodeError::UnknownKind) => IncomingContent::Later,
                Err(DecodeError::Malformed) => IncomingContent::Damaged,
            },
            Err(OpenError::Forgotten) => IncomingContent::Forgotten,
            Err(OpenError::NewerFormat(_)) => IncomingContent::Later,
            Err(OpenError::UnknownEpoch(_)) => IncomingContent::NoKey,
            Err(OpenError::Damaged) => IncomingContent::Damaged,
        };
        Self { sealed, content }
    }
}
